"""Options that several commands share, and parsers of their values."""

from __future__ import annotations

import argparse
import ast
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.data.queries import Queries

NORMALIZATIONS = ("none", "standard", "minmax", "zscore")

DATA_HELP = "LETOR / SVMlight text (also .gz), CSV or Parquet"


def add_data_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that name the columns of a CSV or Parquet file."""
    group = parser.add_argument_group("columns of CSV and Parquet files")
    group.add_argument("--qid-column", metavar="NAME", help="query ids (default: qid)")
    group.add_argument("--label-column", metavar="NAME", help="grades (default: label)")
    group.add_argument("--document-column", metavar="NAME", help="document ids (default: none)")
    group.add_argument("--features", type=comma_list, metavar="A,B,…", help="features (default: all other columns)")


def add_normalize_option(parser: argparse.ArgumentParser, default: str) -> None:
    parser.add_argument(
        "--normalize",
        choices=NORMALIZATIONS,
        default=default,
        help="rescale features: standard uses mean and deviation of the training set, minmax and zscore act within "
        f"each query (default: {default})",
    )


def add_metrics_options(parser: argparse.ArgumentParser, metrics: str, convention: str = "standard") -> None:
    parser.add_argument(
        "--metrics",
        type=comma_list,
        default=comma_list(metrics),
        metavar="M,…",
        help="metrics such as ndcg@10, map or p@5, or module:name for one of your own; podium evaluate --list-metrics "
        f"lists all (default: {metrics})",
    )
    parser.add_argument(
        "--convention",
        metavar="NAME",
        help="the rules that metrics follow, such as standard, letor or trec; podium evaluate --list-metrics lists all "
        f"(default: {convention})",
    )


def add_search_options(parser: argparse.ArgumentParser, primary: str) -> None:
    """Add the options of a search for hyper-parameters, and the seed; ``primary`` describes that metric's default."""
    parser.add_argument(
        "--primary",
        metavar="METRIC",
        help=f"selects hyper-parameters on validation data, orders the table and is tested (default: {primary})",
    )
    parser.add_argument(
        "--search",
        choices=("grid", "random", "bayes"),
        default="grid",
        help="how to search for hyper-parameters (default: grid; bayes needs Optuna: pip install podium[search])",
    )
    parser.add_argument("--budget", type=positive, metavar="N", help="trials per method and fold, for random and bayes")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="seed of all random choices (default: 0)")


def add_run_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of how a comparison is run and where its results are written."""
    parser.add_argument("--jobs", type=positive, metavar="N", help="worker processes (default: one per core)")
    parser.add_argument("--out", metavar="DIR", help="folder for the results (default: podium-runs/<name of the data>)")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    parser.add_argument("--quiet", action="store_true", help="show no progress on standard error")


def study(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the shared options of a comparison by the names that functions for comparing take."""
    from podium.metrics import import_metrics

    return {
        "metrics": import_metrics(arguments.metrics),
        "convention": arguments.convention or "standard",
        "primary": arguments.primary and import_metrics([arguments.primary])[0],
        "search": arguments.search,
        "budget": arguments.budget,
        "random_state": arguments.seed,
        "jobs": arguments.jobs,
    }


def normalization(arguments: argparse.Namespace) -> str | None:
    """Return the value of ``--normalize`` as rankers take it."""
    return None if arguments.normalize == "none" else str(arguments.normalize)


def positive_list(text: str) -> list[int]:
    """Parse ``"10,20"`` into ``[10, 20]``."""
    return [positive(part) for part in comma_list(text)]


def comma_list(text: str) -> list[str]:
    """Parse ``"a, b"`` into ``["a", "b"]``."""
    return [part.strip() for part in text.split(",") if part.strip()]


def positive(text: str) -> int:
    """Parse a positive integer."""
    value = int(text) if text.strip().lstrip("+").isdigit() else 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive integer")
    return value


def setting(text: str) -> tuple[str, Any]:
    """Parse ``"l2=0.01"`` into a name and a value: a number, true, false, none, or else a string."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form NAME=VALUE")
    return name.strip(), _value(value.strip())


def _value(text: str) -> Any:
    if text.lower() in ("none", "null"):
        return None
    for parse in (json.loads, ast.literal_eval):
        try:
            return parse(text)
        except (ValueError, SyntaxError):
            continue
    return {"true": True, "false": False}.get(text.lower(), text)


def columns(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the column options that were given, by the names that readers take."""
    given = {
        "qid": arguments.qid_column,
        "label": arguments.label_column,
        "document_id": arguments.document_column,
        "features": arguments.features,
    }
    return {name: value for name, value in given.items() if value is not None}


def read(path: str, arguments: argparse.Namespace, **by_format: Any) -> Queries:
    """Read the queries in a file of any format, as the shared options say."""
    from podium.data.io.formats import read_file

    return read_file(path, columns(arguments), **by_format)
