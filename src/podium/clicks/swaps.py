"""Propensities from documents that were shown at several places.

A document shown n_k times at place k is clicked there n_k θ_k γ times on average. Given how often it was clicked in
all, the places of its clicks are draws with probabilities n_k θ_k / Σ n_j θ_j, in which γ no longer occurs. The sum
of the logarithms of these over all clicks compares all places of all documents at once, as the pairs of places of
Agarwal, Zaitsev, Wang, Li, Najork and Joachims do (*Estimating position bias without intrusive interventions*, WSDM
2019). It is concave in log θ, and its derivative has mean 0 at the true θ, whatever makes documents attractive.
"""

from typing import TYPE_CHECKING

import numpy as np

from podium.clicks.cells import Cells

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_RIDGE = 0.01
"""What holds the propensity of a place that the log says nothing about to that of the place above, in clicks."""


def swap_propensities(cells: Cells, start: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return θ of each place, θ_1 = 1, and the standard errors of log θ.

    Newton's method on log θ; steps are halved until the likelihood rises.
    """
    shown = cells.matrix(cells.impressions)
    clicked, at_place = cells.by_document(cells.clicks), cells.by_place(cells.clicks)
    steps = np.diff(np.eye(cells.n_places), axis=0)
    penalty = _RIDGE * steps.T @ steps
    logs = np.zeros(cells.n_places) if start is None else np.log(start)

    def value(logs: np.ndarray) -> float:
        exposure = shown @ np.exp(logs)
        return float(at_place @ logs - clicked @ np.log(np.maximum(exposure, 1e-300)) - 0.5 * logs @ penalty @ logs)

    best = value(logs)
    for _ in range(100):
        gradient, information = _derivatives(shown, clicked, at_place, logs)
        gradient, information = gradient - penalty @ logs, information + penalty
        direction = np.append(0.0, np.linalg.solve(information[1:, 1:], gradient[1:]))
        size = min(1.0, 2.0 / max(np.abs(direction).max(), 1e-300))
        while (there := value(logs + size * direction)) < best - 1e-12 * abs(best) and size > 1e-8:
            size /= 2
        logs, best = logs + size * direction, there
        if np.abs(direction).max() < 1e-8:
            break
    _, information = _derivatives(shown, clicked, at_place, logs)
    errors = np.sqrt(np.diag(np.linalg.inv((information + penalty)[1:, 1:])))
    return np.exp(logs), np.append(0.0, errors)


def _derivatives(
    shown: "csr_array", clicked: np.ndarray, at_place: np.ndarray, logs: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the gradient of the log-likelihood in log θ, and minus its Hessian."""
    from scipy.sparse import diags_array

    shares = shown @ diags_array(np.exp(logs))
    shares = diags_array(1 / np.maximum(shares.sum(axis=1), 1e-300)) @ shares
    expected = clicked @ shares
    return at_place - expected, np.diag(expected) - (shares.T @ diags_array(clicked) @ shares).toarray()
