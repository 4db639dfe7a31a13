"""Trials of Optuna that end while a ranker is being fitted."""

from __future__ import annotations

import optuna
import pytest

import podium
import podium.optuna
from podium.training import Progress

QUERIES = podium.make_queries(n_queries=12, n_documents=6, n_features=3, random_state=0)


def test_a_trial_is_told_the_best_so_far_and_pruned_below_the_threshold():
    pruner = optuna.pruners.ThresholdPruner(lower=2.0, n_warmup_steps=2)  # no metric reaches 2
    study = optuna.create_study(direction="maximize", pruner=pruner)

    def objective(trial: optuna.Trial) -> float:
        callback = podium.optuna.PruningCallback(trial)
        podium.RankNet(max_iter=50).fit(QUERIES, eval_set=QUERIES, callback=callback)
        raise AssertionError("the fit went on")

    study.optimize(objective, n_trials=1)
    (trial,) = study.trials
    assert trial.state == optuna.trial.TrialState.PRUNED
    values = list(trial.intermediate_values.values())
    assert values == sorted(values)


def test_restarts_go_on_counting():
    trial = optuna.create_study(direction="maximize").ask()
    callback = podium.optuna.PruningCallback(trial)
    for iteration, value in ((1, 0.3), (2, 0.5), (1, 0.2)):
        callback(Progress(iteration, 1.0, value))
    assert trial.study.trials[0].intermediate_values == {1: 0.3, 2: 0.5, 3: 0.5}


def test_what_cannot_be_pruned_is_said():
    with pytest.raises(ValueError, match="direction='maximize'"):
        podium.optuna.PruningCallback(optuna.create_study().ask())
    with pytest.raises(ValueError, match="give fit an eval_set"):
        podium.optuna.PruningCallback(optuna.create_study(direction="maximize").ask())(Progress(1, 1.0))
