"""``podium train`` where more than a fit is asked for: tuning, ``auto``, and the pick of a finished comparison."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import options, output

if TYPE_CHECKING:
    from podium.cli.train import Trained
    from podium.data.queries import Queries
    from podium.metrics import Metric

AUTO = "auto"
SUFFIXES = {"onnx": "onnx", "lightgbm": "txt", "sql": "sql"}
"""Suffixes of exported files, where it is not ``json``."""
PREFERRED = ("solr", "opensearch", "onnx", "lightgbm", "sql")
"""The format that is proposed is the first of these that takes the model."""


def add_options(parser: options.Parser) -> None:
    """Add the options of tuning, of ``auto`` and of training from a run."""
    group = parser.add_argument_group("choosing a setting or a method")
    option = partial(parser.option, group=group)
    option("--tune", "search for the setting by cross-validation over whole queries, or on --valid")
    option("--search {grid,random,bayes}", "how to search (default: grid; random with --budget)")
    option("--budget N", "settings to try, for random and bayes", type=options.positive)
    option(
        "--minutes M",
        "time for all: search, final fit and writing. If no setting is tried in it, the default is trained",
        type=partial(options.number, what="a positive number of minutes"),
    )
    per_document = "with --method auto: choose a model that this format of `podium export` takes"
    option("--for FORMAT", per_document, dest="target")
    finished = "the folder of a finished `podium compare`: train its pick, or --method, on all its data"
    option("--from-run RUN", finished, type=Path)
    option("--data MOVED", "with --from-run: where its data are now", dest="moved")
    option("--trials DIR", "folder that keeps the trials (default: podium-runs/<data>-<method>)", type=Path)
    option("--jobs N", "worker processes (default: one per core)", type=options.positive)
    option("--quiet", "show no progress on standard error")


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError if options do not go together."""
    searching = arguments.tune or arguments.method == AUTO
    if arguments.from_run is not None:
        refused = {"data": "DATA", "tune": "--tune", "loss": "--loss", "valid": "--valid", "init": "--init"}
        refused |= {"settings": "--set", "target": "--for", "search": "--search"}
        if wrong := [option for name, option in refused.items() if getattr(arguments, name)]:
            where = " (the data of a run that were moved: --data)" if wrong[0] == "DATA" else ""
            raise ValueError(f"--from-run takes data and settings from the run: leave out {wrong[0]}{where}")
        return
    if arguments.data is None:
        raise ValueError("give the training data, or --from-run RUN")
    if not (arguments.method or arguments.loss or arguments.init):
        raise ValueError("give --method NAME, --method auto, --loss NAME, --init MODEL or --from-run RUN")
    if arguments.init and searching:
        raise ValueError("--init goes on with one setting: leave out --tune, and name a method or none")
    if arguments.moved is not None:
        raise ValueError("--data goes with --from-run")
    if arguments.target is not None and arguments.method != AUTO:
        raise ValueError("--for goes with --method auto")
    if arguments.target is not None:
        from podium.export.target import find

        find(arguments.target)  # a mistake in the name should not surface after the search
    if (arguments.search or arguments.budget) and not arguments.tune:
        raise ValueError("--search and --budget go with --tune")
    if arguments.minutes and not searching:
        raise ValueError("--minutes goes with --tune and with --method auto")
    if arguments.method == AUTO and (arguments.tune or arguments.settings):
        raise ValueError("--method auto chooses settings itself: leave out --tune and --set")
    if arguments.tune and arguments.loss:
        raise ValueError("--tune goes with --method: for a loss on a scorer, podium.tune takes a ranker and a space")


def watched(metrics: list[Metric], valid: Queries | None) -> Metric:
    """Return the first metric that can tell on validation data; say so if that is not the first."""
    from podium.metrics.telling import first_that_tells

    if valid is None:
        return metrics[0]
    found, lines = first_that_tells(metrics, valid)
    for line in lines:
        output.note(line)
    return found


def tuned(
    arguments: argparse.Namespace, train: Queries, valid: Queries | None, metrics: list[Metric], began: float
) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the tuned ranker, lines that say what was chosen, and the same as facts."""
    from podium.experiments.run.clock import Clock
    from podium.experiments.tuning import tune

    folder = _folder(arguments)
    with output.Reporter(arguments.quiet, folder) as reporter:
        ranker = tune(
            arguments.method,
            train,
            metric=metrics,
            search=arguments.search,
            budget=arguments.budget,
            eval_set=valid,
            normalize=options.normalization(arguments),
            settings=dict(arguments.settings),
            random_state=arguments.seed,
            out=folder,
            jobs=arguments.jobs,
            progress=reporter,
            clock=Clock(arguments.minutes, began),
        )
    return ranker, _tuning_lines(ranker.tuning_), {"tuning": ranker.tuning_.as_dict()}


def auto(
    arguments: argparse.Namespace, train: Queries, valid: Queries | None, metrics: list[Metric], began: float
) -> tuple[Any, list[str], dict[str, Any]]:
    """Return the pick of ``Auto``, lines that say what was chosen, and the same as facts."""
    from podium.experiments.auto import Auto
    from podium.experiments.run.clock import Clock
    from podium.experiments.selection import in_words

    folder = _folder(arguments)
    chooser = Auto(
        metric=metrics, target=arguments.target, n_jobs=arguments.jobs, out=folder, random_state=arguments.seed
    )
    clock = Clock(arguments.minutes, began)
    with output.Reporter(arguments.quiet, folder) as reporter:
        chooser.fit(train, eval_set=valid, progress=reporter, clock=clock)
    choice = chooser.choice_
    kind = "lambdamart, distilled from " * (choice.distilled is not None) + "a blend of " * (len(choice.members) > 1)
    lines = [f"  pick: {kind}{in_words(choice.members)}"]
    if choice.estimate == choice.estimate:
        lines.append(
            f"  {choice.metric} {choice.estimate:.4f} on queries that did not choose it ({choice.protocol}); "
            f"the best single method {choice.single:.4f}"
        )
    if choice.dropped:
        lines.append("  left out: " + "; ".join(f"{name} ({why})" for name, why in output.by_reason(choice.dropped)))
    lines += [f"  {note}" for note in choice.notes]
    return chooser.pick_, lines, {"auto": choice.as_dict()}


def from_run(arguments: argparse.Namespace, began: float) -> tuple[str, Any, list[str], dict[str, Any], dict[str, Any]]:
    """Return a method of a finished comparison, its ranker fitted on all data, lines, facts, and those of the data."""
    from podium.experiments.result.comparison import Comparison
    from podium.experiments.run.clock import Clock

    comparison = Comparison.load(arguments.from_run)
    name = arguments.method or comparison.pick
    with output.Reporter(arguments.quiet, arguments.from_run) as reporter:
        ranker = comparison.train(
            arguments.method,
            data=arguments.moved,
            jobs=arguments.jobs,
            progress=reporter,
            clock=Clock(arguments.minutes, began),
        )
    facts = {"run": str(arguments.from_run), "tuning": ranker.tuning_.as_dict()}
    data = {
        "file": arguments.moved or (comparison.run_facts.get("reading") or {}).get("path"),
        "digest": comparison.configuration.data.fingerprint,
        "rows": ranker.n_documents_,
        "queries": ranker.n_queries_,
    }
    trained_on = f"  fitted on all {ranker.n_queries_} queries of the run, {ranker.n_documents_} documents"
    return str(name), ranker, [trained_on, *_tuning_lines(ranker.tuning_)], facts, {"training": data}


def queries_of_run(arguments: argparse.Namespace) -> Queries:
    """Return all data of the run that ``--from-run`` names."""
    from podium.experiments.from_run import all_queries
    from podium.experiments.result.comparison import Comparison

    return all_queries(Comparison.load(arguments.from_run), arguments.moved)


def add_export_line(trained: Trained, arguments: argparse.Namespace) -> None:
    """Add to what is told about a model the command that exports it."""
    from podium.export.api import export_formats

    formats = export_formats(trained.ranker)
    wanted = [arguments.target] if arguments.target else [*PREFERRED, *formats]
    chosen = next((name for name in wanted if name in formats), None)
    trained.facts["export"] = None
    if chosen is None:
        trained.lines.append(
            "No format of `podium export` takes this model. One that can be exported: --method auto --for FORMAT, or "
            "--distill lambdamart, a small model that learns its scores"
        )
        return
    model = Path(arguments.out)
    file = model.with_name(f"{model.name.removesuffix('.podium')}.{chosen}.{SUFFIXES.get(chosen, 'json')}")
    words = ["podium", "export", str(model), "--format", chosen, "-o", str(file)]
    # A log of clicks is no list of documents; judged queries for validation are.
    data = arguments.valid if arguments.clicks else arguments.data or arguments.moved
    if data and Path(data).is_file():
        words += ["--check", data]
    command, others = shlex.join(words), [name for name in formats if name != chosen]
    trained.facts["export"] = command
    also = f"   (also: {', '.join(others)})" if others and arguments.target is None else ""
    trained.lines.append(f"To export it: {command}{also}")


def _tuning_lines(found: Any) -> list[str]:
    if not found.parameters and found.chosen is None:
        return [f"  {note}" for note in found.notes]
    chosen = ", ".join(f"{name}={value}" for name, value in found.as_dict()["parameters"].items()) or "nothing to set"
    how = f"cross-validation on {found.n_folds} folds" if found.n_folds > 1 else "the validation part"
    lines = [f"  chosen among {found.n_settings} settings by {how}: {chosen}; {found.metric} {found.value:.4f}"]
    if found.carried and found.n_folds > 1:
        carried = ", ".join(f"{name}={value}" for name, value in found.carried.items())
        lines.append(f"  carried over, the median over folds: {carried}")
    return lines + [f"  {note}" for note in found.notes]


def _folder(arguments: argparse.Namespace) -> Path:
    if arguments.trials is not None:
        return Path(arguments.trials)
    return Path("podium-runs") / f"{options.data_name(arguments.data)}-{arguments.method.replace(':', '.')}"
