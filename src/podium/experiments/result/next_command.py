"""The command that makes a model of what a comparison picked."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core.user_objects import is_user_object
from podium.experiments.plan.blending import BLEND
from podium.experiments.run.carrying import over_folds
from podium.experiments.run.outcomes import Trial
from podium.rankers.methods import METHODS

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def train_command(comparison: Comparison) -> str | None:
    """Return the command that trains the pick on all data; None if there is no pick, or if only a program has it."""
    pick, configuration = comparison.pick, comparison.configuration
    documents = configuration.unit == "query"
    built_in = pick in (*METHODS, BLEND) if documents else pick and configuration.methods[pick].family != "own"
    if comparison.folder is None or pick is None or not (built_in or is_user_object(pick)):
        return None
    if configuration.estimated:
        return _on_log(comparison, pick)
    command = "podium train" if documents else "podium ratings train"
    return f"{command} --from-run {shlex.quote(str(comparison.folder))} -o model.podium"


def _on_log(comparison: Comparison, method: str) -> str | None:
    """Return the command for a log, if the run knows where that is."""
    start = comparison.reading.get("train")
    if start is None:
        return None
    settings = [f"--set {shlex.quote(f'{name}={value}')}" for name, value in best_setting(comparison, method).items()]
    return " ".join([start, f"--method {shlex.quote(method)}", *settings, "-o model.podium"])


def best_setting(comparison: Comparison, method: str) -> dict[str, Any]:
    """Return the setting that is best on the validation parts of all folds, with what these decided within fits."""
    tried: dict[str, list[Trial]] = {}
    for result in comparison.results_of(method):
        for trial in result.trials:
            if trial.error is None:
                tried.setdefault(repr(sorted(trial.parameters.items())), []).append(trial)
    if not tried:
        return {}
    most = max(map(len, tried.values()))  # a search that draws may try a setting on some folds only
    whole = [trials for trials in tried.values() if len(trials) == most]
    best = max(whole, key=lambda trials: float(np.nan_to_num(np.mean([t.validation for t in trials]), nan=-np.inf)))
    return {**best[0].parameters, **over_folds([trial.carried for trial in best])}
