"""Learning from simulated clicks on OHSUMED, the MSLR sample and synthetic lists: what a bias is worth.

    python tools/clicks_study.py [--quick] [--only ohsumed,mslr] [--seeds 3,4] [--data FOLDER] [--out FOLDER] [--stored]

Clicks are simulated on training lists; rankers are judged by the grades of test lists. Each result is stored as soon as
it is there, in FOLDER: after an interruption, the same command resumes, and several may run at once on different parts.
With --stored, nothing is computed: the page is written of what there is. Writes docs/results/clicks.md and
docs/images/clicks.svg; --quick tries it on little, and writes into FOLDER.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from ratings_studies import ROOT, Store

if TYPE_CHECKING:
    import podium

METRIC = "ndcg@10"
TOP, NOISE, SHUFFLE = 10, 0.1, 0.5
SEEDS = range(5)
SESSIONS = (1_000, 10_000, 100_000, 1_000_000)
MOST_FOR_PEERS, MOST_FOR_DEBIASING = 10_000, 100_000
"""Sessions up to which LightGBM and XGBoost, and debiasing inside LambdaMART, take part: they learn from each list."""
METHODS = ("swaps", "em", "dual", "pairwise")
BIASES = ("naive", *METHODS, "true")
DEBIASING = ("debias pairwise", "debias additive")
PEERS = ("LightGBM position", "XGBoost unbiased")
RANKERS = ("ListNet", "PMOP", "LambdaMART")


class Log(NamedTuple):
    """Clicks on lists of one kind."""

    data: str
    exponent: float
    sessions: int
    seed: int

    def __str__(self) -> str:
        return f"{self.data}-{self.exponent:g}-{self.sessions}-{self.seed}"


TABLE = [Log("synthetic", exponent, 50_000, 0) for exponent in (1.0, 2.0)]
CURVES = {name: [Log(name, 1.0, n, seed) for seed in SEEDS for n in SESSIONS] for name in ("ohsumed", "mslr")}
STEEP = {name: [Log(name, 2.0, 10_000, seed) for seed in SEEDS] for name in CURVES}
"""The same with a bias of exponent 2, at one number of sessions."""


class Clicked:
    """A log with what was estimated from it; each thing is made when it is asked for."""

    def __init__(self, log: Log, folder: Path) -> None:
        self.log, self.folder = log, folder
        self.biases: dict[str, Any] = {}

    @cached_property
    def lists(self) -> tuple[podium.Queries, podium.Queries]:
        """Return training and test lists."""
        return parts(self.log, self.folder)

    def simulated(self, *, aggregate: bool) -> podium.Clicks:
        from podium.clicks import simulate

        train = self.lists[0]
        return simulate(
            train,
            production(self.log, train),
            exponent=self.log.exponent,
            noise=NOISE,
            shuffle=SHUFFLE,
            top=TOP,
            sessions=self.log.sessions,
            random_state=self.log.seed,
            aggregate=aggregate,
        )

    @cached_property
    def clicks(self) -> podium.Clicks:
        return self.simulated(aggregate=True)

    @cached_property
    def session_lists(self) -> podium.Clicks:
        """Return the same log, each session by itself."""
        return self.simulated(aggregate=False)

    def bias(self, name: str) -> Any:
        from podium.clicks import PositionBias

        if name == "naive":
            return name
        if name not in self.biases:
            self.biases[name] = (
                PositionBias.known(self.clicks.truth.propensities)
                if name == "true"
                else PositionBias(method=name, bootstrap=0).fit(self.clicks)
            )
        return self.biases[name]

    def judged(self, ranker: str, how: str) -> list[float]:
        """Return the metric of each test list."""
        import podium

        train, test = self.lists
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of short logs that hardly tell the bias: their figures are as they are
            if how in PEERS:
                scores = peer(how, self.session_lists, test)
            elif how in DEBIASING:
                fitted = podium.LambdaMART(debias=how.split()[1], random_state=self.log.seed)
                scores = fitted.fit(self.session_lists).predict(test)
            else:
                fitted = getattr(podium, ranker)(random_state=self.log.seed)
                fitted.fit(train) if how == "grades" else fitted.fit(self.clicks, bias=self.bias(how))
                scores = fitted.predict(test)
        values = podium.metric(METRIC).per_query(scores, test.labels, test.offsets)
        return [round(float(value), 7) for value in values]


# ---- lists, and what ranked them


def parts(log: Log, folder: Path) -> tuple[podium.Queries, podium.Queries]:
    """Return training and test lists: a fifth of the queries is tested for each seed, or a fold of OHSUMED's own."""
    import podium

    if log.data == "ohsumed":
        fold = folder / "ohsumed" / f"Fold{log.seed + 1}"
        train, test = (podium.read_letor(fold / f"{part}set.txt.gz") for part in ("training", "test"))
        return train, test
    if log.data == "mslr":
        from defaults import joined, mslr

        queries = joined(mslr(folder), mslr(folder, "test"))
        fold_of = np.random.default_rng(0).permutation(len(queries)) % len(SEEDS)
        return queries.take(np.flatnonzero(fold_of != log.seed)), queries.take(np.flatnonzero(fold_of == log.seed))
    queries = podium.make_queries(n_queries=1200, n_documents=30, random_state=log.seed)
    return queries.take(range(200)), queries.take(range(200, 1200))


def production(log: Log, train: podium.Queries) -> np.ndarray:
    """Return the scores of the ranker whose lists people see.

    On synthetic lists a linear one that learned from the grades of two queries, else the feature that ranks the
    training queries best.
    """
    import podium

    if log.data == "synthetic":
        few = np.random.default_rng([log.seed, 5]).choice(len(train), 2, replace=False)
        return podium.Regression(normalize="standard").fit(train.take(few)).predict(train)
    figures = [
        np.nanmean(podium.metric(METRIC).per_query(scores, train.labels, train.offsets)) for scores in train.features.T
    ]
    return train.features[:, int(np.argmax(figures))]


# ---- other packages, with their own corrections and their defaults


def peer(name: str, clicks: podium.Clicks, test: podium.Queries) -> np.ndarray:
    """Return the scores of test documents by a package that learned from the lists of each session."""
    assert clicks.session is not None
    order = np.lexsort((clicks.position, clicks.session))
    features, clicked = clicks.queries.features[clicks.row[order]], clicks.clicks[order]
    sizes = np.bincount(clicks.session[order])
    if name.startswith("LightGBM"):
        import lightgbm

        data = lightgbm.Dataset(features, clicked, group=sizes, position=clicks.position[order] - 1)
        options = {"objective": "lambdarank", "num_threads": 1, "verbosity": -1, "seed": 0}
        return np.asarray(lightgbm.train(options, data, 100).predict(test.features))
    import xgboost

    matrix = xgboost.DMatrix(features, clicked, qid=np.repeat(np.arange(len(sizes)), sizes))
    options = {"objective": "rank:ndcg", "lambdarank_unbiased": True, "nthread": 1, "seed": 0}
    return np.asarray(xgboost.train(options, matrix, 100).predict(xgboost.DMatrix(test.features)))


# ---- what is computed


def wanted(log: Log) -> Iterator[tuple[str, str]]:
    """Yield the rankers that learn from a log, and how."""
    # On the 136 features of MSLR dual learning and pairwise debiasing take minutes per log.
    methods = [name for name in BIASES if log.data != "mslr" or name not in ("dual", "pairwise")]
    for ranker in RANKERS:
        yield from ((ranker, how) for how in ("grades", *methods))
    if log.sessions <= MOST_FOR_DEBIASING:
        yield from (("LambdaMART", how) for how in DEBIASING)
    if log.sessions <= MOST_FOR_PEERS or log.data == "synthetic":
        yield from ((name, name) for name in PEERS)


def study(store: Store, folder: Path, logs: Sequence[Log], *, stored: bool) -> dict[tuple[Log, str, str], np.ndarray]:
    """Return what was found; with ``stored``, what is there already."""
    found = {}
    for log in logs:
        clicked = Clicked(log, folder)
        for ranker, how in wanted(log):
            # Rankers that learn from grades do not depend on the log.
            key = f"{log}-{ranker}-{how}" if how != "grades" else f"{log.data}-{log.seed}-{ranker}-grades"
            key = key.replace(" ", "-")
            if stored and not (store.folder / f"{key}.json").exists():
                continue
            found[log, ranker, how] = np.array(store.get(key, partial(clicked.judged, ranker, how)))
    return found


def selected(options: argparse.Namespace) -> list[Log]:
    """Return the logs, those of the first seeds first."""
    logs = TABLE + [log for name in CURVES for log in CURVES[name] + STEEP[name]]
    if options.only:
        logs = [log for log in logs if log.data in options.only.split(",")]
    if options.seeds:
        logs = [log for log in logs if str(log.seed) in options.seeds.split(",")]
    if options.quick:
        logs = [log for log in logs if log.seed == 0 and log.sessions <= 10_000]
        logs += [log._replace(sessions=2_000) for log in TABLE if not options.only]
    return sorted(logs, key=lambda log: (log.seed, log.sessions > 100_000))


def main(argv: Sequence[str] | None = None) -> int:
    from clicks_study_page import draw, page

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    data = os.environ.get("PODIUM_DATA") or ROOT.parent / "shared" / "data"
    parser.add_argument("--quick", action="store_true", help="one seed, short logs; leave the documentation unchanged")
    parser.add_argument("--only", help="parts: synthetic, ohsumed, mslr, separated by commas; then no page is written")
    parser.add_argument("--seeds", help="seeds, separated by commas; then no page is written, either")
    parser.add_argument("--data", type=Path, default=Path(data), help="folder of ohsumed and mslr-sample")
    parser.add_argument("--out", type=Path, help="folder of results (default: podium-runs/clicks)")
    parser.add_argument("--stored", action="store_true", help="compute nothing: write the page of what is stored")
    options = parser.parse_args(argv)
    logging.getLogger("podium").setLevel("ERROR")
    out = options.out or ROOT / "podium-runs" / ("clicks-quick" if options.quick else "clicks")
    found = study(Store(out), options.data, selected(options), stored=options.stored)
    if options.only or options.seeds:
        return 0
    docs = out if options.quick else ROOT / "docs"
    for folder in ("results", "images"):
        (docs / folder).mkdir(exist_ok=True)
    draw(found, docs / "images" / "clicks.svg")
    (docs / "results" / "clicks.md").write_text(page(found), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
