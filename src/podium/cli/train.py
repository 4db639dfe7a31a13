"""``podium train``: a model from data."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import options, output

if TYPE_CHECKING:
    from podium.data.queries import Queries

HELP = "train a model and save it"
DESCRIPTION = "Train a method, or a loss on a scorer, on labeled lists and save the model."
EXAMPLES = """\
examples:
  podium train train.txt --method pmop -o model.podium
  podium train train.txt.gz --method listnet --valid vali.txt.gz --set l2=0.01 -o model.podium
  podium train OHSUMED/Fold1 --method ranksvm -o model.podium
  podium train clicks.csv --qid-column session --label-column grade --method listmle -o model.podium
  podium train train.txt --loss ListNetLoss --scorer trees --set n_trees=300 -o model.podium
  podium train train.txt --loss mine:loss --scorer mlp -o model.podium

A folder with a training and a validation file trains on the one and reports the other. module:name is a class, an
object or a function of your own, in a module of the current folder or an installed one.
To have hyper-parameters chosen for you, see `podium compare`."""


def configure(parser: options.Parser) -> None:
    parser.option("data DATA", f"training data ({options.DATA_HELP}), or the folder of one fold")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--method", metavar="NAME", help="a name that `podium methods` lists, or module:name")
    what.add_argument("--loss", metavar="NAME", help="a class of podium.losses, such as ListNetLoss, or module:name")
    parser.option(
        "--scorer NAME",
        "with --loss: linear, mlp, trees or any other class of podium.scorers, or module:name (default: linear)",
    )
    parser.option("-o --out MODEL", "the file to write, such as model.podium", required=True)
    parser.option("--valid FILE", "validation data: used for early stopping, and reported")
    parser.option(
        "--set NAME=VALUE",
        "a parameter of the method, the loss or the scorer; may be given several times",
        action="append",
        type=options.setting,
        default=[],
        dest="settings",
    )
    options.add_normalize_option(parser, "standard")
    options.add_metrics_options(parser, "ndcg@10")
    options.add_seed_option(parser)
    parser.option("--verbose", "show the training, iteration by iteration")
    parser.option("--json", "print the summary as JSON")
    options.add_data_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.files.models import require_savable
    from podium.metrics import evaluate, import_metrics, metric

    metrics = import_metrics(arguments.metrics)
    for name in metrics:
        metric(name, arguments.convention)  # a mistake should not surface after the training
    ranker = _build(arguments)
    require_savable(ranker)
    train, validation = _read(arguments)
    began = time.perf_counter()
    ranker.fit(train, eval_set=validation)
    seconds = time.perf_counter() - began
    if getattr(getattr(ranker, "convergence_", None), "interrupted", False):
        raise KeyboardInterrupt  # half a model must not take the place of a whole one
    ranker.save(arguments.out)
    parts = {"training": train} if validation is None else {"training": train, "validation": validation}
    judged = {
        name: evaluate(queries, ranker.predict(queries), metrics=metrics, convention=arguments.convention).mean
        for name, queries in parts.items()
    }
    what = arguments.method or f"{arguments.loss} on {arguments.scorer or 'linear'}"
    if arguments.json:
        summary = {"method": what, "model": arguments.out, "seconds": seconds, "convention": arguments.convention}
        output.print_json(summary | judged)
        return 0
    print(f"{what}: trained in {seconds:.2f} s, written to {arguments.out}")
    for name, queries in parts.items():
        listed = ", ".join(f"{m} ({arguments.convention}) {value:.4f}" for m, value in judged[name].items())
        print(f"  {name}: {listed} on {len(queries)} queries, {queries.n_documents} documents")
    return 0


def _build(arguments: argparse.Namespace) -> Any:
    from podium.cli import parts

    normalize, verbose = options.normalization(arguments), int(arguments.verbose)
    general = {"normalize": normalize, "random_state": arguments.seed, "verbose": verbose}
    settings = dict(arguments.settings)
    if arguments.loss:
        return parts.ranker(arguments.loss, arguments.scorer or "linear", general, settings)
    if arguments.scorer:
        raise ValueError("--scorer goes with --loss: a method has a scorer of its own")
    return parts.method(arguments.method, general, settings)


def _read(arguments: argparse.Namespace) -> tuple[Queries, Queries | None]:
    if Path(arguments.data).is_dir():
        from podium.data.io.folds import find_folds, read_fold

        found = find_folds(arguments.data)
        if len(found) > 1:
            names = ", ".join(fold.name for fold in found)
            raise ValueError(f"{arguments.data} has several folds ({names}): name the folder of one of them")
        if arguments.valid:
            raise ValueError(f"{arguments.data} is a folder with a validation file of its own: leave out --valid")
        fold = read_fold(found[0])
        return fold.train, fold.validation
    if not arguments.valid:
        return options.read(arguments.data, arguments), None
    paths = (arguments.data, arguments.valid)
    train, validation = (options.read(path, arguments) for path in paths)
    # A LETOR file may not mention the last features: read it again, as wide as the other.
    width = max(train.n_features, validation.n_features)
    if train.n_features != validation.n_features:
        train, validation = (options.read(path, arguments, letor={"n_features": width}) for path in paths)
    return train, validation
