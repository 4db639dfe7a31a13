"""What judgments are worth that `podium.clicks.ask` asks for, beside others, on simulated clicks.

    python tools/ask_study.py [--quick] [--out FOLDER]

Synthetic lists, so that all grades are known; a judgment is a grade. Each repetition draws lists, logs, rankers and
choices anew from its number. *decide*: two rankers whose true DCG@10 differs by about one percent; the estimate is by
clicks and by n judgments; is the better one taken for the better one? *retrain*: a ranker is trained on clicks and n
judgments; NDCG@10 on grades of 300 other queries. Each result is stored as soon as it is there, in FOLDER: after an
interruption, the same command resumes. Writes docs/results/asking.md.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from ratings_studies import ROOT, Store

import podium
from podium.clicks import PositionBias, WithJudgments, ask
from podium.clicks.logged import coefficients, read_log
from podium.clicks.rank_weights import rank_weights
from podium.clicks.relevance import relevance

METRIC = "dcg@10"
NUMBERS = {"decide": (0, 25, 100, 400), "retrain": (0, 100, 300, 900)}
REPEATS = {"decide": 44, "retrain": 30}
SEEDS = 10_000
"""Seeds of lists and logs begin here: with others the rules were tried."""
HIGHEST = 2.0
"""The highest of the three grades of synthetic lists."""


class Design(NamedTuple):
    """Logs of one kind, of 150 queries with about 20 documents, the first ten of which are shown."""

    name: str
    sessions: int
    estimated: bool = False
    """Is the bias estimated, by swaps, or the true one?"""


DESIGNS = {
    "few": Design("40 sessions per query", 6_000),
    "many": Design("133 sessions per query", 20_000),
    "estimated": Design("40 sessions per query, the bias estimated", 6_000, estimated=True),
}
METHODS: dict[str, Callable[[int], Any]] = {
    "listnet": lambda seed: podium.ListNet(random_state=seed),
    "pmop": lambda seed: podium.PMOP(random_state=seed),
}
CHOICES = {
    "decide": {
        "ask": "`podium.clicks.ask`",
        "weights": "largest difference of weights, whatever is known",
        "top": "top of both lists",
        "ten": "at random from the first ten of either",
    },
    "retrain": {
        "ask": "`podium.clicks.ask`",
        "top": "top of the lists",
        "random": "at random",
        "queries": "whole lists of random queries",
    },
}


# ---- two rankers


def decide(design: Design, repeat: int) -> dict[str, list[float]]:
    """Return by choice, for each number of judgments, whether the decision is right, then the relative errors, then
    the squares of the errors in standard errors that were said."""
    rng = np.random.default_rng([1, repeat])
    queries, gains = lists(repeat, 150, 10)
    production = ranking(queries, rng, 1.0)
    log = podium.clicks.simulate(
        queries, production, sessions=design.sessions, random_state=SEEDS + repeat, aggregate=True
    )
    bias = PositionBias(bootstrap=0).fit(log) if design.estimated else log.truth
    worth = partial(true_values, queries, log, 0.1 + 0.9 * gains)
    one, *others = (ranking(queries, rng, 0.7) for _ in range(21))
    apart = [worth(other) - worth(one) for other in others]
    other = others[int(np.argmin(np.abs(np.abs(apart) / worth(one) - 0.01)))]
    truth = worth(one) - worth(other)

    def difference(rows: np.ndarray) -> Any:
        judged = queries.only(np.isin(np.arange(queries.n_documents), rows)) if len(rows) else None
        known: dict[str, Any] = {"judged": judged, "highest": HIGHEST} if len(rows) else {}
        told = ask(one, log, 1, against=other, bias=bias, candidates=queries, metric=METRIC, **known)
        return told.mean, told.error

    n = queries.n_documents
    questions = ask(one, log, n, against=other, bias=bias, candidates=queries, metric=METRIC)
    lambdas, best = (
        [weights(queries, scores) for scores in (one, other)],
        np.minimum(*(ranks(queries, s) for s in (one, other))),
    )
    chance = rng.random(n)
    orders = {
        "ask": questions.documents.astype(int),
        "weights": np.argsort(-np.abs(lambdas[0] - lambdas[1]) + 1e-9 * chance),
        "top": np.lexsort((chance, best)),
        "ten": np.argsort(np.where(best <= 10, chance, 2.0 + chance)),
    }
    found, before = {}, difference(np.empty(0))
    for name, order in orders.items():
        told = [difference(order[:number]) if number else before for number in NUMBERS["decide"]]
        mean, error = np.array(told).T
        found[name] = [
            *(mean * truth > 0).astype(float),
            *(np.abs(mean - truth) / abs(truth)),
            *np.square((mean - truth) / error),
        ]
    return found


# ---- one model


def retrain(method: str, repeat: int) -> dict[str, list[float]]:
    """Return by choice the NDCG@10 of the ranker trained with each number of judgments, and with all of them."""
    rng = np.random.default_rng([2, repeat])
    log, shown, test = clicked(repeat)
    bias = PositionBias.known(log.truth.propensities)
    n = shown.n_documents

    def trained(rows: np.ndarray) -> Any:
        judged = shown.only(np.isin(np.arange(n), rows))
        known = WithJudgments(bias, judged.take(judged.sizes > 0), highest=HIGHEST) if len(rows) else bias
        return METHODS[method](repeat).fit(log, bias=known)

    first = trained(np.empty(0))
    row = {document: i for i, document in enumerate(np.asarray(shown.document_ids).tolist())}
    chance, query = rng.random(n), rng.permutation(len(shown))[shown.query_of_document]
    orders = {
        "ask": np.array(
            [row[document] for document in ask(first, log, n, bias=bias, metric=METRIC).documents.tolist()]
        ),
        "top": np.lexsort((chance, ranks(shown, first.predict(shown)))),
        "random": np.argsort(chance),
        "queries": np.argsort(query, kind="stable"),
    }
    figures = {
        name: [(trained(order[:number]) if number else first).score(test) for number in NUMBERS["retrain"]]
        for name, order in orders.items()
    }
    return figures | {"all": [trained(np.arange(n)).score(test)]}


class ByClicks(NamedTuple):
    """A bias whose attractiveness is estimated as beside judgments, where there are none."""

    bias: PositionBias

    def attractiveness(self, clicks: podium.Clicks) -> np.ndarray:
        return relevance(read_log(clicks, None, *coefficients(self.bias, clicks.n_places))).mean

    def weights(self, clicks: podium.Clicks) -> np.ndarray:
        return self.bias.weights(clicks)


def without_judgments(method: str, repeat: int) -> float:
    """Return the NDCG@10 of the ranker trained on clicks alone, with that estimate."""
    log, _, test = clicked(repeat)
    bias = ByClicks(PositionBias.known(log.truth.propensities))
    return float(METHODS[method](repeat).fit(log, bias=bias).score(test))


def clicked(repeat: int) -> tuple[podium.Clicks, podium.Queries, podium.Queries]:
    """Return a log, the grades of the documents that it shows, and other queries."""
    everything, _ = lists(repeat, 450, 15)
    queries, test = everything.take(range(150)), everything.take(range(150, 450))
    poor = queries.features[:, 0]
    log = podium.clicks.simulate(queries, poor, sessions=2_000, random_state=SEEDS + repeat, aggregate=True)
    return log, log.queries.with_labels(queries.labels[log.truth.rows]), test


# ---- lists, rankings, what they are worth


def lists(seed: int, n_queries: int, n_features: int) -> tuple[podium.Queries, np.ndarray]:
    """Return judged lists, and the documents' gains between 0 and 1."""
    queries = podium.make_queries(n_queries=n_queries, n_documents=20, n_features=n_features, random_state=SEEDS + seed)
    gains = (np.exp2(queries.labels) - 1.0) / (np.exp2(HIGHEST) - 1.0)
    return queries.with_document_ids(np.arange(queries.n_documents)), gains


def ranking(queries: podium.Queries, rng: np.random.Generator, spread: float) -> np.ndarray:
    """Return scores by a linear function that is off the best one by so much, in a random direction."""
    x = (queries.features - queries.features.mean(axis=0)) / queries.features.std(axis=0)
    best = np.linalg.lstsq(x, queries.labels - queries.labels.mean(), rcond=None)[0]
    off = rng.standard_normal(x.shape[1])
    return np.asarray(x @ (best / np.linalg.norm(best) + spread * off / np.linalg.norm(off)), np.float64)


def weights(queries: podium.Queries, scores: np.ndarray) -> np.ndarray:
    return rank_weights(METRIC)[METRIC].of_documents(scores, queries.offsets)


def ranks(queries: podium.Queries, scores: np.ndarray) -> np.ndarray:
    order = np.lexsort((-scores, queries.query_of_document))
    found = np.empty(len(order), np.int64)
    found[order] = np.arange(1, len(order) + 1) - queries.offsets[queries.query_of_document]
    return found


def true_values(queries: podium.Queries, log: podium.Clicks, relevance: np.ndarray, scores: np.ndarray) -> float:
    """Return what a ranking is worth to the sessions of the log."""
    sessions = dict(zip(log.queries.qids.tolist(), log.n_sessions.tolist(), strict=True))
    asked = np.array([sessions.get(qid, 0) for qid in queries.qids.tolist()], float)
    per_query = np.bincount(queries.query_of_document, weights(queries, scores) * relevance, len(queries))
    return float(per_query @ asked / asked.sum())


# ---- the page


def interval(values: np.ndarray, places: int) -> str:
    """Return the mean and its 95 % interval."""
    reach = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():+.{places}f} ± {reach:.{places}f}"


def table(part: str, found: dict[str, np.ndarray], places: int, baselines: Sequence[str]) -> Iterator[str]:
    """Yield the means of (repeats, numbers) figures by choice, and how far the first is above others, paired."""
    numbers = NUMBERS[part]
    yield f"| judgments of | {' | '.join(map(str, numbers))} |"
    yield f"|---|{'---:|' * len(numbers)}"
    for name, text in CHOICES[part].items():
        yield f"| {text} | {' | '.join(f'{mean:.{places}f}' for mean in found[name].mean(axis=0))} |"
    for name in baselines:
        above = found["ask"] - found[name]
        cells = ["" if number == 0 else interval(above[:, i], places) for i, number in enumerate(numbers)]
        yield f"| *`ask` less {CHOICES[part][name].replace('`', '')}* | {' | '.join(cells)} |"


def page(store: Store, repeats: dict[str, int]) -> str:
    lines = [INTRODUCTION.format(date=datetime.date.today().isoformat(), **repeats)]
    for key, design in DESIGNS.items():
        runs = [store.get(f"decide-{key}-{i}", partial(decide, design, i)) for i in range(repeats["decide"])]
        n = len(NUMBERS["decide"])
        both = {name: np.array([run[name] for run in runs]) for name in CHOICES["decide"]}
        right, wrong, said = ({name: values[:, k * n : (k + 1) * n] for name, values in both.items()} for k in range(3))
        lines += [f"\n### {design.name}\n", "Share of right decisions:\n"]
        lines += table("decide", right, 3, ["weights", "top", "ten"])
        lines += ["\nMean error of the estimated difference, relative to the true one:\n"]
        lines += table("decide", wrong, 2, ["weights", "top"])
        times = np.sqrt(said["ask"].mean(axis=0))
        lines.append(f"\nErrors as multiples of the ± that `ask` says: {', '.join(f'{value:.1f}' for value in times)}.")
    lines.append(MODELS.format(**repeats))
    for method in METHODS:
        runs = [store.get(f"retrain-{method}-{i}", partial(retrain, method, i)) for i in range(repeats["retrain"])]
        found = {name: np.array([run[name] for run in runs]) for name in CHOICES["retrain"]}
        everything = np.mean([run["all"] for run in runs])
        lines += [
            f"\n### {type(METHODS[method](0)).__name__}\n",
            *table("retrain", found, 4, ["top", "random", "queries"]),
        ]
        alone = [
            store.get(f"alone-{method}-{i}", partial(without_judgments, method, i)) for i in range(repeats["retrain"])
        ]
        lines.append(
            f"\nWith judgments of all documents shown: {everything:.4f}. Without any, but with relevance estimated as "
            f"beside them: {np.mean(alone):.4f}, {interval(alone - found['ask'][:, 0], 4)} above the column 0."
        )
    return "\n".join(lines) + "\n"


INTRODUCTION = """\
# What to judge next

What judgments are worth that [`podium.clicks.ask`](../clicks-judging.md#what-to-judge-next) asks for, beside others, on
simulated clicks. `python tools/ask_study.py` computes this page again; {date}. The rule and its estimates of relevance
were tried on lists with other seeds.

Synthetic lists (`podium.make_queries`: three grades, about 20 documents), clicks of the position-based model with
propensities 1/k and noise .1 on the first ten places of a poor ranking, shuffled (`shuffle=0.5`). A judgment is the
true grade of a document. Intervals are 95 %, over repetitions, and paired: all choices see the same lists, logs and
rankers.

## Which of two rankings is better

{decide} repetitions of each kind, 150 queries. The rankings are linear functions of ten features, each off the best one
in a direction of its own; of 20 pairs, the one is taken whose true DCG@10 differs by closest to 1 %. Documents that the
log never showed are ranked, too. The difference is estimated by clicks and judgments together (`ask(…, judged=…)`),
whichever choice these are from; a decision is right if its sign is.
"""
MODELS = """
## One model

{retrain} repetitions: 150 queries with 15 features, 2,000 sessions ranked by one feature, the true bias. A ranker
learns from the log with `podium.clicks.WithJudgments`, without judgments from the log and its bias; NDCG@10 (convention
`standard`) is that on 300 other queries. *Whole lists* are those of random queries: all of the documents shown of one
before the next.
"""


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="three repetitions; leave the documentation unchanged")
    parser.add_argument("--out", type=Path, help="folder of results (default: podium-runs/asking)")
    options = parser.parse_args(argv)
    out = options.out or ROOT / "podium-runs" / "asking"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of fits that have not converged: their figures are as they are
        text = page(Store(out), dict.fromkeys(REPEATS, 3) if options.quick else REPEATS)
    if options.quick:
        print(text)
    else:
        (ROOT / "docs" / "results" / "asking.md").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
