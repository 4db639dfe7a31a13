"""Options that several commands share, and parsers of their values."""

from __future__ import annotations

import argparse
import ast
import json
import math
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from podium.data.io.batches import Batch
    from podium.data.queries import Queries

DATA_HELP = "LETOR / SVMlight text (also .gz), CSV or Parquet"


class Parser(argparse.ArgumentParser):
    """An argument parser that takes names and value of an option as help shows them."""

    def option(self, spec: str, help: str, group: Any = None, **settings: Any) -> None:
        """Add an argument: ``"-o --out FILE"`` has a value, ``"--kind {a,b}"`` one of these, ``"--json"`` is a flag."""
        *names, last = spec.split()
        if last.startswith("-"):
            names, settings = [*names, last], {"action": "store_true", **settings}
        elif last.startswith("{"):
            settings["choices"] = last.strip("{}").split(",")
        else:
            settings["metavar"] = last
        (group or self).add_argument(*names, help=help, **settings)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, and refuse what is not known here, where the options are known that may be meant."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            known = [name for action in self._actions for name in action.option_strings]
            self.error(f"unrecognized arguments: {' '.join(unknown)}{_meant(unknown, known)}")
        return found, unknown

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        try:
            super()._check_value(action, value)
        except argparse.ArgumentError as error:
            error.message += _meant([str(value)], list(map(str, action.choices or ())))
            raise

    def repeated(self, spec: str, help: str, dest: str, **settings: Any) -> None:
        """Add an option whose values are collected in a list."""
        help = f"{help}; may be given several times"
        self.option(spec, help, action="append", default=[], dest=dest, **settings)


def _meant(unknown: list[str], known: list[str]) -> str:
    """Return what was perhaps meant by words that are not known, to be added to a message."""
    near = {word: get_close_matches(word.partition("=")[0], known, 1) for word in unknown}
    return "".join(f"\n  {word}: did you mean {found[0]}?" for word, found in near.items() if found)


def add_data_options(parser: Parser) -> None:
    """Add the options that name the columns of a CSV or Parquet file."""
    group = parser.add_argument_group("columns of CSV and Parquet files")
    parser.option("--qid-column NAME", "query ids (default: qid)", group)
    parser.option("--label-column NAME", "grades (default: label)", group)
    parser.option("--document-column NAME", "document ids (default: document_id, if there is one)", group)
    features = "features (default: all other columns that hold numbers; the others are named)"
    parser.option("--features A,B,…", features, group, type=comma_list)


def add_normalize_option(parser: Parser) -> None:
    parser.option(
        "--normalize {none,standard,robust,minmax,zscore}",
        "rescale features: robust takes logarithms of features with heavy tails, then uses mean and deviation of the "
        "training set; standard does without logarithms; minmax and zscore act within each query, which engines that "
        "score one document at a time cannot do (default: robust)",
        default="robust",
    )


def add_metrics_options(parser: Parser, metrics: str, convention: str | None = "standard") -> None:
    """Add the options of metrics and their convention, whose default depends on the data if it is None here."""
    parser.option(
        "--metrics M,…",
        "metrics such as ndcg@10, map or p@5, or module:name for one of your own; podium evaluate --list-metrics "
        "lists all (default: %(default)s)",
        type=comma_list,
        default=metrics,
    )
    parser.option(
        "--convention NAME",
        "the rules that metrics follow, such as standard, letor or trec; podium evaluate --list-metrics lists all "
        f"(default: {convention or 'standard; trec with --qrels'})",
        default=convention,
    )


def add_search_options(parser: Parser, primary: str) -> None:
    """Add the options of a search for hyper-parameters, and the seed; ``primary`` describes that metric's default."""
    what = f"selects hyper-parameters on validation data, orders the table and is tested (default: {primary})"
    parser.option("--primary METRIC", what)
    parser.option(
        "--search {grid,random,bayes}",
        "how to search for hyper-parameters (default: grid; bayes needs Optuna: pip install podium-rank[search])",
        default="grid",
    )
    parser.option("--budget N", "trials per method and fold, for random and bayes", type=positive)
    add_seed_option(parser)


def add_seed_option(parser: Parser) -> None:
    parser.option("--seed N", "seed of all random choices (default: 0)", type=int, default=0)


def add_run_options(parser: Parser) -> None:
    """Add the options of how a comparison is run and where its results are written."""
    parser.option("--jobs N", "worker processes (default: one per core)", type=positive)
    parser.option(
        "--dask ADDRESS",
        "compute on the workers of the Dask cluster whose scheduler is at this address, such as tcp://host:8786, or on "
        "those of one started here: local (needs podium-rank[dask])",
    )
    parser.option("--out DIR", "folder for the results (default: podium-runs/<name of the data>)", type=Path)
    parser.option("--json", "print the results as JSON")
    parser.option("--quiet", "show no progress on standard error")


def study(arguments: argparse.Namespace, *names: str) -> dict[str, Any]:
    """Return the shared options of a comparison, and those named, as the functions for comparing take them."""
    from podium.metrics import import_metrics

    given = {
        name: getattr(arguments, name) for name in ("methods", "convention", "search", "budget", "jobs", "dask", *names)
    }
    primary = arguments.primary and import_metrics([arguments.primary])[0]
    metrics = arguments.metrics and import_metrics(arguments.metrics)
    return given | {"metrics": metrics, "primary": primary, "random_state": arguments.seed}


def normalization(arguments: argparse.Namespace) -> str | None:
    """Return the value of ``--normalize`` as rankers take it."""
    return None if arguments.normalize == "none" else str(arguments.normalize)


def add_part_option(parser: Parser) -> None:
    """Add the option that names the user's own code in a model file."""
    own = "a class or function of your own that the model names, to be imported"
    parser.repeated("--part MODULE:NAME", own, dest="parts")
    parser.option(
        "--module MODULE:NAME",
        "for a model of PyTorch: the module, or the class or function that makes it, of the architecture trained",
    )


def load_model(arguments: argparse.Namespace, path: str | None = None) -> Any:
    """Return the ranker in the file ``arguments.model``, or in another one, with the parts that ``--part`` names."""
    from podium.core.user_objects import import_user_object
    from podium.files.models import MissingPartsError, load

    path = path or str(arguments.model)
    try:
        supplied = {"module": _torch_module(arguments.module)} if arguments.module else {}
        return load(path, parts={name: import_user_object(name) for name in arguments.parts}, **supplied)
    except MissingPartsError as error:
        wanted = " ".join(f"--part {name}" for name in error.names)
        raise ValueError(
            f"{path} names code that is not Podium's, which is imported only if you say so: {wanted}"
        ) from None


def load_rating_model(arguments: argparse.Namespace) -> Any:
    """Return the ranker of ratings in the file ``arguments.model``; raise ValueError if it is one of documents."""
    from podium.ratings.estimator import RatingRanker

    ranker = load_model(arguments)
    if not isinstance(ranker, RatingRanker):
        raise ValueError(
            f"{arguments.model} is a model of documents ({type(ranker).__name__}): podium rank ranks them; "
            "podium ratings train makes models of ratings"
        )
    return ranker


def load_document_model(arguments: argparse.Namespace, path: str | None = None) -> Any:
    """Return the ranker of documents in ``path`` or ``arguments.model``; raise ValueError if it is one of ratings."""
    ranker = load_model(arguments, path)
    if not hasattr(ranker, "n_features_in_"):
        raise ValueError(
            f"{path or arguments.model} is a model of users' ratings ({type(ranker).__name__}), which scores no "
            "documents: podium ratings recommend ranks items for users"
        )
    return ranker


def _torch_module(name: str) -> Any:
    from podium.core.user_objects import import_user_object

    found = import_user_object(name)
    return found if hasattr(found, "state_dict") and not isinstance(found, type) else found()


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


def number(text: str, what: str, below: float = math.inf) -> float:
    """Parse a positive number; ``what`` it is, for the error message."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < below:
        raise argparse.ArgumentTypeError(f"{text!r} is not {what}")
    return value


def named(text: str, form: str = "NAME=VALUE") -> tuple[str, str]:
    """Parse ``"table=documents"`` into a name and a text, neither of them empty."""
    name, _, value = (part.strip() for part in text.partition("="))
    if not name or not value:
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form {form}")
    return name, value


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


def data_name(data: str | None) -> str:
    """Return what the folder of a run is called by default, after its data."""
    if data is None:
        return "synthetic"
    path = Path(data).resolve()
    return path.name if path.is_dir() else path.name.split(".")[0]


def read(path: str | Path, arguments: argparse.Namespace, **by_format: Any) -> Queries:
    """Read the queries in a file of any format, as the shared options say."""
    from podium.data.io.formats import read_file

    return read_file(path, columns(arguments), **by_format)


def read_documents_in_batches(
    path: str, arguments: argparse.Namespace, ranker: Any, whole_queries: bool
) -> Iterator[Batch]:
    """Yield documents with the features of a fitted ranker, some at a time."""
    from podium.data.io.batches import read_batches

    n = ranker.n_features_in_
    return read_batches(path, columns(arguments), n_features=n, whole_queries=whole_queries, **_features_of(ranker))


def read_documents(path: str, arguments: argparse.Namespace, ranker: Any) -> Queries:
    """Read documents with the features of a fitted ranker; the grades of a table are not read."""
    table = {"label": None, **_features_of(ranker)}
    return read(path, arguments, table=table, letor={"n_features": ranker.n_features_in_, "labeled": False})


def _features_of(ranker: Any) -> dict[str, list[Any]]:
    names = getattr(ranker, "feature_names_in_", None)
    return {} if names is None else {"features": list(names)}


def read_feature_names(path: str, n: int) -> list[str]:
    """Read the names of ``n`` features, one per line."""
    from podium.data.io.files import read_text

    text = read_text(path)
    lines = [line.strip() for line in text.rstrip("\n").split("\n")] if text.strip() else []
    for number, name in enumerate(lines, start=1):
        if not name:
            raise ValueError(
                f"{path}:{number}: an empty line; every line is the name of a feature, in the model's order"
            )
        if name in lines[: number - 1]:
            raise ValueError(f"{path}:{number}: the name {name!r} is in line {lines.index(name) + 1} already")
    if len(lines) > n:
        raise ValueError(f"{path}:{n + 1}: a name too many ({lines[n]!r}): the model has {n} features")
    if len(lines) < n:
        raise ValueError(f"{path}:{len(lines)}: the file ends after {len(lines)} names, but the model has {n} features")
    return lines
