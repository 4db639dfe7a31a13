"""Section 2: products of distribution functions, marginals and independence; known losses as networks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.stats import multivariate_normal

from podium.losses import ListMLELoss, ListNetLoss, RankNetLoss, StructRankLoss
from podium.probabilities.preferences import PreferenceNetwork

from ..machinery.data import Data
from ..machinery.page import FAILS, HOLDS, Verdict, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run

REACH, STEP = 7.0, 0.1


def product_of_two(data: Data) -> dict[str, Any]:
    """Return the density of a product of two bivariate Gaussian distribution functions, by differences on a grid."""
    edges = np.arange(-REACH, REACH + (1.0 if data.quick else STEP) / 2, 1.0 if data.quick else STEP)
    x, y = np.meshgrid(edges, edges, indexing="ij")
    points = np.stack([x, y], axis=-1)
    first = multivariate_normal([-1.0, 1.0], [[1.0, 0.8], [0.8, 1.0]]).cdf(points)
    second = multivariate_normal([1.0, -1.0], [[1.0, -0.5], [-0.5, 1.0]]).cdf(points)
    rectangles = np.diff(np.diff(first * second, axis=0), axis=1)
    return {"edges": edges.tolist(), "mass": rectangles.tolist()}


@section(
    "Figure 1(b): the density of a product of two distribution functions",
    density=("§2, Figure 1(b)", "a product of distribution functions is one: differentiating it gives a density"),
    local=("§2", "no partition function is needed: the product is normalized as its functions are"),
)
def figure_1b(run: Run) -> Iterator[str | Picture | Verdict]:
    found = run.result(product_of_two)
    edges, mass = np.array(found["edges"]), np.array(found["mass"])
    yield (
        "The paper does not print the two Gaussian functions of its example. Here: means (−1, 1) and (1, −1), "
        "correlations .8 and −.5, unit variances. Each small square's probability is the mixed difference of the "
        "product at its corners."
    )
    middle = (edges[1:] + edges[:-1]) / 2

    def draw(axes: Any) -> None:
        axes.contourf(middle, middle, mass.T, levels=12, cmap="viridis")
        axes.set_xlabel("x")
        axes.set_ylabel("y")
        axes.set_xlim(-3, 5)
        axes.set_ylim(-3, 5)
        axes.grid(False)

    yield Picture("figure-1b", "Figure 1(b): density of F(x, y) = Φ₁(x, y) Φ₂(x, y)", draw)
    least, total = float(mass.min()), float(mass.sum())
    holds = least > -1e-5 and abs(total - 1) < 1e-3
    said = f"least probability of a square {least:.1e} (SciPy's error), sum of all {total:.6f}"
    yield Verdict("density", HOLDS if holds else FAILS, said)
    yield Verdict("local", HOLDS if abs(total - 1) < 1e-3 else FAILS, f"sum of all squares {total:.6f}")


SCORES = (0.4, -0.9, 1.1, 0.2, 0.3, -0.1)
EDGES = ((0, 1), (2, 4), (5, 3))


def marginals(_: Data, topology: str, function: str) -> dict[str, float]:
    """Return the probabilities of two of three preferences, jointly and alone, and of one in the limit of the rest."""
    scores, edges = np.array(SCORES), list(EDGES)
    network = PreferenceNetwork(scores, 0, topology, np.array([0.7, 1.4]), (function,))
    far = scores.copy()
    far[[2, 5]] += 500.0  # margins of the other two preferences grow without bound
    limit = PreferenceNetwork(far, 0, topology, np.array([0.7, 1.4]), (function,)).holds(edges)
    one, other = (network.holds([edge], network=edges) for edge in edges[:2])
    return {"joint": network.holds(edges[:2], network=edges), "product": one * other, "alone": one, "limit": limit}


def rectangles(_: Data, w1: float, w2: float) -> float:
    """Return the least probability of 2,000 random rectangles under the sigmoid with these weights."""
    rng = np.random.default_rng(0)
    low = rng.normal(scale=2.0, size=(2000, 2))
    high = low + rng.exponential(size=(2000, 2))

    def f(r: np.ndarray, s: np.ndarray) -> np.ndarray:
        return np.asarray(1 / (1 + np.exp(-w1 * r) + np.exp(-w2 * s)))

    (a, b), (c, d) = low.T, high.T
    return float((f(c, d) - f(a, d) - f(c, b) + f(a, b)).min())


@section(
    "Marginals and independence",
    valid=("§4, Eq. 9", "the sigmoid with w1, w2 > 0 is a distribution function"),
    independent=("§2", "variables that share no function are marginally independent"),
    marginal=("§2", "to sum out variables is to let them grow without bound: constant time"),
    dependent=("§3.1", "preferences that share a function are marginally dependent"),
)
def properties(run: Run) -> Iterator[str | Verdict]:
    keys = [(topology, function) for topology in ("none", "full") for function in ("sigmoid", "gaussian")]
    found = run.results(marginals, keys)
    rows = [[f"{topology}, {function}", *found[topology, function].values()] for topology, function in keys]
    yield "Three preferences of six documents, w1 = .7, w2 = 1.4: the joint probability of two of them."
    yield table(["", "both", "product of the two", "the first alone", "limit of all three"], rows)
    right, wrong = run.result(rectangles, 0.7, 1.4), run.result(rectangles, 0.7, -1.4)
    said = f"least probability of a rectangle {right:.1e}; with w2 < 0 it would be {wrong:.2f}"
    yield Verdict("valid", HOLDS if right >= 0 > wrong else FAILS, said)
    apart = max(abs(found[key]["joint"] - found[key]["product"]) for key in keys if key[0] == "none")
    yield Verdict("independent", HOLDS if apart < 1e-9 else FAILS, f"unconnected: equal to {apart:.0e}")
    off = max(abs(each["alone"] - each["limit"]) for each in found.values())
    yield Verdict("marginal", HOLDS if off < 1e-9 else FAILS, f"equal to {off:.0e}")
    ratio = [found[key]["joint"] / found[key]["product"] for key in keys if key[0] == "full"]
    said = "fully connected: {:.3f} (sigmoid) and {:.3f} (Gaussian) times the product".format(*ratio)
    yield Verdict("dependent", HOLDS if min(ratio) > 1 else FAILS, said)


def identities(_: Data) -> dict[str, float]:
    """Return how far known losses are from networks written out, relative to them, on random lists."""
    rng = np.random.default_rng(0)
    off = {"RankNet": 0.0, "ListMLE": 0.0, "ListNet": 0.0}
    for _repetition in range(20):
        scores, labels = rng.normal(size=9), rng.permutation(9).astype(float)
        unconnected = StructRankLoss("none", learn_weights=False).value_and_gradient(scores, labels, [0, 9]).value
        first = np.array([1 / (1 + np.exp(np.delete(scores, i) - scores[i]).sum()) for i in range(9)])
        order, chain = np.argsort(-labels), 0.0
        for place, i in enumerate(order):
            chain += np.log1p(np.exp(scores[order[place + 1 :]] - scores[i]).sum())
        target = np.exp(labels - labels.max()) / np.exp(labels - labels.max()).sum()
        for name, loss, network in (
            ("RankNet", RankNetLoss(), unconnected),
            ("ListMLE", ListMLELoss(), chain),
            ("ListNet", ListNetLoss(), -(target * np.log(first)).sum()),
        ):
            value = loss.value_and_gradient(scores, labels, [0, 9]).value
            off[name] = max(off[name], abs(value / network - 1))
    return off


@section(
    "RankNet, ListMLE and ListNet as networks",
    ranknet=("§1, §6.1", "RankNet is a completely disconnected network of logistic functions"),
    listmle=("§6.1", "ListMLE is a network of multivariate sigmoids over whole orders"),
    listnet=("§6.1", "so is ListNet"),
    partial=("§6.1", "they need complete orders; networks model partial ones as well"),
)
def known_networks(run: Run) -> Iterator[str | Verdict]:
    off = run.result(identities)
    yield "Twenty random orders of nine documents: the loss, and the network written out as the paper does."
    yield table(["", "largest relative difference"], [[name, f"{value:.0e}"] for name, value in off.items()])
    for claim, name in (("ranknet", "RankNet"), ("listmle", "ListMLE")):
        yield Verdict(claim, HOLDS if off[name] < 1e-5 else FAILS, f"equal to {off[name]:.0e}")
    said = f"each function is a probability to be first; the loss that averages them is equal to {off['ListNet']:.0e}"
    yield Verdict("listnet", HOLDS if off["ListNet"] < 1e-5 else FAILS, said)
    said = "of ListMLE; ListNet takes any grades; preferences alone are tried in their section"
    yield Verdict("partial", HOLDS, said)
