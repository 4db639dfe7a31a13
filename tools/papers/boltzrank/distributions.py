"""Figures 1, 2 and 3(a): distributions of rankings, and the sample of rankings that stands for all."""

from __future__ import annotations

import runpy
from collections.abc import Iterator
from functools import cache
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any

import numpy as np

from podium.losses.boltzrank import draw_sample, judge
from podium.losses.labeled import LabeledLists
from podium.metrics import metric
from podium.numerics.ranks.energy import PAIR_WEIGHTS, rank_weights

from ..machinery.data import Data
from ..machinery.fitting import fold_of
from ..machinery.judging import difference
from ..machinery.page import FAILS, HOLDS, Verdict, figure, section, table
from ..machinery.pictures import Picture
from ..machinery.run import Run

APPROXIMATIONS = ("Boltzmann", "rank-binomial", "normal")
SCORES = (1.1, 1.0, 0.7)


@cache
def example() -> dict[str, Any]:
    """Return the names of examples/rank_distributions.py."""
    return runpy.run_path(str(Path(__file__).resolve().parents[3] / "examples" / "rank_distributions.py"))


def divergences(data: Data, seed: int) -> dict[str, list[float]]:
    """Return each approximation's divergence from the truth for score vectors uniform in [0, 2]³."""
    found = example()["measure"](20 if data.quick else 500, seed)
    return {name: values.tolist() for name, values in found.items()}


def one_vector(_: Data) -> dict[str, list[float]]:
    """Return the probabilities of the six rankings for one score vector."""
    names, scores = example(), np.array(SCORES)
    found = {"truth": names["truth"](scores)} | {name: names["METHODS"][name](scores) for name in APPROXIMATIONS}
    return {name: np.asarray(p).tolist() for name, p in found.items()}


@section(
    "Figures 1 and 2: distributions of three documents' rankings",
    closer=("§3.2, Figure 2", "the Boltzmann distribution is closer to the truth than both of SoftRank's"),
    normal=("Figure 1", "the normal approximation is a good one of the rank-binomial"),
    fit=("Figure 1", "neither fits the true distribution as well as the Boltzmann distribution"),
)
def figures_1_and_2(run: Run) -> Iterator[str | Picture | Verdict]:
    yield (
        "Scores uniform in [0, 2], σ = 0.2, 500 score vectors per seed. SoftRank's products are normalized over the "
        "six rankings; the Boltzmann distribution's steepness is that of the logistic function next to the normal "
        "distribution of a difference, not fitted to the result. The paper prints bars without figures."
    )
    found = [run.result(divergences, seed) for seed in run.seeds]
    values = {name: np.concatenate([each[name] for each in found]) for name in APPROXIMATIONS}
    bars = run.result(one_vector)
    yield table(["", "mean KL divergence from the truth"], [[name, float(v.mean())] for name, v in values.items()])

    def draw(axes: Any) -> None:
        left, right = axes
        for b, (name, p) in enumerate(bars.items()):
            left.bar(np.arange(6) + 0.2 * (b - 1.5), p, 0.2, label=name)
        left.set_xticks(range(6), ["".join("ABC"[d] for d in np.argsort(ranks)) for ranks in permutations((1, 2, 3))])
        left.set_xlabel("ranking, best first")
        left.set_ylabel("probability")
        left.legend(frameon=False)
        right.bar(list(values), [v.mean() for v in values.values()])
        right.set_ylabel("KL divergence from the truth")

    caption = (
        f"Figure 1 (left, scores {', '.join(map(str, SCORES))}) and Figure 2 (right, mean of {len(values['normal'])})"
    )
    yield Picture("distributions", caption, draw, columns=2)
    others = [values[name] for name in APPROXIMATIONS[1:]]
    closest = all((values["Boltzmann"] < other).mean() > 0.5 for other in others)
    share = ", ".join(figure(float((values["Boltzmann"] < other).mean()), 3) for other in others)
    less = "; ".join(difference(values["Boltzmann"], other) for other in others)
    yield Verdict("closer", HOLDS if closest else FAILS, f"less by {less}; closer in a share of {share} of the vectors")
    apart = float(np.abs(np.subtract(bars["normal"], bars["rank-binomial"])).max())
    from_truth = {name: float(np.abs(np.subtract(bars[name], bars["truth"])).max()) for name in APPROXIMATIONS}
    near = apart < min(from_truth["normal"], from_truth["rank-binomial"])
    yield Verdict("normal", HOLDS if near else FAILS, f"largest difference {figure(apart)} of a ranking's probability")
    best = min(from_truth, key=from_truth.__getitem__) == "Boltzmann"
    said = ", ".join(f"{name} {figure(off)}" for name, off in from_truth.items())
    yield Verdict("fit", HOLDS if best else FAILS, f"largest difference from the truth: {said}")


def off_logistic(_: Data, m: int, g: str) -> dict[str, float]:
    """Return how far P(i before j) of m documents is from a logistic function of s_i − s_j, by enumeration.

    The steepness is that of the best logistic function, by least squares of logits over random score vectors.
    """
    ranks = np.array(list(permutations(range(1, m + 1))))
    h = rank_weights(m, PAIR_WEIGHTS[g])
    rng = np.random.default_rng(0)
    gaps, chances = [], []
    for scores in rng.normal(size=(200, m)):
        energy = h[ranks - 1] @ scores
        p = np.exp(energy.min() - energy)
        gaps.append(scores[0] - scores[1])
        chances.append(p[ranks[:, 0] < ranks[:, 1]].sum() / p.sum())
    gap, chance = np.array(gaps), np.array(chances)
    logit = np.log(chance / (1 - chance))
    k = float(gap @ logit / (gap @ gap))
    return {"steepness": k, "off": float(np.abs(chance - 1 / (1 + np.exp(-k * gap))).max())}


@section(
    "The probability of a pair",
    logistic=("§3.2", "with g(x) = k sign(x), P(i before j) = 1/(1 + exp(−k(s_i − s_j)))"),
    forms=("§4.2", "g may be linear, sign or logistic: three functions"),
)
def pair_probability(run: Run) -> Iterator[str | Verdict]:
    yield (
        "By enumeration of all rankings, 200 score vectors N(0, 1): the best logistic function of the difference of "
        "two scores, and how far the Boltzmann distribution's probability is from it at most."
    )
    keys = [(m, g) for m in (2, 3, 4, 5) for g in ("sign", "linear", "logistic")]
    found = run.results(off_logistic, keys)
    yield table(
        ["documents", "g", "steepness", "largest difference"], [[str(m), g, *found[m, g].values()] for m, g in keys]
    )
    exact = found[2, "sign"]["off"] < 1e-9
    rest = max(found[m, "sign"]["off"] for m in (3, 4, 5))
    said = f"two documents: exact to {found[2, 'sign']['off']:.0e}; more: off by up to {figure(rest)}"
    yield Verdict("logistic", HOLDS if exact and rest < 1e-6 else FAILS, said)
    same = max(np.ptp(_ratio(m)) for m in (3, 5, 20))
    said = f"linear over sign, of all ranks: constant to {same:.0e}; so there are two functions, not three"
    yield Verdict("forms", FAILS if same < 1e-9 else HOLDS, said)


def _ratio(m: int) -> np.ndarray:
    linear, sign = (rank_weights(m, PAIR_WEIGHTS[g]) for g in ("linear", "sign"))
    there = np.abs(sign) > 1e-12
    return linear[there] / sign[there]


def samples(data: Data, fold: int) -> list[list[float]]:
    """Return the NDCG@5 of each ranking, in the order drawn, of each training query that has two grades."""
    train = fold_of(data, "ohsumed", fold).train
    lists = LabeledLists(train.labels, train.offsets, np.arange(len(train)))
    sample = draw_sample(lists.groups, train.offsets, 100, lists.streams(0))
    gains = judge(sample, metric("ndcg@5 (letor)"), lists)
    return [gains[a:b].tolist() for a, b in pairwise(sample.first) if b - a == 100]


@section(
    "Figure 3(a): a sample of rankings",
    high=("§4.2, Figure 3(a)", "of the first 55 % of a sample, NDCG@5 is mostly above .5"),
    low=("§4.2, Figure 3(a)", "of the remainder, it is mostly below .4"),
    first=("Figure 3(a)", "the first ranking is the target, of NDCG 1"),
)
def figure_3a(run: Run) -> Iterator[str | Picture | Verdict]:
    found = np.array(run.result(samples, 0))
    early, late = found[:, 2:57], found[:, 57:]
    yield (
        f"All {len(found)} training queries of Fold1 with more than one grade; the second ranking, the reverse of the "
        "target, is Podium's addition. In the order drawn: the target, swaps between the two higher grades (35 %), "
        "between the two lower ones (20 %), between the highest and the lowest grade and shuffles in turn."
    )
    shares = [float((early > 0.5).mean()), float((late < 0.4).mean())]
    yield table(["", "share"], [["first 55 %: NDCG@5 above .5", shares[0]], ["remainder: NDCG@5 below .4", shares[1]]])

    def draw(axes: Any) -> None:
        left, right = axes
        left.plot(np.arange(1, 101), found[0], ".")
        left.set_title("one query", fontsize=9)
        right.fill_between(np.arange(1, 101), *np.quantile(found, [0.1, 0.9], axis=0), alpha=0.3)
        right.plot(np.arange(1, 101), np.median(found, axis=0))
        right.set_title("all queries: median, 10 % to 90 %", fontsize=9)
        for each in axes:
            each.set_xlabel("ranking, in the order drawn")
            each.set_ylabel("NDCG@5")

    yield Picture("sample", "Figure 3(a): NDCG@5 of the 100 rankings of a sample", draw, columns=2)
    yield Verdict("high", HOLDS if shares[0] > 0.5 else FAILS, f"{figure(shares[0])} of them")
    yield Verdict("low", HOLDS if shares[1] > 0.5 else FAILS, f"{figure(shares[1])} of them")
    yield Verdict("first", HOLDS if np.allclose(found[:, 0], 1.0) else FAILS, f"at least {found[:, 0].min():.3f}")
