"""The samplers of §3.3.2: what they converge to, and how far few steps are from the gradient."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import combinations
from math import comb

import numpy as np

import podium
from podium.losses import PMOPLoss

from ..machinery.data import Data
from ..machinery.page import FAILS, HOLDS, OPEN, Verdict, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run

Subset = tuple[int, ...]
STEPS = (1, 2, 3, 10, 100)
CHAINS = {"Gibbs": ("gibbs", True), "MH, ratio as printed": ("mh", False), "MH, ratio corrected": ("mh", True)}


def stationary(_: Data, seed: int) -> dict[str, float]:
    """Return each chain's distance (total variation) from the model in the long run, for five documents.

    The chains' transition matrices over the 31 subsets are computed, nothing is drawn. The potential is the geometric
    mean; scores are standard normal.
    """
    scores = np.random.default_rng(seed).standard_normal(5)
    subsets = [chosen for size in range(1, 6) for chosen in combinations(range(5), size)]
    number = {chosen: k for k, chosen in enumerate(subsets)}
    potential = np.array([np.exp(scores[list(chosen)].mean()) for chosen in subsets])
    model = potential / potential.sum()
    chains = {
        "Gibbs": _gibbs(subsets, number, potential),
        "MH, ratio as printed": _metropolis(subsets, potential, corrected=False),
        "MH, ratio corrected": _metropolis(subsets, potential, corrected=True),
    }
    return {name: 0.5 * float(np.abs(_long_run(chain) - model).sum()) for name, chain in chains.items()}


def _gibbs(subsets: list[Subset], number: dict[Subset, int], potential: np.ndarray) -> np.ndarray:
    """Return the transition matrix of a sweep; an object that is alone in the subset stays."""
    sweep = np.eye(len(subsets))
    for x in range(5):
        one = np.zeros_like(sweep)
        for k, chosen in enumerate(subsets):
            without = tuple(i for i in chosen if i != x)
            if not without:
                one[k, k] = 1.0
                continue
            there = number[tuple(sorted((*without, x)))]
            one[k, there] = potential[there] / (potential[there] + potential[number[without]])
            one[k, number[without]] = 1.0 - one[k, there]
        sweep = sweep @ one
    return sweep


def _metropolis(subsets: list[Subset], potential: np.ndarray, corrected: bool) -> np.ndarray:
    proposal = np.array([1.0 / (5 * comb(5, len(chosen))) for chosen in subsets])
    weight = potential / proposal if corrected else potential
    moves = proposal[None] * np.minimum(1.0, weight[None] / weight[:, None])
    return moves + np.diag(1.0 - moves.sum(axis=1))


def _long_run(chain: np.ndarray) -> np.ndarray:
    return np.linalg.matrix_power(chain, 4096)[0]


@section(
    "Figure 2: what the samplers converge to",
    gibbs=("Figure 2, Gibbs", "sweeps of this kind sample from the model"),
    mh=("Figure 2, Metropolis-Hastings", "accepting with min(1, Φ(S)/Φ(X)) samples from the model"),
)
def figure_2(run: Run) -> Iterator[str | Verdict]:
    yield (
        "Of five documents with normal scores, the transition matrices over all 31 subsets, and the distance (total "
        "variation) of their stationary distribution from the model with the geometric mean. The proposal of "
        "Metropolis-Hastings, a size and then a subset of that size, is not symmetric: it is more likely to propose "
        "a given small or large subset than a middle-sized one. The printed ratio ignores this; the corrected one has "
        "the binomials Φ(S) C(N, |S|) / (Φ(X) C(N, |X|))."
    )
    found = run.results(stationary, [(seed,) for seed in run.seeds])
    rows = [[name, *(f"{each[name]:.2g}" for each in found.values())] for name in CHAINS]
    yield table(["chain", *(f"scores of seed {seed}" for (seed,) in found)], rows)
    worst = {name: max(each[name] for each in found.values()) for name in CHAINS}
    exact = {name: HOLDS if distance < 1e-6 else FAILS for name, distance in worst.items()}
    yield Verdict("gibbs", exact["Gibbs"], f"distance at most {worst['Gibbs']:.1e}")
    printed, corrected = worst["MH, ratio as printed"], worst["MH, ratio corrected"]
    yield Verdict("mh", exact["MH, ratio as printed"], f"distance up to {printed:.2f}; corrected {corrected:.1e}")


@cache
def trained_for_bias(data: Data) -> tuple[podium.Queries, np.ndarray, np.ndarray]:
    """Return training queries with standardized features, these features, and the most probable weights, about."""
    train = data.folds("ohsumed")[0].train
    features = (train.features - train.features.mean(axis=0)) / np.maximum(train.features.std(axis=0), 1e-9)
    train = train.with_features(features)
    return train, features, podium.PMOP("geometric", normalize=None, l2=1e-2, max_iter=20).fit(train).coef_


def contrastive_bias(data: Data, at: float, chain: str, steps: int, averaged: bool) -> dict[str, float]:
    """Return how far the expected step of contrastive divergence is from the gradient, over the gradient's norm.

    The model is linear in standardized features of OHSUMED's first training part, with ``at`` times the weights that
    maximize the likelihood of the geometric potential (penalty 10⁻²). The expectation is a mean over draws; what their
    number leaves of noise is subtracted from the squared distance.
    """
    train, features, weights = trained_for_bias(data)
    scores = features @ (at * weights)

    def slope(loss: PMOPLoss, epoch: int = 0) -> np.ndarray:
        bound = loss.bind(train.labels, train.offsets)
        bound.start_epoch(epoch)
        return features.T @ bound.value_and_gradient(scores).d_scores

    exact = slope(PMOPLoss("geometric"))
    method, corrected = CHAINS[chain]
    loss = PMOPLoss("geometric", method, steps, corrected, 0, averaged)
    n_draws = 3 if data.quick else max(20, 200 // steps)
    drawn = np.array([slope(loss, epoch) for epoch in range(n_draws)])
    mean, noise = drawn.mean(axis=0), drawn.var(axis=0, ddof=1).sum() / n_draws
    size = float(np.linalg.norm(exact))
    distance = np.sqrt(max(float(((mean - exact) ** 2).sum() - noise), 0.0))
    cosine = float(mean @ exact / (np.linalg.norm(mean) * size))
    return {"bias": distance / size, "cosine": cosine, "noise": float(np.sqrt(drawn.var(axis=0, ddof=1).sum())) / size}


@section(
    "The bias of few steps",
    small=("§3.3.2", "few steps from the observed subset give a biased estimate, but the bias is small"),
    effective=("§3.3.2", "… and the estimate is effective"),
)
def bias(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "The gradient of the geometric potential's likelihood can be computed ([how](../methods/pmop.md)), so the bias "
        "of contrastive divergence can be measured: the distance of its expected step from the gradient, over the "
        "gradient's norm, on the first training part of OHSUMED, at zero weights and halfway to the most probable "
        "ones. A step of Gibbs is a sweep over all objects left, one of Metropolis-Hastings a single proposal. "
        "The mean over all states of a chain is what the paper prints; the last state is less biased."
    )
    steps = STEPS[:2] if run.quick else STEPS
    points = (0.0, 0.5)
    found = run.results(
        contrastive_bias,
        [(at, name, n, mean) for at in points for name in CHAINS for n in steps for mean in (True, False)],
    )
    for at, where in zip(points, ("At zero weights", "Halfway"), strict=True):
        rows = []
        for name in CHAINS:
            for averaged in (True, False):
                cells = [found[at, name, n, averaged] for n in steps]
                kind = "mean of states" if averaged else "last state"
                rows.append([f"{name}, {kind}", *(f"{cell['bias']:.2f} ({cell['cosine']:+.2f})" for cell in cells)])
        yield f"{where}: bias, and the cosine of the expected step and the gradient."
        yield table(["", *(f"n = {n}" for n in steps)], rows)

    def draw(axes: np.ndarray) -> None:
        for axis, at in zip(axes, points, strict=True):
            for name, color in zip(CHAINS, ("#1f4e79", "#c55a11", "#548235"), strict=True):
                axis.plot(steps, [found[at, name, n, True]["bias"] for n in steps], "o-", color=color, label=name)
                axis.plot(steps, [found[at, name, n, False]["bias"] for n in steps], "o:", color=color, mfc="white")
            axis.set(xscale="log", xlabel="steps n", ylabel="bias / norm of the gradient", ylim=(0, None))
            axis.set_title("zero weights" if at == 0 else "halfway to the optimum")
        axes[0].legend(frameon=False)

    yield Picture("bias", "Bias of contrastive divergence; dotted: the last state alone", draw, columns=2)
    few = {name: [found[at, name, n, True] for at in points for n in steps if n <= 3] for name in CHAINS}
    ranges = {name: (min(c["bias"] for c in cells), max(c["bias"] for c in cells)) for name, cells in few.items()}
    said = "; ".join(f"{name}: {low:.2f} to {high:.2f} of the gradient" for name, (low, high) in ranges.items())
    yield Verdict("small", HOLDS if all(high < 0.2 for _, high in ranges.values()) else FAILS, f"n ≤ 3, {said}")
    cosines = {name: min(c["cosine"] for c in cells) for name, cells in few.items()}
    directed = all(cosine > 0 for cosine in cosines.values())
    said = ", ".join(f"{name} {cosine:+.2f}" for name, cosine in cosines.items())
    yield Verdict("effective", HOLDS if directed else OPEN, f"least cosine with the gradient for n ≤ 3: {said}")


def pairs_beside(data: Data, seed: int) -> dict[str, float]:
    """Return how far sampled probabilities of pairs are from exact ones, arithmetic potential, in standard errors."""
    fold = data.folds("ohsumed")[0]
    lists = [q for q in range(len(fold.test)) if fold.test.sizes[q] <= 100][:5]
    ranker = podium.PMOP(l2=0.01, random_state=seed).fit(fold.train)
    rng, off = np.random.default_rng(seed), []
    for q in lists:
        one = fold.test.take([q])
        pairs = rng.choice(one.n_documents, size=(20, 2))
        pairs = pairs[pairs[:, 0] != pairs[:, 1]]
        sampled = ranker.pair_probabilities(one, *pairs.T)
        answers = ranker.probabilities(one)
        for k, (i, j) in enumerate(pairs):
            for mine, exact in ((sampled.above[k], answers.above(i, j)), (sampled.tied[k], answers.tied(i, j))):
                off.append((mine - exact) / np.sqrt(max(exact * (1 - exact), 1e-12) / 10_000))
    return {"pairs": len(off), "rms": float(np.sqrt(np.mean(np.square(off)))), "largest": float(np.abs(off).max())}


@section("Probabilities of pairs, drawn beside exact")
def drawn_pairs(run: Run) -> Iterator[str]:
    yield (
        "`pair_probabilities` counts 10,000 drawn partitions, `probabilities` is exact under the arithmetic potential. "
        "Their differences over test lists of OHSUMED, in standard errors: drawn from the same model, they have a root "
        "mean square of about 1."
    )
    found = run.results(pairs_beside, [(seed,) for seed in run.seeds])
    rows = [
        [str(seed), int(each["pairs"]), f"{each['rms']:.2f}", f"{each['largest']:.1f}"]
        for (seed,), each in found.items()
    ]
    yield table(["seed", "probabilities", "root mean square", "largest"], rows)
