"""Scores of known documents as a TREC run, and back.

A run names queries and documents by texts without whitespace. Query ids that have some are written with percent signs
(``red%20shoes``). The documents of a query are named by their ids; if these are missing, repeated or have whitespace in
them, by their place in the query's rows: ``d1``, ``d2``, … These names depend on the query alone, so a run that was
written fold by fold is found again in the whole data.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np

from podium.core.later import polars as pl
from podium.core.texts import as_texts
from podium.data.io.files import FilePath, writing
from podium.data.io.trec import Run, add_lines

_UNFIT = re.compile(r"\s|^$")


@dataclass(frozen=True, slots=True)
class ListedDocuments:
    """Documents grouped by query, without anything that is known about them."""

    qids: np.ndarray
    offsets: np.ndarray
    document_ids: np.ndarray | None = None

    def run_qids(self) -> list[str]:
        """Return the names of the queries in a run."""
        names = [quote(name) if _UNFIT.search(name) else name for name in map(str, self.qids)]
        if len(set(names)) < len(names):
            repeated = next(name for i, name in enumerate(names) if name in names[:i])
            raise ValueError(f"two queries would both be called {repeated!r} in a run; give them other ids")
        return names

    def run_ids(self) -> list[str]:
        """Return the names of the documents in a run."""
        names: list[str] = []
        every = set() if self.document_ids is None else set(map(str, set(self.document_ids.tolist())))
        unfit = {name for name in every if _UNFIT.search(name)}
        for start, stop in zip(self.offsets[:-1].tolist(), self.offsets[1:].tolist(), strict=True):
            own = [] if self.document_ids is None else list(map(str, self.document_ids[start:stop].tolist()))
            fit = own and len(set(own)) == len(own) and not (set(own) & unfit)
            names += own if fit else [f"d{i}" for i in range(1, stop - start + 1)]
        return names

    def query_of_document(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.qids)), np.diff(self.offsets))


@dataclass(frozen=True, slots=True)
class FoundScores:
    """What a run says about documents."""

    scores: np.ndarray
    """(n_documents,), finite. Documents of a query that the run does not have share a score below all others."""
    n_missing: int
    """Documents that the run does not have, in queries that it has."""
    n_unknown: int
    """Documents that the run has for these queries, but the data do not."""
    missing_queries: tuple[str, ...]
    """Queries of which the run has no document; their scores are all equal."""

    def notes(self) -> list[str]:
        """Return lines that say what did not fit."""
        said = {
            "{} of the data {} not in the run and rank{} last": self.n_missing,
            "{} of the run {} not in the data and {} left out": self.n_unknown,
        }
        lines = []
        for text, n in said.items():
            one = n == 1
            what, verb = ("1 document", "is") if one else (f"{n:,} documents", "are")
            last = ("s" if one else "") if "rank{}" in text else verb
            lines += [text.format(what, verb, last)] if n else []
        return lines


def scores_in(run: Run, documents: ListedDocuments) -> FoundScores:
    """Return the scores that a run gives these documents, in their order.

    Examples
    --------
    >>> run = Run(np.array(["1", "1"]), np.array(["b", "x"]), np.array([0.5, 0.7]), tag="demo")
    >>> found = scores_in(run, ListedDocuments(np.array([1]), np.array([0, 2]), np.array(["a", "b"])))
    >>> found.scores.tolist(), found.n_missing, found.n_unknown
    ([-0.5, 0.5], 1, 1)
    """
    number = documents.query_of_document()
    qids = documents.run_qids()
    text = {"qid": pl.String, "document": pl.String}
    ours = pl.DataFrame({"qid": [qids[q] for q in number.tolist()], "document": documents.run_ids()}, schema=text)
    theirs = pl.DataFrame(
        {"qid": as_texts(run.qids), "document": as_texts(run.document_ids), "score": run.scores},
        schema={**text, "score": pl.Float64},
    )
    joined = ours.join(theirs, on=["qid", "document"], how="left", maintain_order="left")
    scores = joined["score"].fill_null(np.nan).to_numpy().copy()
    known = ~np.isnan(scores)
    lowest = np.full(len(qids), np.inf)
    np.minimum.at(lowest, number[known], scores[known])
    in_run = np.isfinite(lowest)
    lowest[~in_run] = 0.0
    scores[~known] = (lowest - np.maximum(1.0, np.abs(lowest)))[number[~known]]
    unknown = theirs.join(ours, on=["qid", "document"], how="anti").filter(pl.col("qid").is_in(qids))
    return FoundScores(
        scores,
        int((~known & in_run[number]).sum()),
        unknown.height,
        tuple(name for name, found in zip(qids, in_run.tolist(), strict=True) if not found),
    )


def write_scores(path: FilePath, documents: ListedDocuments, scores: np.ndarray, tag: str) -> None:
    """Write scores as a run, completely or not at all; a document with a score of −∞ was not retrieved."""
    qids = documents.run_qids()
    number, names = documents.query_of_document(), np.array(documents.run_ids(), dtype=object)
    listed = scores > -np.inf
    number = number[listed]
    with writing(path) as file:
        add_lines(file, number, [qids[q] for q in number.tolist()], names[listed].tolist(), scores[listed], tag)


def file_names(names: list[str]) -> dict[str, str]:
    """Return a file name for each name that every file system takes, also one that ignores case; all are different.

    Examples
    --------
    >>> file_names(["listnet", "mine:Ranker", "mine_ranker", "../x"])
    {'listnet': 'listnet', 'mine:Ranker': 'mine_Ranker', 'mine_ranker': 'mine_ranker-2', '../x': '_x'}
    """
    found: dict[str, str] = {}
    taken: set[str] = set()
    for name in names:
        safe = re.sub(r"[^A-Za-z0-9_-]+", "_", name).lstrip("-")[:80] or "_"
        number, tried = 1, safe
        while tried.lower() in taken:
            number += 1
            tried = f"{safe}-{number}"
        taken.add(tried.lower())
        found[name] = tried
    return found
