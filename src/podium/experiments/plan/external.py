"""Rankings made elsewhere as methods of a study: rows that nothing is trained for."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from podium.data.io.trec import Run, read_run
from podium.experiments.plan.methods import StudyMethod

EXTERNAL = "external"
"""The family of such methods."""
Runs = Mapping[str, "Run | str | os.PathLike[str]"]


@dataclass(frozen=True, slots=True)
class GivenScores:
    """Stands where other methods build a ranker; identified by the run's content."""

    run: Run

    def __call__(self, **parameters: Any) -> Any:
        raise ValueError("this is a run that was made elsewhere: there is nothing to train")


def read_runs(runs: Runs) -> dict[str, Run]:
    """Return runs, given as such or as their files."""
    return {name: given if isinstance(given, Run) else read_run(given) for name, given in runs.items()}


def external_methods(runs: Mapping[str, Run], others: Iterable[StudyMethod]) -> list[StudyMethod]:
    """Return the methods that stand for runs."""
    taken = {method.name for method in others}
    found = []
    for name, run in runs.items():
        if name in taken:
            raise ValueError(f"a method is called {name!r} already: give the run another name")
        found.append(StudyMethod(name, GivenScores(run), family=EXTERNAL))
    return found


def run_of(method: StudyMethod) -> Run | None:
    """Return the run that a method stands for, if it does."""
    return method.build.run if isinstance(method.build, GivenScores) else None
