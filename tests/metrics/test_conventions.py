from __future__ import annotations

from dataclasses import replace

import pytest

from podium.metrics import CONVENTIONS, Convention, convention, metric


def test_names_of_the_built_in_conventions() -> None:
    assert list(CONVENTIONS) == [
        *("standard", "letor", "letor4", "mslr", "yahoo", "trec", "sklearn", "lightgbm", "xgboost", "catboost")
    ]
    assert all(convention(name) is not None and str(convention(name)) == name for name in CONVENTIONS)
    assert convention("LETOR") == CONVENTIONS["letor"]


def test_a_changed_convention_does_not_go_by_the_old_name() -> None:
    changed = replace(convention("mslr"), relevant_from=1.0, ties="average")
    assert changed.name == "mslr+relevant_from=1+ties=average"
    assert convention(changed.name) == changed
    assert replace(changed, relevant_from=2.0).name == "mslr+ties=average"
    assert replace(changed, relevant_from=2.0, ties="row") == CONVENTIONS["mslr"]
    assert convention("yahoo+max_grade=none").max_grade is None


def test_an_own_convention_keeps_its_name() -> None:
    own = replace(convention("letor"), name="ours", gain="linear")
    assert own.name == "ours"
    assert str(metric("ndcg@5", own)) == "ndcg@5 (ours)"
    assert Convention("empty").ties == "average"


def test_rule_for_queries_with_nothing_to_find_holds_for_all_metrics() -> None:
    assert CONVENTIONS["catboost"].with_no_relevant("skip").no_relevant_ap is None


def test_errors_name_what_there_is() -> None:
    with pytest.raises(ValueError, match=r"'leter'; there are standard, letor,.*Did you mean letor"):
        convention("leter")
    with pytest.raises(ValueError, match="gain must be one of 'exponential', 'linear'; got 'cubic'"):
        replace(convention("letor"), gain="cubic")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'colour=red' is not a change of a convention; write fact=value with one of"):
        convention("letor+colour=red")
