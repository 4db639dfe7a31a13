"""Judgments (qrels) as the data of a study in which nothing is trained: runs that were made elsewhere, compared."""

import os
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from podium.core.texts import as_texts
from podium.data import Queries
from podium.data.io.trec import Qrels, Run, judged_run, read_qrels
from podium.experiments.plan.protocol import Average, ProtocolFacts
from podium.experiments.plan.sources import Parts, fingerprint

FOLD = "judgments"


class JudgedQueries:
    """The judged queries, all tested, with the documents that were judged or are in one of the runs.

    Documents without a judgment have grade 0, as in trec_eval. There is nothing to train on or to select by, so the
    same queries stand for the training and validation parts: they only say which metrics can tell runs apart.
    """

    average: Average = "queries"
    protocol = ProtocolFacts("judgments", "runs made elsewhere, on all judged queries")

    def __init__(self, qrels: Qrels | str | os.PathLike[str], runs: Mapping[str, Run]) -> None:
        judgments = qrels if isinstance(qrels, Qrels) else read_qrels(qrels)
        together = judged_run(judgments, _union(runs), complete=True)
        if not len(together.qids):
            raise ValueError("there are no judgments")
        self._queries = Queries(
            np.zeros((len(together.labels), 1)),
            np.maximum(together.labels, 0.0),
            qid=np.repeat(together.qids, np.diff(together.offsets)),
            document_ids=together.document_ids,
        )
        self.name = FOLD if isinstance(qrels, Qrels) else Path(qrels).name.split(".")[0]
        self.folds = [FOLD]
        self.description = f"{len(self._queries):,} judged queries"
        self.fingerprint = fingerprint(self._queries)

    def load(self, fold: str) -> Parts:
        return self._queries, self._queries, self._queries

    def all_queries(self) -> Queries:
        """Return all judged queries."""
        return self._queries


def _union(runs: Mapping[str, Run]) -> Run:
    """Return the documents of all runs, each once per query."""
    pairs = dict.fromkeys(
        pair for run in runs.values() for pair in zip(as_texts(run.qids), as_texts(run.document_ids), strict=True)
    )
    qids, ids = zip(*pairs, strict=True)
    return Run(np.array(qids, dtype=object), np.array(ids, dtype=object), np.zeros(len(qids)))
