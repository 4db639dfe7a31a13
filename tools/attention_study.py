"""Attention beside networks of single documents, where relevance depends on the list: docs/results/attention.md.

    python tools/attention_study.py [--quick] [--jobs 2]

Two kinds of lists (see KINDS). Each scorer has the same training lists, the same number of settings, of which
validation lists choose one, the same largest number of steps, and about as many parameters. Needs the extra torch.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import product
from pathlib import Path
from typing import NamedTuple

import numpy as np

import podium
from podium.losses import ListNetLoss, Loss, PMOPLoss
from podium.metrics.significance import randomization_test
from podium.scorers import MLP, Attention, Scorer
from podium.training import Stochastic

PAGE = Path(__file__).resolve().parents[1] / "docs" / "results" / "attention.md"
SEEDS, SIZES, QUICK_SIZES = (0, 1, 2), (600, 300, 1000), (60, 30, 100)
EPOCHS, RATES = 60, (1e-3, 3e-3, 1e-2)
N_PLACES = 4
"""Features that say where a document is among the others; as many more say how good it is by itself."""
CLEAR = 0.01
LOSSES: dict[str, Loss] = {"ListNet": ListNetLoss(), "PMOP": PMOPLoss()}


class Contestant(NamedTuple):
    """Scorers of about the same size, and how their features are rescaled."""

    scorers: tuple[Scorer, ...]
    normalize: str


_MLPS = (MLP((64, 64), "relu"), MLP((48, 48, 48), "relu"))
_ATTENTION = (Attention(1, 2, 24), Attention(2, 2, 16))
CONTESTANTS = {
    "Attention": Contestant(_ATTENTION, "robust"),
    "MLP": Contestant(_MLPS, "robust"),
    "MLP, z-scores per query": Contestant(_MLPS, "zscore"),
    "MLP, 0 to 1 per query": Contestant(_MLPS, "minmax"),
}
Worth = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def consensus(query: np.ndarray, group: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return what documents are worth if those that say what most others say are better."""
    _, member, size = np.unique(np.column_stack((query, group)), axis=0, return_inverse=True, return_counts=True)
    return own + 4.0 * (size[member] / np.bincount(query)[query])


def novelty(query: np.ndarray, group: np.ndarray, own: np.ndarray) -> np.ndarray:
    """Return what documents are worth if of several that say the same only the best one is of use."""
    _, member = np.unique(np.column_stack((query, group)), axis=0, return_inverse=True)
    best = np.full(member.max() + 1, -np.inf)
    np.maximum.at(best, member, own)
    return own - 3.0 * (own < best[member])


class Kind(NamedTuple):
    """How documents of a list fall into groups, and what they are worth."""

    worth: Worth
    shares: tuple[float, ...]
    """Sizes of the groups, on average."""


KINDS = {
    "consensus": Kind(consensus, (0.55, 0.3, 0.15)),
    "novelty": Kind(novelty, (0.2, 0.2, 0.2, 0.2, 0.2)),
}


def lists(kind: str, n_lists: int, seed: int) -> podium.Queries:
    """Return lists of 10 to 20 documents in groups that are somewhere else in each list; the best are graded 1 to 3."""
    rng, (worth, shares) = np.random.default_rng(seed), KINDS[kind]
    sizes = rng.integers(10, 21, n_lists)
    query = np.repeat(np.arange(n_lists), sizes)
    group = rng.choice(len(shares), len(query), p=shares)
    centers = rng.standard_normal((n_lists, len(shares), N_PLACES))
    places = centers[query, group] + 0.3 * rng.standard_normal((len(query), N_PLACES))
    features = rng.standard_normal((len(query), N_PLACES))
    own = features @ np.array([0.5, 0.4, 0.3, 0.0])
    value = worth(query, group, own) + 0.3 * rng.standard_normal(len(query))
    order = np.lexsort((-value, query))
    share = np.empty(len(query))
    share[order] = (np.arange(len(query)) - (np.cumsum(sizes) - sizes)[query]) / sizes[query]
    grades = np.select([share < 0.1, share < 0.25, share < 0.5], [3, 2, 1], 0)
    return podium.Queries(np.hstack((features, places)).astype(np.float32), grades, sizes=sizes)


def judge(contestant: Contestant, loss: Loss, parts: list[podium.Queries], epochs: int = EPOCHS) -> np.ndarray:
    """Return NDCG@10 of the test lists, with the setting that is best on the validation lists."""
    train, valid, test = parts
    best: tuple[float, podium.Ranker] | None = None
    for scorer in contestant.scorers:
        for rate in RATES:
            trainer = Stochastic(epochs, 16, rate)
            ranker = podium.Ranker(loss, scorer, trainer, normalize=contestant.normalize, random_state=0)
            merit = ranker.fit(train, eval_set=valid).score(valid)
            if best is None or merit > best[0]:
                best = merit, ranker
    assert best is not None
    scores = best[1].predict(test)
    return podium.evaluate(test, scores, metrics="ndcg@10").per_query["ndcg@10"]


class Row(NamedTuple):
    """What a loss and a seed gave on a kind of lists."""

    kind: str
    cells: str
    verdicts: list[str]
    """Who is clearly better, for each of the others than Attention."""


def row(kind: str, loss: str, seed: int, sizes: tuple[int, ...], epochs: int) -> Row:
    """Return a line of a kind's table."""
    parts = [lists(kind, n, 10 * seed + part) for part, n in enumerate(sizes)]
    judged = {who: judge(contestant, LOSSES[loss], parts, epochs) for who, contestant in CONTESTANTS.items()}
    ours, *others = judged.values()
    p = [randomization_test(ours, other) for other in others]
    better = ["Attention" if ours.mean() > other.mean() else "the other" for other in others]
    means = (f"{result.mean():.4f}" for result in judged.values())
    cells = f"| {loss}, {seed} | {' | '.join(means)} | {', '.join(f'{value:.4f}' for value in p)} |"
    return Row(kind, cells, [who if value < CLEAR else "neither" for who, value in zip(better, p, strict=True)])


def table(rows: list[Row]) -> str:
    """Return the table of these rows."""
    head = "| loss, seed | " + " | ".join(CONTESTANTS) + " | p, of Attention against each |"
    return "\n".join([head, "|---" * (len(CONTESTANTS) + 2) + "|", *(found.cells for found in rows)])


TEXT = """# Attention where relevance depends on the list

`podium.scorers.Attention` beside networks of single documents, on lists in which a document's grade depends on what
else there is. `python tools/attention_study.py` (extra `torch`) computes this page again; {date}, NDCG@10, convention
`standard`, means over {n_test:,} test lists. *p*: paired randomization tests over these lists, 10,000 draws,
two-sided, so at least .0001.

Each list has 10 to 20 documents in groups. Four features say how good a document is by itself, four where it is; the
groups' places are drawn anew in each list, so that a place by itself says nothing. Half of a list has grade 0; the
others 1 to 3, by what a document is worth:

- **consensus**: its own quality plus four times its group's share of the list (three groups, of 55, 30 and 15 % on
  average);
- **novelty**: its own quality, less 3 unless it is the best of its group (five groups of equal size on average).

All learn from {n_train} lists and choose among six settings (three rates, two sizes of the network) on {n_valid}
others, by which they also stop early, after at most {epochs} epochs of 16 lists per step. Sizes are about equal:
Attention has {attention} parameters, MLP {mlp}. Rescaling within a query tells an MLP something about the list:
z-scores move its center of gravity to 0.

Of {n} comparisons, Attention is better at *p* < {clear} in {wins}, worse in {losses}; in {open} neither is. (No
correction for their number.)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few lists, one seed; writes nothing")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    options = parser.parse_args()
    sizes, seeds, epochs = (QUICK_SIZES, SEEDS[:1], 5) if options.quick else (SIZES, SEEDS, EPOCHS)
    rows: list[Row] = []
    with ProcessPoolExecutor(options.jobs) as pool:
        tasks = product(KINDS, LOSSES, seeds)
        promised = [pool.submit(row, kind, loss, seed, sizes, epochs) for kind, loss, seed in tasks]
        for one in promised:
            rows.append(one.result())
            print(f"{rows[-1].kind}: {rows[-1].cells}", flush=True)
    if options.quick:
        return
    verdicts = [verdict for found in rows for verdict in found.verdicts]
    n_train, n_valid, n_test = sizes
    head = TEXT.format(
        date=datetime.date.today().isoformat(),
        n_train=n_train,
        n_valid=n_valid,
        n_test=n_test,
        epochs=epochs,
        attention=_parameters(_ATTENTION),
        mlp=_parameters(_MLPS),
        n=len(verdicts),
        clear=CLEAR,
        wins=verdicts.count("Attention"),
        losses=verdicts.count("the other"),
        open=verdicts.count("neither"),
    )
    sections = (f"## {kind.capitalize()}\n\n{table([r for r in rows if r.kind == kind])}\n" for kind in KINDS)
    PAGE.write_text("\n".join([head, *sections]), "utf-8")
    print(f"written: {PAGE}")


def _parameters(scorers: tuple[Scorer, ...]) -> str:
    queries = lists("consensus", 1, 0)
    return " or ".join(f"{len(scorer.start(queries, np.random.default_rng(0)).theta):,}" for scorer in scorers)


if __name__ == "__main__":
    main()
