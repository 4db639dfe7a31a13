"""From arrays to metrics: tie breaking, threads, and one pass of the kernel for each convention."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import Any

import numpy as np

from podium.data.grouping import as_offsets
from podium.metrics.checks import as_column, as_labels, as_scores, explain
from podium.metrics.collapse import Collapse, show
from podium.metrics.collapse import trouble as cannot_collapse
from podium.metrics.conventions import Convention
from podium.metrics.correlation import correlate_queries
from podium.metrics.dcg import log_discounts
from podium.metrics.definition import Metric
from podium.metrics.kernel import FAMILY_CODES, OF_GAINS, OF_HITS, OF_STOPS, WHOLE_LIST, Asked, Rules, measure_queries
from podium.metrics.ranking import tied_documents

NORMALISED = ("ndcg", "meanndcg", "map", "r")
"""Families that are shares of what there is to find: where that is nothing, all of it may be said to be found."""
VALUE_OF_NOTHING = {"zero": 0.0, "half": 0.5, "one": 1.0, "skip": np.nan}
WORTH_SHARING = 100_000
"""Documents from which on threads are started: below, that would take as long as the work."""


def measure(
    metrics: Sequence[Metric],
    scores: Any,
    labels: Any,
    offsets: Any,
    document_ids: Any = None,
    name_query: Callable[[int], str] = "query number {}".format,
    collapse: Collapse | None = None,
) -> np.ndarray:
    """The metrics of each query, (n_queries, n_metrics) float64.

    The documents of query q are ``offsets[q]:offsets[q + 1]`` of ``scores``, ``labels``, ``document_ids`` and
    ``collapse.groups``.
    """
    offsets = as_offsets(offsets)
    n = int(offsets[-1])
    labels = as_labels(as_column(labels, n, "labels"))
    scores = as_scores(as_column(scores, n, "scores"))
    ids = None if document_ids is None else as_column(document_ids, n, "document_ids")
    values = np.empty((len(offsets) - 1, len(metrics)))
    for rules in dict.fromkeys(m.rules for m in metrics):
        chosen = [i for i, m in enumerate(metrics) if m.rules == rules]
        of_rules = [metrics[i] for i in chosen]
        values[:, chosen] = _under_one_convention(of_rules, rules, scores, labels, offsets, ids, name_query, collapse)
    return values


def _under_one_convention(
    metrics: list[Metric],
    rules: Convention,
    scores: np.ndarray,
    labels: np.ndarray,
    offsets: np.ndarray,
    document_ids: np.ndarray | None,
    name_query: Callable[[int], str],
    collapse: Collapse | None,
) -> np.ndarray:
    if rules.score_precision == "single":
        scores = _to_single(scores)
    keys, pool = _tie_keys(rules, scores, labels, offsets, document_ids), labels
    if collapse is not None:
        q, why = cannot_collapse(scores, labels, offsets)
        if why:
            of_query = slice(offsets[q], offsets[q + 1])
            raise ValueError(explain(why, name_query(q), scores[of_query], labels[of_query], 0.0, rules))
        # No mean over orders here: of tied documents that compete for a place, the worse is shown.
        choice = labels if rules.ties == "average" else keys
        scores, labels, offsets, keys, pool = show(collapse, scores, labels, offsets, keys, choice)
    on_ranking = [m for m in metrics if m.family in FAMILY_CODES]
    asked = _ask(on_ranking, rules)
    max_grade = _max_grade(rules, pool) if asked.stops else 0.0
    logs, undiscounted = log_discounts(int(np.diff(offsets).max(initial=0)), rules.discount == "letor")
    values = np.empty((len(offsets) - 1, len(on_ranking)))
    trouble = np.zeros(len(offsets) - 1, np.int64)
    in_parallel(  # for τ and accuracy alone too: this is what finds bad labels and scores
        measure_queries,
        offsets,
        scores,
        labels,
        offsets,
        keys,
        pool,
        asked,
        Rules(
            linear_gain=rules.gain == "linear",
            undiscounted=undiscounted,
            zero_ndcg_when_short=rules.short_ndcg == "zero",
            short_precision=("pad", "zero", "clip").index(rules.short_precision),
            relevant_from=float(rules.relevant_from),
            average_ties=rules.ties == "average",
            ap_divides_by_min=rules.ap_cutoff == "min",
            allow_negative=rules.negative == "zero",
            stop_by_label=rules.stop == "label",
            max_grade=float(max_grade),
            min_grade=0.0 if rules.stop == "label" else float(rules.min_grade),
        ),
        logs,
        values,
        trouble,
    )
    if trouble.any():
        q = int(np.flatnonzero(trouble)[0])
        of_query = slice(offsets[q], offsets[q + 1])
        raise ValueError(explain(int(trouble[q]), name_query(q), scores[of_query], labels[of_query], max_grade, rules))
    columns = dict(zip(on_ranking, values.T, strict=True))
    if len(on_ranking) < len(metrics):
        correlations = np.empty((len(offsets) - 1, 2))
        in_parallel(correlate_queries, offsets, scores, labels, offsets, correlations)
        columns |= {m: correlations[:, ("tau", "accuracy").index(m.family)] for m in metrics if m not in columns}
    return np.column_stack([columns[m] for m in metrics])


def in_parallel(kernel: Callable[..., None], offsets: np.ndarray, *arguments: Any) -> None:
    """Run ``kernel(first, stop, *arguments)`` on ranges of queries that make up all of them, on several threads.

    These are plain threads around kernels that let go of the interpreter: Numba's own parallel loops take twice as long
    to compile. Each query writes its own results, so the number of threads changes nothing.
    """
    from numba import get_num_threads

    n_queries, n_documents = len(offsets) - 1, int(offsets[-1])
    n_threads = get_num_threads() if n_documents >= WORTH_SHARING else 1
    if n_threads == 1:
        kernel(0, n_queries, *arguments)
        return
    inner = np.searchsorted(offsets, np.linspace(0, n_documents, 4 * n_threads + 1)[1:-1])
    with ThreadPoolExecutor(n_threads) as pool:
        parts = [pool.submit(kernel, *bounds, *arguments) for bounds in pairwise([0, *inner.tolist(), n_queries])]
    for part in parts:
        part.result()


def _ask(metrics: list[Metric], rules: Convention) -> Asked:
    families = np.array([FAMILY_CODES[m.family] for m in metrics], np.int64)
    cutoffs = np.array([WHOLE_LIST if m.cutoff is None else m.cutoff for m in metrics], np.int64)
    return Asked(
        families,
        cutoffs,
        nothing=np.array([_nothing(rules, m.family) for m in metrics], np.float64),
        depth=int(cutoffs.max(initial=0)),
        gain_depth=int(cutoffs[np.isin(families, OF_GAINS)].max(initial=0)),
        hit_depth=int(cutoffs[np.isin(families, OF_HITS)].max(initial=0)),
        stops=bool(np.isin(families, OF_STOPS).any()),
    )


def _nothing(rules: Convention, family: str) -> float:
    """A metric's value for a query that has nothing to find."""
    rule = rules.no_relevant_ap if family == "map" and rules.no_relevant_ap is not None else rules.no_relevant
    return VALUE_OF_NOTHING[rule] if rule == "skip" or family in NORMALISED else 0.0


def _max_grade(rules: Convention, labels: np.ndarray) -> float:
    if rules.stop == "label":
        return 1.0
    return float(labels.max(initial=0.0)) if rules.max_grade is None else rules.max_grade


def _tie_keys(
    rules: Convention, scores: np.ndarray, labels: np.ndarray, offsets: np.ndarray, document_ids: np.ndarray | None
) -> np.ndarray:
    """What tied documents are ordered by, ascending; empty for row order."""
    if rules.ties == "worst":
        return labels
    if rules.ties != "document_id" or document_ids is None:
        return np.empty(0)
    # Comparing strings is slow and ties are few.
    tied = np.zeros(len(scores), np.bool_)
    in_parallel(tied_documents, offsets, scores, offsets, tied)
    keys = np.zeros(len(scores))
    keys[tied] = -np.unique(_as_text(document_ids[tied]), return_inverse=True)[1]
    return keys


def _as_text(document_ids: np.ndarray) -> np.ndarray:
    """Ids as text: tools that order by id compare them character by character, numbers too."""
    return document_ids if document_ids.dtype.kind in "US" else np.array([str(x) for x in document_ids], dtype=np.str_)


def _to_single(scores: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        single = scores.astype(np.float32)
    # A document with a very low score has still been retrieved.
    single[np.isneginf(single) & ~np.isneginf(scores)] = np.finfo(np.float32).min
    return single
