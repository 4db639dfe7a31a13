"""Every family under every convention against a slow reference that writes the definitions down.

The reference enumerates all orders of tied documents (lists have at most six), takes the value of each strict order by
its textbook formula, and averages where the convention says so.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from podium.metrics import CONVENTIONS, Convention, Metric, convention, metric

NAMES = [
    *("ndcg", "ndcg@1", "ndcg@3", "ndcg@8", "dcg", "dcg@2", "dcg@8", "meanndcg"),
    *("map", "ap@1", "ap@3", "ap@8", "p@1", "p@2", "p@3", "p@8", "r@1", "r@3", "r@8"),
    *("mrr", "mrr@2", "mrr@8", "err", "err@1", "err@2", "err@8"),
    *("f1", "f1@1", "f1@3", "f1@8", "rprec", "hit@1", "hit@2", "hit@8", "rbp", "rbp@2", "rbp.95", "rbp.5@8"),
]
NOTHING = {"zero": 0.0, "half": 0.5, "one": 1.0, "skip": math.nan}


def gain(y: float, rules: Convention) -> float:
    if y <= 0:
        return 0.0
    return y if rules.gain == "linear" else 2**y - 1


def discount(i: int, rules: Convention) -> float:
    if rules.discount == "letor":
        return 1.0 if i <= 2 else 1 / math.log2(i)
    return 1 / math.log2(1 + i)


def dcg(grades: list[float], k: int, rules: Convention) -> float:
    return sum(gain(y, rules) * discount(i, rules) for i, y in enumerate(grades[:k], 1))


def of_strict_order(m: Metric, listed: list[float], labels: list[float], max_grade: float) -> float:
    """A metric of the listed grades, best first; ``labels`` are those of all documents, listed or not."""
    rules, n = m.rules, len(labels)
    k = n if m.cutoff is None else m.cutoff
    relevant = [y >= rules.relevant_from for y in listed]
    n_relevant = sum(y >= rules.relevant_from for y in labels)
    best = sorted(labels, reverse=True)
    nothing = NOTHING[rules.no_relevant]
    nothing_found = math.nan if rules.no_relevant == "skip" else 0.0
    if m.family in ("ndcg", "dcg", "meanndcg", "condensed-ndcg"):
        if not any(gain(y, rules) > 0 for y in labels):
            return nothing_found if m.family == "dcg" else nothing
        if m.family == "dcg":
            return dcg(listed, k, rules)
        ranks = range(1, n + 1) if m.family == "meanndcg" else [k]
        ndcg = [dcg(listed, i, rules) / dcg(best, i, rules) for i in ranks]
        if rules.short_ndcg == "zero" and (m.family == "meanndcg" or m.cutoff is not None):
            ndcg = [0.0 if i > len(listed) else value for i, value in zip(ranks, ndcg, strict=True)]
        return sum(ndcg) / len(ndcg)
    if m.family == "err":
        if max(labels, default=0) <= 0:
            return nothing_found
        total, reached = 0.0, 1.0
        for i, y in enumerate(listed[:k], 1):
            stop = max(y, 0) if rules.stop == "label" else (2 ** max(y, 0) - 1) / 2**max_grade
            total += reached * stop / i
            reached *= 1 - stop
        return total
    if n_relevant == 0:
        if m.family == "map":
            return NOTHING[rules.no_relevant_ap or rules.no_relevant]
        return nothing if m.family in ("r", "rprec", "bpref") else nothing_found
    hits = list(itertools.accumulate(relevant)) or [0]
    found = hits[min(k, len(listed)) - 1] if listed else 0
    if m.family in ("p", "f1"):
        clipped = rules.short_precision == "clip" or m.cutoff is None
        precision = found / (min(k, len(listed)) or 1) if clipped else found / k
        if rules.short_precision == "zero" and k > len(listed) and m.cutoff is not None:
            precision = 0.0
        if m.family == "p":
            return precision
        recall = found / n_relevant
        return 2 * precision * recall / (precision + recall) if precision > 0 else 0.0
    if m.family == "r":
        return found / n_relevant
    if m.family == "rprec":
        return sum(relevant[:n_relevant]) / n_relevant
    if m.family == "hit":
        return float(any(relevant[:k]))
    if m.family == "rbp":
        return (1 - m.parameter) * sum(m.parameter**i for i, r in enumerate(relevant[:k]) if r)
    if m.family == "bpref":
        others = [sum(not other for other in relevant[:i]) for i, r in enumerate(relevant) if r]
        most = min(n - n_relevant, n_relevant)
        return sum(1 - min(above, n_relevant) / most if above else 1.0 for above in others) / n_relevant
    precisions = [h / i for i, (h, r) in enumerate(zip(hits, relevant, strict=False), 1) if r and i <= k]
    if m.family == "map":
        return sum(precisions) / (min(n_relevant, k) if rules.ap_cutoff == "min" else n_relevant)
    assert m.family == "mrr"
    ranks = [i for i, r in enumerate(relevant[:k], 1) if r]
    return 1 / ranks[0] if ranks else 0.0


def expected(m: Metric, labels: list[float], scores: list[float], ids: list[str], max_grade: float) -> float:
    rows = [i for i in range(len(labels)) if scores[i] > -math.inf]
    if m.rules.ties == "average":
        groups = [[i for i in rows if scores[i] == s] for s in sorted({scores[i] for i in rows}, reverse=True)]
        choices = itertools.product(*map(itertools.permutations, groups))
        orders = [list(itertools.chain(*parts)) for parts in choices]
    elif m.rules.ties == "row":
        orders = [sorted(rows, key=lambda i: -scores[i])]
    elif m.rules.ties == "worst":
        orders = [sorted(rows, key=lambda i: (-scores[i], labels[i]))]
    else:  # Python's sort is stable in reverse too: sort by id first
        orders = [sorted(sorted(rows, key=lambda i: ids[i], reverse=True), key=lambda i: -scores[i])]
    values = [of_strict_order(m, [labels[i] for i in order], labels, max_grade) for order in orders]
    return sum(values) / len(values)


def random_lists(seed: int, grades: list[float], n_lists: int = 40):
    """Short lists: many ties, some documents not retrieved, some lists empty or without a relevant document."""
    generator = np.random.default_rng(seed)
    for _ in range(n_lists):
        n = int(generator.integers(0, 7))
        labels = generator.choice(grades, n) * (generator.random() > 0.15)
        scores = generator.integers(0, max(n // 2, 1) + 1, n).astype(float)
        scores[generator.random(n) < 0.1] = -math.inf
        yield labels.tolist(), scores.tolist(), [f"d{x}" for x in generator.permutation(n)]


CASES = [
    *CONVENTIONS.values(),
    *(convention(f"{base}+no_relevant=skip") for base in ("standard", "letor")),
    convention("yahoo+no_relevant=half"),
    # Facts that no built-in convention combines.
    replace(CONVENTIONS["letor"], name="letor, averaged", ties="average", ap_cutoff="min"),
    replace(CONVENTIONS["standard"], name="clipped", short_precision="clip", relevant_from=0.0, discount="letor"),
    replace(CONVENTIONS["mslr"], name="zero and averaged", ties="average", short_precision="zero", gain="linear"),
]


@pytest.mark.parametrize("rules", CASES, ids=str)
def test_all_families(rules: Convention) -> None:
    grades = [0.0, 0.25, 0.5, 1.0] if rules.stop == "label" else [0.0, 0.0, 1.0, 2.0, 2.5, 4.0]
    lists = list(random_lists(7, grades))
    labels, scores, ids = ([x for one in lists for x in one[part]] for part in range(3))
    offsets = np.cumsum([0, *(len(one[0]) for one in lists)])
    max_grade = max(labels) if rules.max_grade is None else rules.max_grade
    for name in NAMES:
        m = metric(name, rules)
        wanted = [expected(m, *one, max_grade) for one in lists]
        for dtype in (np.float32, np.float64):
            found = m.per_query(np.array(scores, dtype), labels, offsets, ids)
            np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14, err_msg=str(m))


@pytest.mark.parametrize("rules", [*CONVENTIONS.values(), convention("standard+no_relevant=skip")], ids=str)
def test_families_of_judged_documents(rules: Convention) -> None:
    """They are those of the lists without the documents that were not judged."""
    generator = np.random.default_rng(5)
    lists = list(random_lists(9, [0.0, 0.25, 1.0] if rules.stop == "label" else [0.0, 0.0, 1.0, 2.0]))
    labels, scores, ids = ([x for one in lists for x in one[part]] for part in range(3))
    judged = generator.random(len(labels)) < 0.6
    offsets = np.cumsum([0, *(len(one[0]) for one in lists)])
    for name in ("bpref", "condensed-ndcg", "condensed-ndcg@2", "condensed-ndcg@8"):
        m = metric(name, rules)
        condensed = [
            [[x for x, known in zip(part, judged[a:], strict=False) if known] for part in one]
            for one, a in zip(lists, offsets, strict=False)
        ]
        wanted = [expected(m, *one, max(labels)) for one in condensed]
        unjudged = np.where(judged, labels, np.nan)  # their labels are never looked at
        found = m.per_query(scores, unjudged, offsets, ids, judged=judged)
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-14, err_msg=str(m))


def test_all_metrics_at_once_are_those_one_by_one() -> None:
    from podium.metrics.measuring import measure

    lists = list(random_lists(3, [0.0, 1.0, 2.0, 3.0]))
    labels, scores = ([x for one in lists for x in one[part]] for part in range(2))
    offsets = np.cumsum([0, *(len(one[0]) for one in lists)])
    metrics = [metric(name, rules) for name in [*NAMES, "tau", "accuracy"] for rules in ("standard", "letor")]
    together = measure(metrics, scores, labels, offsets)
    for i, m in enumerate(metrics):
        np.testing.assert_array_equal(together[:, i], m.per_query(scores, labels, offsets), err_msg=str(m))


def test_long_lists() -> None:
    """Lists beyond every switch of method in the kernels: cutoffs of both kinds, sorting by merging, tied blocks."""
    generator = np.random.default_rng(0)
    labels = generator.integers(0, 5, 3000).astype(float)
    for scores in (generator.normal(size=3000), np.repeat(generator.permutation(100.0 * np.arange(150)), 20)):
        order = np.argsort(-scores, kind="stable")
        for name in ("ndcg", "ndcg@10", "ndcg@64", "ndcg@65", "map", "ap@50", "p@10", "mrr", "err", "err@10"):
            m = metric(name, "letor")
            wanted = of_strict_order(m, labels[order].tolist(), labels.tolist(), 4.0)
            found = m.per_query(scores, labels, [0, 3000])[0]
            assert found == pytest.approx(wanted, rel=1e-12), name


def test_averaging_converges_to_the_mean_over_random_orders() -> None:
    """The exact expectations on a list that cannot be enumerated: within four standard errors of a sampled mean."""
    generator = np.random.default_rng(1)
    n, n_samples = 40, 4000
    labels = generator.integers(0, 4, n).astype(float)
    scores = generator.integers(0, 3, n).astype(float)
    jitter = np.tile(scores, n_samples) + 0.5 * generator.random(n * n_samples)
    offsets = n * np.arange(n_samples + 1)
    for name in ("ndcg", "ndcg@10", "map", "ap@10", "mrr", "err", "err@10", "p@10", "r@10", "meanndcg", "hit@3", "rbp"):
        sampled = metric(name).per_query(jitter, np.tile(labels, n_samples), offsets)
        error = sampled.std() / math.sqrt(n_samples)
        assert metric(name).per_query(scores, labels, [0, n])[0] == pytest.approx(sampled.mean(), abs=4 * error), name
