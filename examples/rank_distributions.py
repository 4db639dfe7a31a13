"""How well three approximations match the distribution of rankings (figures 1 and 2 of the BoltzRank paper).

Three documents have uncertain scores, N(s_i, σ²) with σ = 0.2. Sorting random draws of these scores yields each of the
six rankings with some probability. SoftRank multiplies the documents' rank distributions (rank-binomial or normal), as
if ranks were independent; BoltzRank gives every ranking a Boltzmann probability. The figure shows one score vector, and
the mean Kullback-Leibler divergence from the truth over 500 score vectors uniform in [0, 2]³.

    python examples/rank_distributions.py [picture.png]        # needs podium-rank[report]
"""

from __future__ import annotations

import sys
from itertools import permutations

import numpy as np
from scipy.stats import norm

from podium.losses.softrank import rank_distribution
from podium.numerics.ranks.energy import PAIR_WEIGHTS, rank_weights

SIGMA = 0.2
RANKS = np.array(list(permutations((1, 2, 3))))
"""(6, 3): the rank of each document in each ranking."""


def truth(scores: np.ndarray) -> np.ndarray:
    """P(i before j before k) = ∫ p_j(x) P(s_i > x) P(s_k < x) dx, by Gauss-Hermite quadrature."""
    nodes, weights = np.polynomial.hermite.hermgauss(64)
    p = np.empty(len(RANKS))
    for row, ranks in enumerate(RANKS):
        i, j, k = np.argsort(ranks)
        x = scores[j] + np.sqrt(2) * SIGMA * nodes
        p[row] = weights @ (norm.sf(x, scores[i], SIGMA) * norm.cdf(x, scores[k], SIGMA)) / np.sqrt(np.pi)
    return p / p.sum()


def boltzmann(scores: np.ndarray) -> np.ndarray:
    """Return Boltzmann probabilities: swapping neighbors i and j multiplies one by exp(k (s_i − s_j)).

    The paper leaves k open ("a proper setting"). Here it is the one whose logistic function is closest to the normal
    distribution of a difference of scores, 1.702 / (√2 σ); it is not fitted to the result.
    """
    h = rank_weights(3, PAIR_WEIGHTS["linear"])
    steepness = 1.702 / (np.sqrt(2) * SIGMA)
    energy = steepness / (h[1] - h[0]) * h[RANKS - 1] @ scores
    p = np.exp(energy.min() - energy)
    return p / p.sum()


def softrank(scores: np.ndarray, approximation: str) -> np.ndarray:
    """Return the product of the three documents' rank probabilities, normalized over the six rankings.

    Without normalization (a third of the mass lies on tied ranks, which no ranking has), the divergence is even larger.
    """
    of_document = rank_distribution(scores, [0, 3], SIGMA, approximation)
    p = of_document[np.arange(3), RANKS - 1].prod(axis=1)
    return p / p.sum()


METHODS = {
    "Boltzmann": boltzmann,
    "rank-binomial": lambda scores: softrank(scores, "binomial"),
    "normal": lambda scores: softrank(scores, "normal"),
}


def divergence(p: np.ndarray, q: np.ndarray) -> float:
    """KL(p ‖ q)."""
    there = p > 1e-300
    return float(np.sum(p[there] * np.log(p[there] / np.maximum(q[there], 1e-300))))


def measure(n_vectors: int = 500, random_state: int = 0) -> dict[str, np.ndarray]:
    """Return each method's divergence from the truth for random score vectors."""
    vectors = np.random.default_rng(random_state).uniform(0, 2, (n_vectors, 3))
    true = [truth(scores) for scores in vectors]
    return {
        name: np.array([divergence(p, method(scores)) for p, scores in zip(true, vectors, strict=True)])
        for name, method in METHODS.items()
    }


def draw(path: str, divergences: dict[str, np.ndarray], scores: np.ndarray) -> None:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    colors = {"truth": "#30343b", "Boltzmann": "#2a7f8e", "rank-binomial": "#d98c3f", "normal": "#b5b9c1"}
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 3.6), width_ratios=(1.8, 1), layout="constrained")
    bars = {"truth": truth(scores), **{name: method(scores) for name, method in METHODS.items()}}
    for b, (name, p) in enumerate(bars.items()):
        left.bar(np.arange(6) + 0.2 * (b - 1.5), p, width=0.2, label=name, color=colors[name])
    orders = ["".join("ABC"[d] for d in np.argsort(ranks)) for ranks in RANKS]
    left.set_xticks(range(6), orders)
    left.set_xlabel("ranking, best first")
    left.set_ylabel("probability")
    left.set_title(f"scores A {scores[0]:g}, B {scores[1]:g}, C {scores[2]:g}; σ = {SIGMA}", fontsize=10)
    left.legend(frameon=False)
    names = list(divergences)
    means = [divergences[name].mean() for name in names]
    colors_of_bars = [colors[name] for name in names]
    errors = [1.96 * divergences[name].std() / np.sqrt(len(divergences[name])) for name in names]
    right.bar([name.replace("-", "-\n") for name in names], means, yerr=errors, color=colors_of_bars, capsize=3)
    for x, (mean, error) in enumerate(zip(means, errors, strict=True)):
        right.annotate(f"{mean:.3f}", (x, mean + error), (0, 3), textcoords="offset points", ha="center", fontsize=9)
    right.set_ylabel("KL divergence from the truth")
    right.set_title(f"mean over {len(divergences[names[0]])} score vectors", fontsize=10)
    right.margins(y=0.15)
    for axes in (left, right):
        axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    found = measure()
    for method, values in found.items():
        print(f"{method:14s} mean KL {values.mean():.4f}")
    draw(sys.argv[1] if len(sys.argv) > 1 else "rank-distributions.png", found, np.array([1.1, 1.0, 0.7]))
