"""Whether an exported model gives the order that Podium gives, on data."""

import math
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from podium.data.normalize import WITHIN_QUERY
from podium.data.queries import Queries
from podium.export.portable import unwrapped
from podium.export.target import Target, find
from podium.numerics.compiling import njit
from podium.scorers import MLPModel, Model, TreesModel
from podium.scorers.thresholds import StepModel

__all__ = ["ExportCheck", "PairOfDocuments", "check_export"]

_ROWS = 50_000
"""Documents scored at once."""
_EPSILON = float(np.finfo(np.float32).eps)
_ROUNDING = 1e-6
"""Times what float32 does not tell apart: differences that may be rounding errors of float64 sums."""


@dataclass(frozen=True)
class PairOfDocuments:
    """Two documents of a query that Python and the target put in different order.

    Parameters
    ----------
    query : Any
        Id of the query.
    documents : tuple
        Ids, or where there are none, rows of the data counted from 1; the one that Python puts first comes first.
    python, target : tuple of float
        Their scores, here and there.

    Examples
    --------
    >>> from podium.export import PairOfDocuments
    >>> pair = PairOfDocuments("q1", documents=("d3", "d7"), python=(0.5, 0.4), target=(0.5, 0.5))
    >>> pair.documents, pair.target
    (('d3', 'd7'), (0.5, 0.5))
    """

    query: Any
    documents: tuple[Any, Any]
    python: tuple[float, float]
    target: tuple[float, float]


@dataclass(frozen=True)
class ExportCheck:
    """How scores and order of an exported model compare with Python's on the same documents.

    It is true if the order is the same; printing it says what differs.

    Parameters
    ----------
    format : str
        Of the exported model.
    by : str
        What scored the documents: the name of a package or a database, or ``"emulation"``.
    emulated : bool
        Whether the target does not run here, and FILE was read back in the target's arithmetic instead.
    n_queries, n_documents : int
        What was scored.
    largest_score : float
        Without regard to sign, in Python.
    largest_difference : float
        Between the scores of a document, a constant left aside that the target leaves out.
    constant : float
        What all scores of the target lack, if it leaves out the intercept of linear models.
    tie : float
        Scores that differ by at most this much count as tied: float32 does not tell them apart after all additions.
    n_pairs : int
        Pairs of documents of one query whose scores differ in Python, by more than float64 rounds.
    n_differing : int
        How many of these are further apart than a tie, and yet the target ties them or puts them in the other order.
    n_differing_rounded : int
        How many of these if Python's features are rounded to float32 too, as targets do.
    n_differing_ties : int
        How many pairs are no further apart than a tie, and the target ties them or puts them in the other order.
    n_undefined : int
        Documents without a score in the target.
    differing : tuple of PairOfDocuments
        The first of those that differ.

    Examples
    --------
    >>> import podium, tempfile
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=2, random_state=0)
    >>> model = podium.ListNet().fit(queries)
    >>> path = podium.export(model, f"{tempfile.mkdtemp()}/model.json", format="solr")[0]
    >>> check = podium.check_export(model, path, queries, format="solr")[0]
    >>> bool(check), check.n_differing, check.by
    (True, 0, 'emulation')
    """

    format: str
    by: str
    emulated: bool
    n_queries: int
    n_documents: int
    largest_score: float
    largest_difference: float
    constant: float
    tie: float
    n_pairs: int
    n_differing: int
    n_differing_rounded: int
    n_differing_ties: int
    n_undefined: int
    differing: tuple[PairOfDocuments, ...]

    def __bool__(self) -> bool:
        """Return whether the order is the same: no pairs differ but ties, and these are at most one pair in 100."""
        return self.n_differing == 0 and self.n_undefined == 0 and not self._too_coarse

    @property
    def _too_coarse(self) -> bool:
        return self.n_differing_ties > 0.01 * self.n_pairs

    def as_dict(self) -> dict[str, Any]:
        """Return everything as plain values, with ``same_order``, for JSON."""
        return asdict(self) | {"same_order": bool(self)}

    def __str__(self) -> str:
        how = f"emulated in Python ({self.format} does not run here)" if self.emulated else f"scored by {self.by}"
        lines = [
            f"{self.n_documents:,} documents of {self.n_queries:,} queries, {how}:",
            f"  largest difference of scores: {self.largest_difference:.3g}, of scores up to {self.largest_score:.3g}",
        ]
        if self.constant:
            lines.append(f"  all scores lack the constant {self.constant:.6g}, which does not change the order")
        if self.n_undefined:
            lines.append(f"  DOCUMENTS WITHOUT A SCORE there: {self.n_undefined:,}")
        if self._too_coarse:
            lines.append(
                f"  TOO COARSE: {self.n_differing_ties:,} of {self.n_pairs:,} pairs of documents are lost because "
                f"float32 does not tell apart scores that differ by {self.tie:.2g}. Subtract a constant from features "
                "that are large everywhere, in the training data and in the target"
            )
        elif self.n_differing_ties:
            lines.append(f"  pairs in a different order, but tied in float32: {self.n_differing_ties:,}")
        if self.n_differing == 0:
            lines.append(f"  pairs of documents in a different order: 0 of {self.n_pairs:,}")
            return "\n".join(lines)
        lines.append(f"  PAIRS OF DOCUMENTS IN A DIFFERENT ORDER: {self.n_differing:,} of {self.n_pairs:,}")
        if self.n_differing_rounded < self.n_differing:
            lines.append(
                f"  {self.n_differing - self.n_differing_rounded:,} of them because features are rounded to float32 "
                "there, and these data have more digits"
            )
        for pair in self.differing:
            (first, second), here, there = pair.documents, pair.python, pair.target
            scores = "Python {:.9g}, {:.9g}; there {:.9g}, {:.9g}".format(*here, *there)
            lines.append(f"    query {pair.query}: {first} is above {second} in Python, but not there ({scores})")
        if self.n_differing > len(self.differing):
            lines.append(f"    and {self.n_differing - len(self.differing):,} more")
        return "\n".join(lines)


def check_export(
    model: Any, path: str | os.PathLike[str], queries: Queries, *, format: str, n_shown: int = 20
) -> list[ExportCheck]:
    """Compare an exported model's scores and order with Podium's.

    Documents are scored by the target itself where it runs in Python (onnxruntime, XGBoost, LightGBM, SQLite, DuckDB);
    for a search engine, the file is read back and evaluated in the engine's arithmetic.

    Parameters
    ----------
    model : fitted ranker
        What was exported.
    path : path
        The file that :func:`podium.export` wrote.
    queries : Queries
        Documents to score; labels are not used.
    format : str
        As given to :func:`podium.export`.
    n_shown : int
        How many differing pairs are named.

    Returns
    -------
    list of ExportCheck
        One for each system that scored the documents; true if no pair of documents is in a different order. Scores
        count as tied if they differ by no more than float32 can tell after the additions that the model makes.

    Examples
    --------
    >>> import podium, tempfile
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=2, random_state=0)
    >>> model = podium.LambdaMART(n_trees=5, random_state=0).fit(queries)
    >>> path = podium.export(model, f"{tempfile.mkdtemp()}/model.txt", format="lightgbm")[0]
    >>> all(podium.check_export(model, path, queries, format="lightgbm"))
    True
    """
    ranker, target = unwrapped(model), find(format)
    ranker._require_fitted()
    features = queries.features if isinstance(queries.features, np.ndarray) else queries.features.toarray()
    rounded = features.astype(np.float32)
    # What is rescaled within a query is rounded to the type of the features, which is float32 in the target.
    features = rounded if ranker.normalize in WITHIN_QUERY else features.astype(np.float64)
    scores = _predicted(ranker, queries, features)
    exact = np.array_equal(features, rounded, equal_nan=True)
    of_rounded = scores if exact else _predicted(ranker, queries, rounded.astype(np.float64))
    compare = _Comparison(target, queries, scores, of_rounded, _tie(target, ranker.model_, scores), n_shown)
    lists = queries.slices() if ranker._needs_lists() else _blocks(queries.n_documents)
    parts = [features[rows].astype(np.float64) for rows in lists if rows.start < rows.stop]
    checks, missing = [], None
    for by, run in target.runs.items():
        try:
            found = [run(Path(path), part) for part in parts]
        except ModuleNotFoundError as error:
            missing = error
            continue
        checks.append(compare.result(by, np.concatenate([np.empty(0), *found])))
    if checks:
        return checks
    if target.emulate is None:
        raise missing or ValueError(f"{target.title} cannot be checked here")
    found = [target.emulate(Path(path), part) for part in parts]
    return [compare.result("emulation", np.concatenate([np.empty(0), *found]))]


def _predicted(ranker: Any, queries: Queries, features: np.ndarray) -> np.ndarray:
    """Return Python's scores in the grouped order."""
    given = queries.with_features(features, queries.feature_names)
    return given.group(np.asarray(ranker.predict(given), np.float64))


def _blocks(n: int) -> list[slice]:
    return [slice(start, min(start + _ROWS, n)) for start in range(0, n, _ROWS)]


def _tie(target: Target, model: Model, scores: np.ndarray) -> float:
    """Return how far apart scores may be that float32 does not tell apart.

    A score that is rounded once is off by half the distance ε of float32 numbers; a sum of n terms added in float32 by
    about √n of that, and four times as much is hardly ever exceeded.
    """
    scale = _EPSILON * float(np.abs(scores).max(initial=0.0))
    return scale if target.precision == np.float64 else max(1.0, 2.0 * math.sqrt(_n_terms(model))) * scale


def _n_terms(model: Model) -> int:
    if isinstance(model, TreesModel):
        return model.n_trees
    if isinstance(model, StepModel):
        return len(model.weight)
    if isinstance(model, MLPModel):
        return int(model.shape[2:-1].sum())
    return model.n_features or 1


@dataclass(frozen=True)
class _Comparison:
    target: Target
    queries: Queries
    scores: np.ndarray
    of_rounded: np.ndarray
    tie: float
    n_shown: int

    def result(self, by: str, found: np.ndarray) -> ExportCheck:
        offsets, undefined = self.queries.offsets, np.isnan(found)
        constant = 0.0
        if self.target.constant_omitted and not undefined.all():
            constant = float(np.median((self.scores - found)[~undefined]))
            constant = constant if abs(constant) > self.tie else 0.0
        found = np.where(undefined, -np.inf, found)
        n_pairs, n_any = count_differing(self.scores, found, offsets, _ROUNDING * self.tie)
        n_differing = count_differing(self.scores, found, offsets, self.tie)[1] if n_any else 0
        n_differing_rounded = n_differing
        if n_differing and self.of_rounded is not self.scores:
            n_differing_rounded = count_differing(self.of_rounded, found, offsets, self.tie)[1]
        known = ~undefined
        return ExportCheck(
            format=self.target.name,
            by=by,
            emulated=by not in self.target.runs,
            n_queries=len(self.queries),
            n_documents=self.queries.n_documents,
            largest_score=float(np.abs(self.scores).max(initial=0.0)),
            largest_difference=float(np.abs(self.scores - found - constant)[known].max(initial=0.0)),
            constant=constant,
            tie=self.tie,
            n_pairs=n_pairs,
            n_differing=n_differing,
            n_differing_rounded=n_differing_rounded,
            n_differing_ties=n_any - n_differing,
            n_undefined=int(undefined.sum()),
            differing=tuple(islice(self._differing(found), self.n_shown)) if n_differing else (),
        )

    def _differing(self, found: np.ndarray) -> Iterator[PairOfDocuments]:
        """Yield the differing pairs, those of the highest scores in a query first."""
        named = self._names()
        for query, rows in zip(self.queries.qids.tolist(), self.queries.slices(), strict=True):
            order = np.argsort(-self.scores[rows], kind="stable") + rows.start
            mine, theirs = self.scores[order], found[order]
            # Does any document that is further below i than a tie score at least as high there as i?
            below = np.searchsorted(-mine, -mine + self.tie, side="right")
            highest_after = np.append(np.maximum.accumulate(theirs[::-1])[::-1], -np.inf)
            for i in np.flatnonzero((highest_after[below] >= theirs) & (below < len(order))).tolist():
                for j in (np.flatnonzero(theirs[below[i] :] >= theirs[i]) + below[i]).tolist():
                    yield PairOfDocuments(
                        query,
                        (named[order[i]], named[order[j]]),
                        (float(mine[i]), float(mine[j])),
                        (float(theirs[i]), float(theirs[j])),
                    )

    def _names(self) -> list[Any]:
        """Return what to call each document."""
        if self.queries.document_ids is not None:
            return list(np.asarray(self.queries.document_ids).tolist())
        rows = np.arange(1, self.queries.n_documents + 1)
        return [f"row {row}" for row in (rows if self.queries.order is None else self.queries.order + 1)]


def count_differing(scores: np.ndarray, found: np.ndarray, offsets: np.ndarray, tie: float) -> tuple[int, int]:
    """Return how many pairs of documents of one query have scores more than ``tie`` apart, and how many of these
    ``found`` puts in the other order or ties. Takes O(n log n) for a query of n documents.

    >>> count_differing(np.array([3.0, 2.0, 1.0]), np.array([5.0, 6.0, 4.0]), np.array([0, 3]), 0.5)
    (3, 1)
    """
    query = np.repeat(np.arange(len(offsets) - 1), np.diff(offsets))
    ascending = np.lexsort((scores, query))
    n_pairs, n_differing = _count_differing(scores, ascending, _places(found, query, offsets), offsets, tie)
    return int(n_pairs), int(n_differing)


def _places(values: np.ndarray, query: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    """Return each document's place among the ascending values of its query, from 1; equal values have the first."""
    order = np.lexsort((values, query))
    starts = np.ones(len(order), bool)
    starts[1:] = (query[order][1:] != query[order][:-1]) | (values[order][1:] != values[order][:-1])
    first = np.maximum.accumulate(np.where(starts, np.arange(len(order)), 0))
    places = np.empty(len(order), np.int64)
    places[order] = first - offsets[query[order]] + 1
    return places


@njit(cache=True, nogil=True, error_model="numpy")
def _count_differing(
    scores: np.ndarray, ascending: np.ndarray, places: np.ndarray, offsets: np.ndarray, tie: float
) -> tuple[int, int]:
    n_pairs, n_differing = 0, 0
    for q in range(len(offsets) - 1):
        start, n = offsets[q], offsets[q + 1] - offsets[q]
        counts = np.zeros(n + 1, np.int64)  # a Fenwick tree: how many of the documents seen have each place
        seen = 0
        for k in range(start, start + n):
            i = ascending[k]
            while scores[ascending[start + seen]] < scores[i] - tie:
                at = places[ascending[start + seen]]
                while at <= n:
                    counts[at] += 1
                    at += at & -at
                seen += 1
            lower, at = 0, places[i] - 1
            while at > 0:
                lower += counts[at]
                at -= at & -at
            n_pairs += seen
            n_differing += seen - lower
    return n_pairs, n_differing
