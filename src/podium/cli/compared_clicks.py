"""Comparisons on logs of clicks, from the command line: what ``podium compare --clicks`` takes, and what it does."""

from __future__ import annotations

import argparse
import shlex
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from podium.cli import clicked, options

if TYPE_CHECKING:
    from podium.cli.output import Reporter
    from podium.experiments import Comparison

ESTIMATED = ("swaps", "em", "dual", "pairwise", "trust")
"""What --bias may name in place of a file: estimated on the training part of each fold."""
_OWN = ("bias", "estimator", "interval", "clip", "candidates")


class Default(list[str]):
    """What an option has by default, which is told from the same given."""

    def __str__(self) -> str:
        return ",".join(self)


def add_options(parser: options.Parser) -> None:
    """Add the options of ``podium compare`` for logs of clicks."""
    group = parser.add_argument_group("logs of clicks")
    parser.option(
        "--clicks",
        "DATA is a log of clicks (CSV or Parquet), to learn from and to judge by; --features names its columns of "
        "features (default: all other columns of numbers), or a file in which they are found by query and document. "
        "--metrics are dcg[@k], p@k and rbp[@k] (default: dcg@10)",
        group,
    )
    parser.option(
        "--bias FILE",
        f"what places did to clicks: a file by `podium clicks bias`; or {', '.join(ESTIMATED)}: estimated on the "
        "training part of each fold; or naive: nothing",
        group,
    )
    parser.option(
        "--estimator {ips,snips,dr}",
        "inverse propensity weights, the same per unit of relevance, or doubly robust (default: ips)",
        group,
    )
    parser.option(
        "--interval {queries,sessions}",
        "what is random: queries, or the sessions of these very queries (default: queries)",
        group,
    )
    positive = partial(options.number, what="a number above 0")
    parser.option("--clip X", "the highest weight 1/ρ of a click (default: none)", group, type=positive)
    parser.option(
        "--candidates FILE",
        "the documents that are ranked where they are judged, if others than those shown, with query, document and the "
        "features of all: CSV, Parquet or LETOR",
        group,
    )
    clicked.add_columns(parser, group)


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError if options do not go together."""
    if not arguments.clicks:
        given = [f"--{name}" for name in _OWN if getattr(arguments, name) is not None]
        if wrong := [*given, *clicked.given_columns(arguments)]:
            raise ValueError(f"{wrong[0]} goes with --clicks")
        return
    if arguments.data is None:
        raise ValueError("--clicks needs DATA, the log of clicks")
    if arguments.bias is None:
        raise ValueError(
            "--clicks needs --bias: a file by `podium clicks bias LOG -o bias.json`, --bias swaps to estimate what "
            "places did on each training part, or --bias naive to take clicks as they are"
        )
    if arguments.candidates and arguments.features:
        raise ValueError("--candidates has the features: leave out --features")
    refused = {
        "--qrels": (arguments.qrels, "clicks are the only judgments of a log"),
        "--label-column": (arguments.label_column, "clicks are the only judgments of a log"),
        "--convention": (arguments.convention != "standard", "what clicks can tell has no conventions"),
        "--run": (arguments.runs, "`podium clicks evaluate` judges rankings made elsewhere by clicks"),
        "--rehearse": (arguments.rehearse, "there is no rehearsal on clicks"),
    }
    for option, (given, why) in refused.items():
        if given:
            raise ValueError(f"{option} does not go with --clicks: {why}")


def compared(arguments: argparse.Namespace, out: Path, reporter: Reporter) -> Comparison:
    """Return the comparison of methods on the log."""
    from podium.clicks import compare, load_bias
    from podium.clicks.comparing.metrics import log_metrics
    from podium.data.io.clicks import read_candidates, read_clicks

    metrics = ["dcg@10"] if isinstance(arguments.metrics, Default) else arguments.metrics
    log_metrics(metrics, arguments.primary, "ips")  # a metric that clicks cannot tell should not surface after reading
    by_name = arguments.bias in (*ESTIMATED, "naive")
    bias = arguments.bias if by_name else load_bias(arguments.bias)
    candidates = None if arguments.candidates is None else read_candidates(arguments.candidates)
    if candidates is None:
        clicks = clicked.read_log(arguments)
    else:
        clicks = read_clicks(arguments.data, features=candidates, **clicked.log_columns(arguments))
    shared = options.study(arguments, "folds", "protocol", "seeds")
    del shared["convention"]
    return compare(
        clicks,
        **shared | {"metrics": metrics, "methods": arguments.methods or "all"},
        bias=bias,
        estimator=arguments.estimator or "ips",
        interval=arguments.interval or "queries",
        clip=arguments.clip,
        candidates=candidates,
        normalize=options.normalization(arguments),
        out=out,
        progress=reporter,
        name=options.data_name(arguments.data),
        reading={"path": str(Path(arguments.data).absolute()), "train": _train_command(arguments)},
    )


def _train_command(arguments: argparse.Namespace) -> str:
    """Return how the command begins that trains on this log."""
    log = shlex.quote(arguments.data)
    columns = [
        f"{option} {shlex.quote(value)}"
        for name, value in clicked.log_columns(arguments).items()
        for option in [f"--{name}-column"]
        if value is not None
    ]
    before, bias = "", arguments.bias
    if bias in ESTIMATED:
        estimate = ["podium clicks bias", log, f"--method {bias}", *columns, "-o bias.json &&\n  "]
        before, bias = " ".join(estimate), "bias.json"
    given = arguments.features or ([arguments.candidates] if arguments.candidates else [])
    features = [f"--features {shlex.quote(','.join(given))}"] if given else []
    rescaled = [] if arguments.normalize == "robust" else [f"--normalize {arguments.normalize}"]
    command = ["podium train", log, f"--clicks --bias {shlex.quote(bias)}", *columns, *features, *rescaled]
    return f"{before}{' '.join(command)}"
