"""Searches: what they try, that nothing but seed and validation values decides it, and what a run makes of it."""

from __future__ import annotations

import math
import pickle
import sys
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.base import BaseEstimator

import podium
from podium.experiments.plan.methods import StudyMethod
from podium.experiments.plan.search import Search
from podium.experiments.run import executor
from podium.experiments.run.workers import InProcess
from podium.rankers.methods import METHODS, Method
from podium.rankers.spaces import Choice, LogUniform, Uniform, as_space


class Toy(BaseEstimator):
    """Scores by the first feature and some noise that depends on the seed; nothing to learn."""

    def __init__(self, power=1.0, noise=0.5, sign=1, random_state=0):
        self.power, self.noise, self.sign, self.random_state = power, noise, sign, random_state

    def fit(self, queries, eval_set=None, eval_metric=None):
        if self.power > 5.0:
            raise ValueError("too much power")
        return self

    def predict(self, queries):
        x = np.abs(np.asarray(queries.features[:, 0], float)) ** self.power
        return self.sign * x + self.noise * np.random.default_rng(self.random_state).random(len(x))


TOY = Method(
    "toy",
    Toy,
    *("by the first feature", "nobody", "floor"),
    {"power": LogUniform(0.1, 1.0, 4.0), "noise": Uniform(0.0, 2.0), "sign": [1, -1]},
    stochastic=True,
)


@pytest.fixture(autouse=True)
def toy(monkeypatch):
    monkeypatch.setitem(METHODS, "toy", TOY)


def method(**grid):
    return StudyMethod("toy", Toy, grid, takes_seed=True)


def drain(settings, worth=lambda setting: 0.0):
    """Return all settings of a search, each told its value before the next is asked for."""
    found = []
    while (setting := settings.ask()) is not None:
        settings.tell(setting, worth(setting))
        found.append(setting)
    return found


def run(queries, **options):
    return podium.compare(queries, ["toy"], **({"metrics": ["map"], "jobs": 1, "folds": 3} | options))


def test_spaces():
    rng = np.random.default_rng(0)
    drawn = [LogUniform(1e-4, 1e-2, 1.0).draw(rng) for _ in range(300)]
    assert 1e-4 <= min(drawn) < 1e-3 < 0.1 < max(drawn) <= 1.0
    assert 60 < sum(value < 1e-2 for value in drawn) < 240  # evenly over the logarithms: about a half
    assert {type(Uniform(1, 9).draw(rng)) for _ in range(9)} == {int}
    assert {Choice("a", None).draw(rng) for _ in range(30)} == {"a", None}
    assert as_space([1, 2]) == Choice(1, 2) == (1, 2)
    assert repr(pickle.loads(pickle.dumps(LogUniform(0.1, 1.0)))) == "LogUniform(0.1, 1.0)"
    for nothing_positive in ((-1.0, 1.0), (0.0,)):
        with pytest.raises(ValueError, match="positive"):
            LogUniform(*nothing_positive)


def test_zero_is_drawn_about_as_often_as_a_value_of_the_grid():
    space, rng = LogUniform(0.0, 1e-2, 1e-1, 1.0, 10.0), np.random.default_rng(0)
    drawn = np.array([space.draw(rng) for _ in range(400)])
    assert 0.2 < np.mean(drawn == 0) < 0.3  # a quarter of the decades from 1e-3 to 10
    assert drawn[drawn > 0].min() >= 1e-2
    assert drawn.max() <= 10.0
    trial = SimpleNamespace(suggest_float=lambda name, low, high, log: (low, high, log)[0])
    assert space.suggest(trial, "l2") == 0.0  # the lowest end that Optuna knows


def test_a_grid_is_all_combinations_with_one_seed():
    found = drain(Search().settings(method(a=[1, 2], b=LogUniform(0.1, 1.0)), seed=5))
    assert [(c.parameters["a"], c.parameters["b"]) for c in found] == [(1, 0.1), (1, 1.0), (2, 0.1), (2, 1.0)]
    assert [c.number for c in found] == list(range(4))
    assert {c.seed for c in found} == {5}


def test_random_search_has_the_same_budget_for_all_and_repeats_nothing():
    search = Search("random", 7)
    wide = drain(search.settings(method(a=LogUniform(0.1, 1.0), b=[1, 2]), seed=0))
    assert len(wide) == len({repr(c.parameters) for c in wide}) == 7
    assert wide == drain(search.settings(method(a=LogUniform(0.1, 1.0), b=[1, 2]), seed=0))
    assert wide != drain(search.settings(method(a=LogUniform(0.1, 1.0), b=[1, 2]), seed=1))
    some = drain(search.settings(method(a=list(range(9))), seed=0))
    assert len({c.parameters["a"] for c in some}) == 7
    few = drain(search.settings(method(a=[1, 2, 3]), seed=0))  # fewer settings than trials: each once
    assert [c.parameters["a"] for c in few] == [1, 2, 3]


def test_bayesian_search_learns_and_can_be_replayed():
    pytest.importorskip("optuna")
    search = Search("bayes", 25)

    def worth(setting):
        return math.nan if setting.number == 3 else -abs(math.log10(setting.parameters["a"]) + 2.0)

    space = method(a=LogUniform(1e-6, 1.0), b=["x", None])
    first = drain(search.settings(space, seed=0), worth)
    assert len(first) == 25
    assert first == drain(search.settings(space, seed=0), worth)
    late = np.mean([worth(c) for c in first[15:]])
    assert late > np.nanmean([worth(c) for c in first[:10]])
    waiting = search.settings(space, seed=0)
    assert waiting.ask() is not None
    assert waiting.ask() is None  # the next depends on what this one is worth


def test_without_optuna_the_error_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'podium-rank\[search\]'"):
        Search("bayes")


class LastFirst(InProcess):
    """Up to three tasks are under way, and the one that began last ends first."""

    def outcomes(self, tasks):
        waiting, under_way = iter(tasks), []
        while True:
            while len(under_way) < 3 and (task := next(waiting, None)) is not None:
                under_way.append(task)
            if not under_way:
                return
            yield from super().outcomes([under_way.pop()])


@pytest.mark.parametrize("strategy", ["random", "bayes"])
def test_the_order_in_which_trials_end_changes_nothing(queries, strategy, monkeypatch):
    if strategy == "bayes":
        pytest.importorskip("optuna")
    options = {"search": strategy, "budget": 4, "seeds": 2}
    in_order = run(queries, **options)
    monkeypatch.setattr(executor, "InProcess", LastFirst)
    other = run(queries, **options)
    assert [(r.method, r.fold, r.seed) for r in in_order.results] == [(r.method, r.fold, r.seed) for r in other.results]
    for one, two in zip(in_order.results, other.results, strict=True):
        assert (one.parameters, one.validation, one.per_query) == (two.parameters, two.validation, two.per_query)
        assert [c.parameters for c in one.trials] == [c.parameters for c in two.trials]


def test_a_larger_budget_goes_on_from_the_smaller(queries, tmp_path):
    small = run(queries, search="random", budget=3, out=tmp_path)
    told = []
    listener = type("Listener", (), {"note": told.append, "start": None, "finished": None})()
    listener.start = lambda total, done: told.append((total, done))
    listener.finished = lambda *_: None
    large = run(queries, search="random", budget=5, out=tmp_path, progress=listener)
    assert (15 + 6, 9 + 6) in told  # three folds; the two floors have one trial each
    assert "new run: search changed" in told[0]
    tried = [[c.parameters for c in r.trials] for r in large.results if r.method == "toy"]
    assert [t[:3] for t in tried] == [[c.parameters for c in r.trials] for r in small.results[:3]]


def test_a_setting_that_was_drawn_may_fail_and_is_logged(queries, monkeypatch):
    wild = Method("toy", Toy, "", "", "floor", {"power": LogUniform(0.1, 100.0)})
    monkeypatch.setitem(METHODS, "toy", wild)
    comparison = run(queries, search="random", budget=8)
    assert comparison.failed == []
    errors = comparison.trials.filter(method="toy")["error"]
    assert 0 < errors.null_count() < len(errors)
    assert set(errors.drop_nulls()) == {"ValueError: too much power"}
    assert run(queries).failed == ["toy"]  # a setting of a grid is meant to work


def test_seeds_are_averaged_and_their_spread_is_told_apart(queries):
    comparison = run(queries, seeds=3, random_state=4)
    assert comparison.seeds == [4, 5, 6]
    rows = {row.method: row for row in comparison.rows}
    assert [r.seed for r in rows["toy"].results] == [4, 5, 6] * 3
    assert len(rows["best-feature"].results) == 3  # there is nothing random in it
    assert rows["best-feature"].seed_spread == {}
    by_seed = [comparison.figure("toy", "map", seed) for seed in (4, 5, 6)]
    assert len(set(by_seed)) > 1
    assert rows["toy"].estimates["map"].mean == pytest.approx(np.mean(by_seed))
    assert rows["toy"].seed_spread["map"] == pytest.approx(np.std(by_seed, ddof=1))
    assert len(comparison.values("toy", "map")) == 30
    alone = run(queries, random_state=4)  # the same folds, one of the seeds
    assert alone.values("toy", "map").tolist() == comparison.values("toy", "map", 4).tolist()
    assert comparison.table()["map sd of seeds"].null_count() == 1
