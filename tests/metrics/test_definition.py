from __future__ import annotations

import itertools
import pickle

import pytest

from podium.metrics import CONVENTIONS, FAMILIES, Metric, metric

FORMS = [f.named(k) for f in FAMILIES.values() for k in (None, 5) if f.cutoff != ("required" if k is None else "none")]


def test_every_metric_parses_what_it_prints() -> None:
    seen = set()
    for form, rules in itertools.product(FORMS, CONVENTIONS):
        m = metric(form, rules)
        assert (m.name, m.convention, str(m)) == (form, rules, f"{form} ({rules})")
        assert metric(str(m)) == m
        assert eval(repr(m), {"metric": metric}) == m
        seen.add(m)
    assert len(seen) == len(FORMS) * len(CONVENTIONS)


@pytest.mark.parametrize(
    ("alias", "name"),
    [
        *(("NDCG@10", "ndcg@10"), (" map ", "map"), ("ap", "map"), ("map@7", "ap@7"), ("recall@5", "r@5")),
        *(("rbp.80", "rbp"), ("rbp.950@3", "rbp.95@3"), ("success@5", "hit@5")),
        *(("precision@1", "p@1"), ("rr", "mrr"), ("kendall", "tau"), ("mean-ndcg", "meanndcg"), ("p@010", "p@10")),
    ],
)
def test_other_names(alias: str, name: str) -> None:
    assert metric(alias) == metric(name)
    assert metric(alias).name == name


def test_metrics_are_equal_only_if_all_facts_are() -> None:
    assert metric("err") != metric("err", max_grade=4)
    assert metric("err", "yahoo") == metric("err", "yahoo", max_grade=4)
    assert metric("map", no_relevant="zero") == metric("map")
    assert str(metric("map", no_relevant="skip")) == "map (standard+no_relevant=skip)"
    assert metric("map (standard+no_relevant=skip)") == metric("map", no_relevant="skip")
    assert len({metric("map"), metric("map", "letor"), metric("MAP", "standard")}) == 2


def test_metrics_travel_to_other_processes() -> None:
    m = metric("err@5", "letor", max_grade=4)
    assert pickle.loads(pickle.dumps(m)) == m


def test_a_metric_is_a_metric() -> None:
    m = metric("ndcg@3", "letor")
    assert metric(m) is not None
    assert metric(m) == m
    assert metric(m, "trec") == metric("ndcg@3", "trec")
    with pytest.raises(AttributeError):
        m.cutoff = 4  # type: ignore[misc]
    assert isinstance(hash(m), int)
    assert isinstance(m, Metric)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ndgc@10", r"no metric is called 'ndgc@10'; there are map, .*Did you mean ndcg\?"),
        ("banana", r"there are map, bpref, .*, ap@k, .* mrr@k, and those made with podium.metrics.define\.$"),
        ("rbp.0", r"must be above 0, as in rbp\.95"),
        ("map.5", "no metric is called"),
        ("mine:right", "only on the command line; pass the metric itself"),
        ("p", "'p' needs a cutoff, as in p@10"),
        ("tau@5", "tau looks at the whole list"),
        ("ndcg@0", "cutoff of 'ndcg@0' must be a whole number from 1 on"),
        ("ndcg@1.5", "whole number"),
        ("ndcg@", "whole number"),
        ("ndcg (leter)", "Did you mean letor"),
    ],
)
def test_errors(name: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        metric(name)


def test_two_conventions_at_once() -> None:
    assert metric("map (letor)", "letor") == metric("map", "letor")
    with pytest.raises(ValueError, match="names one convention and convention='trec' another"):
        metric("map (letor)", "trec")
