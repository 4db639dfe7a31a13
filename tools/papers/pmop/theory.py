"""What the paper says without data: constants, gradients, concavity, factorizations, the intractable sum."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import combinations
from math import exp

import numpy as np

from podium.losses import ListMLELoss, PMOPLoss

from ..machinery.data import Data
from ..machinery.page import FAILS, HOLDS, Verdict, section, table
from ..machinery.run import Run


def identities(_: Data, seed: int) -> dict[str, float]:
    """Return errors of what the paper derives, on lists of up to six documents with normal scores."""
    rng = np.random.default_rng(seed)
    scores = rng.standard_normal(6)
    subsets = [list(chosen) for size in range(1, 7) for chosen in combinations(range(6), size)]
    constant = (2**6 - 1) / 6
    arithmetic = sum(np.exp(scores[chosen]).mean() for chosen in subsets)
    order = rng.permutation(5).astype(float)
    luce = ListMLELoss().value_and_gradient(scores[:5], order, [0, 5]).value
    own = PMOPLoss().value_and_gradient(scores[:5], order, [0, 5]).value
    # The constants C of Eq. 3.7 stay: a partition into single documents is one of many partitions.
    log_constants = sum(np.log((2**n - 1) / n) for n in range(1, 6))
    geometric = np.log(sum(np.exp(scores[chosen].mean()) for chosen in subsets))
    best = scores[0]
    labels = np.array([1.0, 0, 0, 0, 0, 0])
    rest = np.log(sum(np.exp(scores[chosen].mean()) for chosen in subsets if 0 not in chosen))
    stages = PMOPLoss("geometric").value_and_gradient(scores, labels, [0, 6]).value
    return {
        "Eq. 3.7, Appendix A": float(arithmetic / (constant * np.exp(scores).sum()) - 1),
        "§5, Plackett-Luce": own - log_constants - luce,
        "geometric sum": stages - (geometric - best + rest - scores[1:].mean()),
    }


def backward_distance(_: Data, seed: int) -> float:
    """Return the distance (total variation) of the two factorizations, over the 75 partitions of four documents."""
    scores = np.random.default_rng(seed).standard_normal(4)
    grades = [labels for labels in np.ndindex(4, 4, 4, 4) if set(labels) == set(range(max(labels) + 1))]
    chances = [
        [
            exp(-PMOPLoss(factorization=way).value_and_gradient(scores, np.array(labels, float), [0, 4]).value)
            for labels in grades
        ]
        for way in ("forward", "backward")
    ]
    forward, backward = np.array(chances)
    return 0.5 * float(np.abs(forward / forward.sum() - backward / backward.sum()).sum())


@section(
    "Derivations",
    constant=("Eq. 3.7, Appendix A", "the normalizer of the full decomposition is C Σ φ with C = (2^N − 1)/N"),
    luce=("§3.1, §5", "with single documents the model reduces to Plackett-Luce"),
    intractable=("§3.3.2, §4.1", "the expectation of the geometric potential is intractable, so it is sampled"),
    backward=("§5", "forward and backward factorization need not be the same distribution"),
)
def derivations(run: Run) -> Iterator[str | Verdict]:
    found = run.results(identities, [(seed,) for seed in run.seeds])
    worst = {name: max(abs(each[name]) for each in found.values()) for name in next(iter(found.values()))}
    yield "Largest errors over seeds, by enumeration of all subsets of six documents:"
    yield table(["identity", "error"], [[name, f"{error:.1e}"] for name, error in worst.items()])
    said = {name: f"error {error:.1e}" for name, error in worst.items()}
    held = {name: HOLDS if error < 1e-9 else FAILS for name, error in worst.items()}
    yield Verdict("constant", held["Eq. 3.7, Appendix A"], said["Eq. 3.7, Appendix A"])
    luce = "§5, Plackett-Luce"
    note = "; up to the constants C: partitions with ties keep a share of the probability"
    yield Verdict("luce", held[luce], said[luce] + note)
    sums = "subsets of one size have weights that are products, and a recursion adds them up in N³"
    yield Verdict("intractable", FAILS, f"{sums}: {said['geometric sum']} against enumeration")
    distances = run.results(backward_distance, [(seed,) for seed in run.seeds])
    far = max(distances.values())
    yield Verdict("backward", HOLDS if far > 1e-6 else FAILS, f"total variation {far:.2f} for four documents")


def curvature(data: Data, potential: str, seed: int) -> dict[str, float]:
    """Return how often the log-likelihood of a user's list is not concave in W_u with H fixed, and the worst curvature.

    Five factors, entries uniform in [0, 0.5] as the paper's initial ones, or normal; ten items of one to five stars.
    The Hessian in W is Hᵀ (∂²L/∂s²) H, the latter by finite differences of the gradient.
    """
    rng = np.random.default_rng(seed)
    n = 5 if data.quick else 200
    positive = {"uniform": [], "normal": []}  # type: dict[str, list[float]]
    for start, largest in positive.items():
        for _ in range(n):
            stars = rng.integers(1, 6, 10).astype(float)
            h = rng.uniform(0, 0.5, (10, 5)) if start == "uniform" else rng.standard_normal((10, 5))
            w = rng.uniform(0, 0.5, 5) if start == "uniform" else rng.standard_normal(5)
            loss = PMOPLoss(potential) if potential != "Plackett-Luce" else ListMLELoss(ties="stable")
            bound = loss.bind(stars, [0, 10])
            step = 1e-5
            hessian = np.empty((10, 10))
            for k in range(10):
                ahead, behind = (h @ w + sign * step * np.eye(10)[k] for sign in (1, -1))
                slopes = [bound.value_and_gradient(s).d_scores.copy() for s in (ahead, behind)]
                hessian[k] = -(slopes[0] - slopes[1]) / (2 * step)
            largest.append(float(np.linalg.eigvalsh(h.T @ ((hessian + hessian.T) / 2) @ h)[-1]))
    return {
        f"{kind} {start}": value
        for start, largest in positive.items()
        for kind, value in (("share", float(np.mean(np.array(largest) > 1e-6))), ("worst", max(largest)))
    }


@section(
    "Concavity",
    concave=("§4.2", "the log-likelihood is concave in either W or H"),
)
def concavity(run: Run) -> Iterator[str | Verdict]:
    yield (
        "The likelihood is a function of scores that are linear in W_u with H fixed, and vice versa. So it is "
        "concave there if it is concave in the scores. A stage of the full decomposition is log Σ_X e^s − log Σ_R e^s, "
        "whose first term is convex: with ties it need not be concave. Random lists of ten items, 200 for each row:"
    )
    found = run.results(curvature, [(name, run.seeds[0]) for name in ("arithmetic", "geometric", "Plackett-Luce")])
    rows = [
        [
            name,
            f"{100 * each['share uniform']:.0f} %",
            f"{100 * each['share normal']:.0f} %",
            f"{each['worst normal']:+.2g}",
        ]
        for (name, _), each in found.items()
    ]
    yield table(["", "not concave in W_u, entries as at the start", "normal entries", "largest curvature"], rows)
    share = found["arithmetic", run.seeds[0]]["share normal"]
    text = f"full decomposition: not concave in {100 * share:.0f} % of lists; geometric potential: concave in all"
    yield Verdict("concave", FAILS if share > 0 else HOLDS, text)


def printed_gradients(_: Data, seed: int) -> dict[str, float]:
    """Return errors of Appendix C's derivatives (coefficients of ∂ log φ), against those of the formulas above them."""
    rng = np.random.default_rng(seed)
    a, b = np.exp(rng.standard_normal(2))  # φ_i, φ_j
    theta, nu = 1 + np.exp(0.3), np.exp(0.2)

    def numeric(f: Callable[[float, float], float]) -> np.ndarray:
        step = 1e-6
        logs = np.log([a, b])
        return np.array([(f(*np.exp(logs + d)) - f(*np.exp(logs - d))) / (2 * step) for d in step * np.eye(2)])

    d = a + b + nu * np.sqrt(a * b)
    p_i, p_j, p_ij = a / d, b / d, nu * np.sqrt(a * b) / d
    q_i, qs_j = a / (a + theta * b), b / (a + theta * b)
    qs_i, q_j = a / (theta * a + b), b / (theta * a + b)
    formulas = {
        "Davidson, i above j": (
            lambda x, y: np.log(x / (x + y + nu * np.sqrt(x * y))),
            (1 - p_i - 0.5 * p_ij, -(p_i + 0.5 * p_ij)),
        ),
        "Davidson, tied": (
            lambda x, y: np.log(nu * np.sqrt(x * y) / (x + y + nu * np.sqrt(x * y))),
            (0.5 - p_i - 0.5 * p_ij, 0.5 - p_j - 0.5 * p_ij),
        ),
        "Rao-Kupper, i above j": (lambda x, y: np.log(x / (x + theta * y)), (1 - q_i, -theta * q_j)),
        "Rao-Kupper, tied": (
            lambda x, y: np.log((theta**2 - 1) * x * y / ((x + theta * y) * (theta * x + y))),
            (1 - q_i - theta * qs_i, 1 - q_j - theta * qs_j),
        ),
    }
    return {name: float(np.abs(numeric(f) - printed).max()) for name, (f, printed) in formulas.items()}


@section(
    "Appendix C: the gradients of tied pairs",
    gradients=("Appendix C", "the derivatives of the Rao-Kupper and Davidson models"),
)
def appendix_c(run: Run) -> Iterator[str | Verdict]:
    yield "Printed coefficients of ∂ log φ against numeric derivatives of the probabilities printed above them:"
    found = run.results(printed_gradients, [(seed,) for seed in run.seeds])
    names = list(next(iter(found.values())))
    worst = {name: max(each[name] for each in found.values()) for name in names}
    yield table(["", "largest error"], [[name, f"{error:.1e}"] for name, error in worst.items()])
    wrong = [name for name, error in worst.items() if error > 1e-6]
    text = f"misprinted: {', '.join(wrong)}" if wrong else "all agree"
    yield Verdict("gradients", FAILS if wrong else HOLDS, text + "; the code has the derivatives of the probabilities")
