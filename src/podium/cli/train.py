"""Train a model and save it.

Train a method, or a loss on a scorer, on labeled lists and save the model.

examples:
  podium train train.txt --method pmop -o model.podium
  podium train train.txt.gz --method listnet --valid vali.txt.gz --set l2=0.01 -o model.podium
  podium train OHSUMED/Fold1 --method ranksvm -o model.podium
  podium train clicks.csv --qid-column session --label-column grade --method listmle -o model.podium
  podium train train.txt --loss ListNetLoss --scorer trees --set n_trees=300 -o model.podium
  podium train train.txt --loss mine:loss --scorer mlp -o model.podium
  podium train train.txt --method lambdamart --tune -o model.podium
  podium train train.txt --method auto --minutes 10 -o model.podium
  podium train train.txt --method auto --for solr -o model.podium
  podium train --from-run podium-runs/train -o model.podium
  podium train train.txt --method boltzrank-pairs --distill lambdamart -o model.podium
  podium train log.parquet --clicks --bias bias.json --method pmop -o model.podium
  podium train new.txt --init model.podium --set n_trees=20 -o newer.podium

A folder with a training and a validation file trains on the one and reports the other. module:name is a class, an
object or a function of your own, in a module of the current folder or an installed one.
--tune chooses the setting of a method, --method auto the method as well; --from-run trains what `podium compare`
found.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import clicked, options, output, selection
from podium.core.atomic import require_writable

if TYPE_CHECKING:
    from podium.data.clicks import Clicks
    from podium.data.queries import Queries
    from podium.metrics import Metric


def configure(parser: options.Parser) -> None:
    parser.option("data DATA", f"training data ({options.DATA_HELP}), or the folder of one fold", nargs="?")
    what = parser.add_mutually_exclusive_group()
    parser.option("--method NAME", "a name that `podium methods` lists, auto, or module:name", what)
    parser.option("--loss NAME", "a class of podium.losses, such as ListNetLoss, or module:name", what)
    parser.option(
        "--scorer NAME",
        "with --loss: linear, mlp, trees or any other class of podium.scorers, or module:name (default: linear)",
    )
    parser.option("-o --out MODEL", "the file to write, such as model.podium", required=True)
    parser.option("--valid FILE", "validation data: used for early stopping, and reported")
    repeated = partial(parser.repeated, type=options.setting)
    repeated("--set NAME=VALUE", "a parameter of the method, the loss or the scorer", dest="settings")
    parser.option(
        "--init MODEL",
        "go on from a saved model: add trees to its trees, or start at its weights; without --method it keeps its "
        "method and settings, apart from those that --set gives",
    )
    options.add_part_option(parser)
    parser.option(
        "--distill STUDENT",
        "write a model of this method that learns the ranking of the one trained, from the features of one document at "
        "a time, and measure by cross-fitting what it keeps: that trains the other one five times more",
    )
    repeated("--set-student NAME=VALUE", "a parameter of the student", dest="student_settings")
    options.add_normalize_option(parser)
    options.add_metrics_options(parser, "ndcg@10")
    options.add_seed_option(parser)
    selection.add_options(parser)
    parser.option("--verbose", "show the training, iteration by iteration")
    parser.option("--json", "print the summary as JSON")
    options.add_data_options(parser)
    clicked.add_options(parser)


@dataclass(frozen=True)
class Data:
    """The queries that a model is trained and judged on."""

    parts: dict[str, Queries]
    """``training``, and ``validation`` if there is such a part; all are judged when the model is written."""
    facts: dict[str, Any]
    """What the model file says about each part."""

    @property
    def training(self) -> Queries:
        return self.parts["training"]

    @property
    def validation(self) -> Queries | None:
        return self.parts.get("validation")

    @classmethod
    def of(cls, parts: dict[str, Queries], files: Mapping[str, Path]) -> Data:
        """Return these parts, read from these files."""
        from podium.files.provenance import file_facts

        facts = {
            part: file_facts(files[part]) | {"rows": queries.n_documents, "queries": len(queries)}
            for part, queries in parts.items()
        }
        return cls(parts, facts)


@dataclass(frozen=True)
class Trained:
    """A fitted ranker, and what is told about it."""

    name: str
    ranker: Any
    data: Data
    seconds: float
    lines: list[str] = field(default_factory=list)
    """Printed below the summary."""
    facts: dict[str, Any] = field(default_factory=dict)
    """Further facts for ``--json`` and for the provenance in the model file."""

    @property
    def interrupted(self) -> bool:
        return bool(getattr(getattr(self.ranker, "convergence_", None), "interrupted", False))


def run(arguments: argparse.Namespace) -> int:
    began = time.perf_counter()  # before imports: a time limit covers them too
    from podium.metrics import import_metrics, metric

    selection.check(arguments)
    clicked.check(arguments)
    names = import_metrics(arguments.metrics)
    # A mistake in a name, or a folder that cannot be written to, should not surface after the training.
    metrics = [metric(name, arguments.convention) for name in names]
    if not metrics:
        raise ValueError("--metrics names no metric: give at least one, such as ndcg@10")
    require_writable(arguments.out)
    student = _student(arguments)
    trained = _train(arguments, metrics, began)
    _require_progress(trained)
    if student is not None:
        trained = _distilled(trained, student, arguments, metrics[0])
    selection.add_export_line(trained, arguments)
    _save(trained, arguments)
    _note_logarithms(trained.ranker)
    _report(trained, names, arguments)
    if trained.interrupted:
        raise KeyboardInterrupt(f"interrupted after {_progress(trained)}; the model so far is in {arguments.out}")
    return 0


def _train(arguments: argparse.Namespace, metrics: list[Metric], began: float) -> Trained:
    """Return the ranker that the options describe, fitted; the first metric that can tell decides when to stop."""
    from podium.files.models import require_savable
    from podium.files.provenance import file_facts
    from podium.rankers.methods import accepted

    if arguments.from_run is not None:
        name, ranker, lines, facts, source = selection.from_run(arguments, began)
        return Trained(name, ranker, Data({}, source), time.perf_counter() - began, lines, facts)
    if arguments.tune or arguments.method == selection.AUTO:
        data = _read(arguments)
        choose = selection.tuned if arguments.tune else selection.auto
        ranker, lines, facts = choose(arguments, data.training, data.validation, metrics, began)
        return Trained(arguments.method, ranker, data, time.perf_counter() - began, lines, facts)
    init = options.load_model(arguments, arguments.init) if arguments.init else None
    ranker = _build(arguments) if arguments.method or arguments.loss else _again(init, arguments)
    require_savable(ranker)
    training: Any
    if arguments.clicks:
        training, bias = clicked.read(arguments)
        data = _beside_clicks(arguments, training)
        given = {} if bias is None else {"bias": bias}
    else:
        data = _read(arguments, None if init is None else init.n_features_in_)
        training, given = data.training, {}
    watched = selection.watched(metrics, data.validation)
    began = time.perf_counter()
    given |= {"eval_set": data.validation, "eval_metric": watched}
    given |= {"init": init} if init is not None else {}
    ranker.fit(training, **accepted(ranker.fit, given))
    facts = {"init": file_facts(arguments.init)} if init is not None else {}
    seconds = time.perf_counter() - began
    lines = clicked.learned_bias(ranker)
    return Trained(_name(ranker, arguments), ranker, data, seconds, lines, facts)


def _beside_clicks(arguments: argparse.Namespace, clicks: Clicks) -> Data:
    """Return the judged data that go with a log of clicks, and the facts of the log."""
    from podium.files.provenance import file_facts

    valid = clicked.read_validation(arguments, clicks.queries)
    judged = Data.of({}, {}) if valid is None else Data.of({"validation": valid}, {"validation": Path(arguments.valid)})
    log = file_facts(arguments.data) | {"rows": len(clicks), "queries": len(clicks.queries)}
    log |= {"bias": arguments.bias if arguments.bias in (None, "naive") else file_facts(arguments.bias)}
    return Data(judged.parts, {"training": log, **judged.facts})


def _note_logarithms(ranker: Any) -> None:
    """Say which features a model takes as logarithms."""
    from podium.core.feature_names import feature_name

    ranker = getattr(ranker, "pick_", ranker)
    units = getattr(getattr(ranker, "standardization_", None), "log_scale", None)
    if units is None:
        return
    heavy = [feature_name(j, getattr(ranker, "feature_names_in_", None)) for j in units.nonzero()[0].tolist()]
    listed = ", ".join(heavy[:5]) + ", …" * (len(heavy) > 5)
    output.note(f"{len(heavy)} of {len(units)} features have heavy tails and are taken as logarithms: {listed}")


def _again(init: Any, arguments: argparse.Namespace) -> Any:
    """Return an unfitted copy of a saved ranker, with the settings that were given."""
    from sklearn.base import clone

    ranker = clone(init)
    known = ranker.get_params()
    general = {"random_state": arguments.seed, "verbose": 2 * arguments.verbose}
    for name in dict(arguments.settings):
        if name not in known:
            raise ValueError(f"the method of {arguments.init} has no parameter {name!r}; it has {', '.join(known)}")
    return ranker.set_params(**{k: v for k, v in general.items() if k in known}, **dict(arguments.settings))


def _name(ranker: Any, arguments: argparse.Namespace) -> str:
    if arguments.loss:
        return f"{arguments.loss} on {arguments.scorer or 'linear'}"
    return str(arguments.method or type(ranker).__name__.lower())


def _student(arguments: argparse.Namespace) -> Any:
    """Return the unfitted student that ``--distill`` names; None without it."""
    from podium.cli import parts
    from podium.files.models import require_savable
    from podium.models.distill import STUDENT_TREES

    if not arguments.distill:
        if arguments.student_settings:
            raise ValueError("--set-student goes with --distill")
        return None
    general = {"normalize": "robust", "random_state": arguments.seed, **STUDENT_TREES}
    student = parts.method(arguments.distill, general, dict(arguments.student_settings))
    require_savable(student)
    return student


def _distilled(trained: Trained, student: Any, arguments: argparse.Namespace, measured: Metric) -> Trained:
    """Return the student of a trained model, with the figures of both."""
    from podium.models.distill import describe, distill

    if trained.interrupted:
        raise KeyboardInterrupt("interrupted before the student was trained; nothing was written")
    began = time.perf_counter()
    queries = selection.queries_of_run(arguments) if arguments.from_run else trained.data.training
    learned = distill(trained.ranker, queries, student, eval_metric=measured, random_state=arguments.seed)
    return Trained(
        f"{arguments.distill}, distilled from {trained.name}",
        learned,
        trained.data,
        trained.seconds + time.perf_counter() - began,
        [*trained.lines, f"  distilled: {describe(learned.distillation_)}"],
        trained.facts | {"distillation": learned.distillation_},
    )


def _progress(trained: Trained) -> str:
    done = trained.ranker.convergence_
    return f"{done.n_iter} {done.step}{'s' * (done.n_iter != 1)}"


def _require_progress(trained: Trained) -> None:
    """Raise KeyboardInterrupt if the training was interrupted before there was anything to keep."""
    if trained.interrupted and trained.ranker.convergence_.n_iter == 0:
        raise KeyboardInterrupt("interrupted before the first iteration was done; nothing was written")


def _save(trained: Trained, arguments: argparse.Namespace) -> None:
    from podium.rankers.methods import accepted

    others = {name: fact for name, fact in trained.facts.items() if name != "export"}  # a command is no origin
    facts = {"command": arguments.typed, "method": trained.name, "data": trained.data.facts, **others}
    given = {"dataset": arguments.data or trained.data.facts["training"].get("file"), "provenance": facts}
    trained.ranker.save(arguments.out, **accepted(trained.ranker.save, given))


def _report(trained: Trained, metrics: list[str], arguments: argparse.Namespace) -> None:
    from podium.metrics import evaluate

    parts, seconds = trained.data.parts, trained.seconds
    judged = {
        part: evaluate(queries, trained.ranker.predict(queries), metrics=metrics, convention=arguments.convention).mean
        for part, queries in parts.items()
    }
    if arguments.json:
        summary = {"method": trained.name, "model": arguments.out, "seconds": seconds}
        output.print_json(summary | {"convention": arguments.convention} | trained.facts | judged)
        return
    ended = f"interrupted after {_progress(trained)} and" if trained.interrupted else "trained in"
    print(f"{trained.name}: {ended} {seconds:.2f} s, written to {arguments.out}")
    for part, queries in parts.items():
        listed = ", ".join(f"{m} ({arguments.convention}) {value:.4f}" for m, value in judged[part].items())
        print(f"  {part}: {listed} on {len(queries)} queries, {queries.n_documents} documents")
    for line in trained.lines:
        print(line)


def _build(arguments: argparse.Namespace) -> Any:
    from podium.cli import parts

    normalize, verbose = options.normalization(arguments), 2 * arguments.verbose
    general = {"normalize": normalize, "random_state": arguments.seed, "verbose": verbose}
    settings = dict(arguments.settings)
    if arguments.loss:
        return parts.ranker(arguments.loss, arguments.scorer or "linear", general, settings)
    if arguments.scorer:
        raise ValueError("--scorer goes with --loss: a method has a scorer of its own")
    return parts.method(arguments.method, general, settings)


def _read(arguments: argparse.Namespace, n_features: int | None = None) -> Data:
    """Return the data; LETOR files that mention fewer than ``n_features`` get as many."""
    if Path(arguments.data).is_dir():
        return _read_fold(arguments)
    files = {"training": Path(arguments.data)}
    if arguments.valid:
        files["validation"] = Path(arguments.valid)
    parts = {"training": options.read(files["training"], arguments)}
    if arguments.valid:  # a column may be empty, or hold text, in one of two tables only
        table = {"features": parts["training"].feature_names}
        parts["validation"] = options.read(files["validation"], arguments, table=table)
    # A LETOR file may not mention the last features: read it again, as wide as the other.
    width = max(n_features or 0, *(queries.n_features for queries in parts.values()))
    if any(queries.n_features != width for queries in parts.values()):
        parts = {part: options.read(path, arguments, letor={"n_features": width}) for part, path in files.items()}
    return Data.of(parts, files)


def _read_fold(arguments: argparse.Namespace) -> Data:
    from podium.data.io.folds import find_folds, read_fold

    found = find_folds(arguments.data)
    if len(found) > 1:
        names = ", ".join(fold.name for fold in found)
        raise ValueError(f"{arguments.data} has several folds ({names}): name the folder of one of them")
    if arguments.valid:
        raise ValueError(f"{arguments.data} is a folder with a validation file of its own: leave out --valid")
    (files,) = found
    fold = read_fold(files)
    return Data.of(
        {"training": fold.train, "validation": fold.validation},
        {"training": files.train, "validation": files.validation},
    )
