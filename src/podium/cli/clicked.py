"""Training on logs of clicks, from the command line."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any

from podium.cli import options

if TYPE_CHECKING:
    from podium.data.clicks import Clicks
    from podium.data.queries import Queries

_COLUMNS = ("qid", "document", "position", "clicks", "impressions", "session")


def add_options(parser: options.Parser) -> None:
    """Add the options of ``podium train`` for logs of clicks."""
    group = parser.add_argument_group("logs of clicks")
    parser.option(
        "--clicks",
        "DATA is a log of clicks (CSV or Parquet), a row per impression, or per query, document and place with counts; "
        "--features names its columns of features (default: all other columns of numbers), or a file in which they are "
        "found by query and document",
        group,
    )
    parser.option("--bias FILE", "what places did to clicks, by `podium clicks bias`; naive: nothing", group)
    parser.option(
        "--debias {pairwise,additive}",
        "in place of --bias, with lambdamart and sessions: learn what places did beside the trees, as XGBoost or as "
        "LightGBM does it",
        group,
    )
    add_columns(parser, group)


def add_columns(parser: options.Parser, group: Any) -> None:
    """Add the options for columns that logs have and judgments have not."""
    parser.option("--position-column NAME", "places, 1 is the top", group)
    parser.option("--clicks-column NAME", "clicks", group)
    parser.option("--impressions-column NAME", "impressions", group)
    parser.option("--session-column NAME", "sessions", group)


def add_log_columns(parser: options.Parser) -> None:
    """Add the options for all columns of a log, where nothing else is read."""
    group = parser.add_argument_group("columns of the log (default: those with a usual name)")
    parser.option("--qid-column NAME", "query ids", group)
    parser.option("--document-column NAME", "document ids", group)
    add_columns(parser, group)


def log_columns(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the columns of the log that were named, as ``read_clicks`` takes them."""
    return {name: getattr(arguments, f"{name}_column") for name in _COLUMNS}


def given_columns(arguments: argparse.Namespace) -> list[str]:
    """Return the options given that are for columns of logs alone."""
    return [f"--{name}-column" for name in _COLUMNS[2:] if getattr(arguments, f"{name}_column")]


def check(arguments: argparse.Namespace) -> None:
    """Raise ValueError if options do not go together."""
    columns = given_columns(arguments)
    if not arguments.clicks:
        given = {"--bias": arguments.bias, "--debias": arguments.debias}
        if wrong := [*(option for option, value in given.items() if value), *columns]:
            raise ValueError(f"{wrong[0]} goes with --clicks")
        return
    if arguments.debias:
        if arguments.bias:
            raise ValueError("--debias learns the bias itself: leave out --bias")
        arguments.settings = [*arguments.settings, ("debias", arguments.debias)]  # a parameter of the method
    elif not arguments.bias:
        raise ValueError(
            "--clicks needs --bias FILE: `podium clicks bias LOG -o bias.json` estimates what places did to clicks; "
            "--bias naive takes clicks as they are, and --debias pairwise learns it with --method lambdamart"
        )
    refused = {"--from-run": arguments.from_run, "--tune": arguments.tune, "--distill": arguments.distill}
    refused |= {"--method auto": arguments.method == "auto", "--label-column": arguments.label_column}
    if wrong := [option for option, given in refused.items() if given]:
        raise ValueError(f"--clicks trains one method with one setting: leave out {wrong[0]}")


def read(arguments: argparse.Namespace) -> tuple[Clicks, Any]:
    """Return the log with its features, and its bias; None if the ranker learns it."""
    from podium.clicks import load_bias

    bias = arguments.bias if arguments.bias in (None, "naive") else load_bias(arguments.bias)
    return read_log(arguments), bias


def read_log(arguments: argparse.Namespace) -> Clicks:
    """Return the log with its features."""
    from podium.data import read_clicks
    from podium.data.io.clicks import feature_columns

    columns = log_columns(arguments)
    features: Any = arguments.features
    if features is None:
        features = feature_columns(arguments.data, **columns)
    elif len(features) == 1 and os.path.exists(features[0]):  # noqa: PTH110
        (features,) = features
    return read_clicks(arguments.data, features=features, **columns)


def read_validation(arguments: argparse.Namespace, training: Queries) -> Queries | None:
    """Return the judged queries of ``--valid``, with the features of the log."""
    if not arguments.valid:
        return None
    names = None if training.feature_names is None else list(training.feature_names)
    return options.read(
        arguments.valid, arguments, table={"features": names}, letor={"n_features": training.n_features}
    )


def learned_bias(ranker: Any) -> list[str]:
    """Return what is printed of the bias that a ranker learned beside its trees."""
    bias = getattr(ranker, "bias_", None)
    if bias is None:
        return []
    what, values = "propensities", bias.propensities_
    if values is None:
        what, values = "what a place adds to the score", bias.additive_
    shown = ", ".join(f"{value:.3g}" for value in values[:10].tolist())
    return [f"places from the top, {what}: {shown}" + ", …" * (len(values) > 10)]
