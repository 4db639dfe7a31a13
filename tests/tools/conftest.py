"""The script ``tools/reproduce.py`` as a module, and a comparison made by hand."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import ModuleType

import pytest

from podium.experiments import Comparison
from podium.experiments.plan.configuration import Configuration, DataFacts, MethodFacts
from podium.experiments.result.published import table
from podium.experiments.run.outcomes import Result, Trial


@pytest.fixture(scope="module")
def draw_architecture(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("draw_architecture")


@pytest.fixture(scope="module")
def reproduce(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("reproduce")


@pytest.fixture
def comparison(reproduce: ModuleType) -> Comparison:
    """ListNet is best in the rehearsal, Ranking SVM on validation and, with two seeds, on the test part."""
    rehearsal = made(
        reproduce, {("listnet", 0): (0.1, 0.6), ("ranksvm", 0): (0.2, 0.5), ("random", 0): (0.9, 0.9)}, [0]
    )
    figures = {
        ("listnet", 0): (0.4, 0.7),
        ("ranksvm", 0): (0.5, 0.8),
        ("ranksvm", 1): (0.5, 0.9),
        ("random", 0): (0.9, 0.1),
    }
    found = made(reproduce, figures, [0, 1], rehearsal)
    found.run_facts = {"machine": {"cores": 2, "cpu": "a processor"}, "versions": {"numpy": "9"}, "total_seconds": 600}
    found.__dict__["published"] = [replace(table("ohsumed-letor2"), exact=True), table("ohsumed-letor3")]
    return found


def made(
    reproduce: ModuleType,
    figures: dict[tuple[str, int], tuple[float, float]],
    seeds: list[int],
    rehearsal: Comparison | None = None,
) -> Comparison:
    """A comparison with these figures on validation and test."""
    metrics = list(reproduce.METRICS)
    return Comparison(
        Configuration(
            podium="0",
            data=DataFacts("ohsumed", "by hand", "f", ["Fold1", "Fold2"]),
            average="folds",
            methods={name: MethodFacts(is_floor=name == "random") for name, _ in figures},
            metrics=metrics,
            primary="map",
            convention="letor",
            options={"normalize": "minmax"},
            seeds=seeds,
        ),
        [
            Result(
                *(name, fold, seed),
                validation=validation,
                trials=[Trial(name, fold, {}, seconds=30.0)],
                seconds=30.0,
                search_seconds=30.0,
                qids=[f"{fold}-{i}" for i in range(3)],
                per_query={metric: [test - 0.02, test, test + 0.02] for metric in metrics},
            )
            for (name, seed), (validation, test) in figures.items()
            for fold in ("Fold1", "Fold2")
        ],
        rehearsal=rehearsal,
    )
