"""From arrays to metrics: what is shown of each list, tie breaking, and one pass of the kernel per convention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from podium.core.arrays import Array
from podium.data.grouping import as_column, as_offsets
from podium.metrics.checks import NameQuery, require_grades, require_numbers
from podium.metrics.collapse import Collapse, show
from podium.metrics.conventions import Convention
from podium.metrics.family import Family
from podium.metrics.gains import log_discounts
from podium.metrics.kernel import Shown, Wanted, measure_queries
from podium.metrics.own import measure_own
from podium.metrics.ranked import WHOLE_LIST, CompiledRules, family_address
from podium.metrics.ranking import tied_documents
from podium.numerics.calls import pack
from podium.numerics.pool import share

if TYPE_CHECKING:
    from podium.metrics.definition import Metric

VALUE_OF_NOTHING = {"zero": 0.0, "half": 0.5, "one": 1.0, "skip": np.nan}
DOCUMENT_COST = 10.0
"""Nanoseconds per document and pass, roughly."""
COMPILED_FOR: tuple[Literal["C", "A", "W"], ...] = ("C", "A", "W")
"""For any other kind of array, such as a read-only column of a frame, kernels would be compiled again, for seconds."""


class ScoredLists(NamedTuple):
    """Documents grouped by query."""

    scores: Array
    labels: Array
    offsets: Array
    document_ids: Array | None
    collapse: Collapse | None

    def only(self, documents: Array) -> ScoredLists:
        """Return the lists with nothing but these documents, given as a mask."""
        ends = np.concatenate(([0], np.cumsum(documents)))[self.offsets]
        ids = None if self.document_ids is None else self.document_ids[documents]
        collapse = self.collapse and self.collapse._replace(groups=self.collapse.groups[documents])
        return ScoredLists(self.scores[documents], self.labels[documents], ends, ids, collapse)


def measure(
    metrics: Sequence[Metric],
    scores: Any,
    labels: Any,
    offsets: Any,
    document_ids: Any = None,
    name_query: NameQuery = "query number {}".format,
    collapse: Collapse | None = None,
    judged: Any = None,
) -> Array:
    """Return the metrics of each query, (n_queries, n_metrics) float64.

    The documents of query q are ``offsets[q]:offsets[q + 1]`` of ``scores``, ``labels``, ``document_ids``, ``judged``
    and ``collapse.groups``. Labels of documents that were not judged are taken to be 0.
    """
    offsets = as_offsets(offsets)
    n = int(offsets[-1])
    labels, scores = as_column(labels, n, "labels"), as_column(scores, n, "scores")
    if judged is not None:
        judged = as_column(judged, n, "judged")
        if judged.dtype != np.bool_:
            raise ValueError(f"judged must be True or False for each document; got {judged.dtype}")
        labels = np.where(judged, labels, 0.0)
    ids = None if document_ids is None else as_column(document_ids, n, "document_ids")
    scores = np.require(scores, np.float32 if scores.dtype == np.float32 else np.float64, COMPILED_FOR)
    lists = ScoredLists(scores, np.require(labels, np.float64, COMPILED_FOR), offsets, ids, collapse)
    values = np.empty((len(offsets) - 1, len(metrics)))
    for rules, judged_only in dict.fromkeys((m.rules, m.kind.judged_only) for m in metrics):
        chosen = [i for i, m in enumerate(metrics) if (m.rules, m.kind.judged_only) == (rules, judged_only)]
        together = [metrics[i] for i in chosen]
        if judged_only and judged is None:
            raise ValueError(
                f"{together[0].name} needs to know which documents were judged: "
                "evaluate(..., judged=mask), or evaluate(qrels, run)"
            )
        shown = lists.only(judged) if judged_only else lists
        values[:, chosen] = _under_one_convention(together, rules, shown, name_query)
    return values


def _under_one_convention(metrics: list[Metric], rules: Convention, lists: ScoredLists, name_query: NameQuery) -> Array:
    scores, labels, offsets, ids, collapse = lists
    if rules.score_precision == "single":
        scores = to_single(scores)
    require_numbers(scores, labels, offsets, name_query)
    shown = Shown(scores, labels, offsets, tie_keys(rules, scores, labels, offsets, ids), labels)
    if collapse is not None:
        # No mean over orders here: of tied documents that compete for a place, the worse is shown.
        shown = show(collapse, shown, labels if rules.ties == "average" else shown.keys)
    compiled = [m for m in metrics if not m.kind.is_own]
    wanted = _wanted(compiled, rules)
    max_grade = _max_grade(rules, shown.pool) if wanted.stops else 0.0
    require_grades(shown, wanted, rules, max_grade, name_query)
    logs, undiscounted = log_discounts(int(np.diff(shown.offsets).max(initial=0)), rules.discount == "letor")
    values = np.empty((len(offsets) - 1, len(compiled)))
    numbers = _as_numbers(rules, undiscounted, max_grade)
    packed = np.array(pack(numbers).words)
    work = DOCUMENT_COST * (1 + len(compiled)) * len(shown.labels)
    share(measure_queries, shown.offsets, shown, wanted, numbers, packed, logs, values, work=work)
    columns = dict(zip(compiled, values.T, strict=True))
    for m in metrics:
        if m.kind.is_own:
            columns[m] = measure_own(m, shown, _nothing(rules, m.kind), name_query)
    return np.column_stack([columns[m] for m in metrics])


def _wanted(metrics: list[Metric], rules: Convention) -> Wanted:
    families = [m.kind for m in metrics]
    cutoffs = np.array([WHOLE_LIST if m.cutoff is None else m.cutoff for m in metrics], np.int64)

    def deepest(*prepared: str) -> int:
        return int(cutoffs[[f.prepared in prepared for f in families]].max(initial=0))

    return Wanted(
        functions=np.array([family_address(f.function) for f in families], np.int64),
        cutoffs=cutoffs,
        parameters=np.array([m.parameter or 0.0 for m in metrics], np.float64),
        seeks=np.array([("gain", "relevant", "order").index(f.seeks) for f in families], np.int64),
        nothing=np.array([_nothing(rules, f) for f in families], np.float64),
        depth=deepest("", "gains", "hits"),
        gain_depth=deepest("gains"),
        hit_depth=deepest("hits"),
        scores=deepest("scores") > 0,
        stops=any(f.needs_max_grade for f in families),
    )


def _as_numbers(rules: Convention, undiscounted: int, max_grade: float) -> CompiledRules:
    """Return a convention as compiled functions have it; ``max_grade`` and ``undiscounted`` may depend on the data."""
    by_label = rules.stop == "label"
    return CompiledRules(
        linear_gain=rules.gain == "linear",
        zero_ndcg_when_short=rules.short_ndcg == "zero",
        average_ties=rules.ties == "average",
        ap_divides_by_min=rules.ap_cutoff == "min",
        stop_by_label=by_label,
        undiscounted=undiscounted,
        short_precision=("pad", "zero", "clip").index(rules.short_precision),
        relevant_from=float(rules.relevant_from),
        max_grade=float(max_grade),
        min_grade=0.0 if by_label else float(rules.min_grade),
    )


def _nothing(rules: Convention, family: Family) -> float:
    """Return the value of a query that has nothing to find."""
    rule = getattr(rules, family.no_relevant) or rules.no_relevant
    if family.seeks == "order" or rule == "skip":
        return np.nan
    return VALUE_OF_NOTHING[rule] if family.normalized else 0.0


def _max_grade(rules: Convention, labels: Array) -> float:
    if rules.stop == "label":
        return 1.0
    return float(labels.max(initial=0.0)) if rules.max_grade is None else rules.max_grade


def tie_keys(rules: Convention, scores: Array, labels: Array, offsets: Array, document_ids: Array | None) -> Array:
    """Return what tied documents are ordered by, ascending; empty for row order."""
    if rules.ties == "worst":
        return labels
    if rules.ties != "document_id" or document_ids is None:
        return np.empty(0)
    # Comparing strings is slow and ties are few.
    tied = np.zeros(len(scores), np.bool_)
    share(tied_documents, offsets, scores, offsets, tied, work=DOCUMENT_COST * len(scores))
    keys = np.zeros(len(scores))
    keys[tied] = -np.unique(_as_text(document_ids[tied]), return_inverse=True)[1]
    return keys


def _as_text(document_ids: Array) -> Array:
    """Return ids as text: tools that order by id compare them character by character, numbers too."""
    return document_ids if document_ids.dtype.kind in "US" else np.array([str(x) for x in document_ids], dtype=np.str_)


def to_single(scores: Array) -> Array:
    """Return scores in single precision; one that is too low for it stays above −∞."""
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    # A document with a very low score has still been retrieved.
    single[np.isneginf(single) & ~np.isneginf(scores)] = np.finfo(np.float32).min
    return single
