"""Train a ranker of ratings and save it.

Train a method on users' ratings of items and save the model, for `podium ratings recommend`.

examples:
  podium ratings train u.data --method pmop-factors -o model.podium
  podium ratings train ratings.csv --columns who,film,stars --method pmf --set n_factors=20 -o model.podium
  podium ratings train u.data --method pmop-factors --tune -o model.podium
  podium ratings train u.data --method pmop-factors --valid later.data -o model.podium
  podium ratings train ratings.csv --method pmop-factors --item-features films.csv -o model.podium
  podium ratings train --from-run podium-runs/movielens/given-10 -o model.podium

--tune chooses the setting: three tenths of each user's ratings are held out, every setting of the method is fitted on
the rest and judged on them, and the best is fitted on all ratings. --from-run trains what `podium ratings compare`
picked, with the setting that was best over all its replicates. `podium methods --ratings` lists the methods.

Features are tables with a header, CSV or Parquet. Their column `item` or `user`, or else the first, has the ids; others
have numbers, or texts of one or several labels (Comedy|Drama). What nobody has rated is ranked by its features.
"""

from __future__ import annotations

import argparse
import shlex
import time
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from podium.cli import options, output
from podium.core.atomic import require_writable

if TYPE_CHECKING:
    from podium.metrics import Metric
    from podium.ratings.data import Ratings

_FEATURES = {"item_features": "--item-features", "user_features": "--user-features"}


def configure(parser: options.Parser) -> None:
    parser.option("data FILE", "text with user, item, rating on each line (also .gz), or Parquet", nargs="?")
    parser.option("--method NAME", "a name that `podium methods --ratings` lists, or module:name")
    parser.option("-o --out MODEL", "the file to write, such as model.podium", required=True)
    parser.option("--valid FILE", "held-out ratings of the same users: used for early stopping, and reported")
    parser.repeated("--set NAME=VALUE", "a parameter of the method", dest="settings", type=options.setting)
    columns = "the columns of user, item and rating, in a file with a header (default: the first three)"
    parser.option("--columns A,B,C", columns, type=options.comma_list)
    parser.option("--item-features TABLE", "what is known of items besides their ratings, for factors under a loss")
    parser.option("--user-features TABLE", "what is known of users")
    parser.option("--separator TEXT", "separates several labels in one field of these tables (default: |)", default="|")
    options.add_metrics_options(parser, "ndcg@10")
    options.add_seed_option(parser)
    group = parser.add_argument_group("choosing a setting")
    option = partial(parser.option, group=group)
    option("--tune", "search for the setting on held-out ratings")
    option("--search {grid,random,bayes}", "how to search (default: grid; random with --budget)")
    option("--budget N", "settings to try, for random and bayes", type=options.positive)
    finished = "the folder of a table of `podium ratings compare`: train its pick, or --method, on all its ratings"
    option("--from-run RUN", finished, type=Path)
    option("--data MOVED", "with --from-run: where its ratings are now", dest="moved")
    option("--trials DIR", "folder that keeps the trials (default: podium-runs/<data>-<method>)", type=Path)
    option("--jobs N", "worker processes (default: one per core)", type=options.positive)
    parser.option("--quiet", "show no progress on standard error")
    parser.option("--verbose", "show the training, iteration by iteration")
    parser.option("--json", "print the summary as JSON")


@dataclass(frozen=True)
class Trained:
    """A fitted ranker, and what is told about it."""

    name: str
    ranker: Any
    parts: dict[str, Ratings]
    """``training``, and ``validation`` if there is such a part."""
    files: dict[str, str]
    seconds: float
    lines: list[str] = field(default_factory=list)
    facts: dict[str, Any] = field(default_factory=dict)


def run(arguments: argparse.Namespace) -> int:
    from podium.metrics import import_metrics, metric
    from podium.rankers.fitted import was_interrupted

    _check(arguments)
    metrics = [metric(name, arguments.convention) for name in import_metrics(arguments.metrics)]
    if not metrics:
        raise ValueError("--metrics names no metric: give at least one, such as ndcg@10")
    require_writable(arguments.out)  # better before the training than after it
    trained = _train(arguments, metrics[0])
    if was_interrupted(trained.ranker):
        raise KeyboardInterrupt("interrupted; nothing was written")
    _save(trained, arguments)
    _report(trained, metrics, arguments)
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise ValueError if options do not go together."""
    if arguments.from_run is not None:
        refused = {"data": "FILE", "tune": "--tune", "valid": "--valid", "settings": "--set", "search": "--search"}
        refused |= _FEATURES
        if wrong := [option for name, option in refused.items() if getattr(arguments, name)]:
            where = " (the ratings of a run that were moved: --data)" if wrong[0] == "FILE" else ""
            raise ValueError(f"--from-run takes ratings and settings from the run: leave out {wrong[0]}{where}")
        return
    if arguments.data is None:
        raise ValueError("give the file of ratings, or --from-run RUN")
    if arguments.method is None:
        raise ValueError("give --method NAME, such as pmop-factors, or --from-run RUN; podium methods --ratings")
    if arguments.moved is not None:
        raise ValueError("--data goes with --from-run")
    if (arguments.search or arguments.budget) and not arguments.tune:
        raise ValueError("--search and --budget go with --tune")
    if arguments.tune and (wrong := [option for name, option in _FEATURES.items() if getattr(arguments, name)]):
        raise ValueError(f"--tune searches on ratings alone: leave out {wrong[0]}, or give the setting by --set")
    if arguments.tune and arguments.valid:
        raise ValueError("--tune holds out ratings itself: leave out --valid")


def _train(arguments: argparse.Namespace, watched: Metric) -> Trained:
    """Return the ranker that the options describe, fitted."""
    from podium.cli import parts
    from podium.files.models import require_savable
    from podium.ratings.estimator import RATING_METHODS

    began = time.perf_counter()
    if arguments.from_run is not None:
        return _from_run(arguments, began)
    general = {"random_state": arguments.seed, "verbose": 2 * arguments.verbose}
    ranker = parts.method(arguments.method, general, dict(arguments.settings), RATING_METHODS)
    require_savable(ranker)
    given = {"training": arguments.data, "validation": arguments.valid}
    files = {part: path for part, path in given.items() if path is not None}
    ratings = {part: _read(path, arguments) for part, path in files.items()}
    began = time.perf_counter()
    if arguments.tune:
        ranker = _tuned(arguments, ratings["training"], watched)
        found = ranker.tuning_
        facts = {"tuning": found.as_dict()}
        lines = _tuning_lines(found)
    else:
        known = {"features": found} if (found := _features(arguments)) else {}
        ranker.fit(ratings["training"], eval_set=ratings.get("validation"), eval_metric=watched, **known)
        lines, facts = [], {}
    return Trained(arguments.method, ranker, ratings, files, time.perf_counter() - began, lines, facts)


def _features(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the features of items and users that were given."""
    from podium.ratings.features import read_features

    given = {"items": arguments.item_features, "users": arguments.user_features}
    separator = arguments.separator
    return {side: read_features(path, separator=separator) for side, path in given.items() if path is not None}


def _read(path: str, arguments: argparse.Namespace) -> Ratings:
    from podium.ratings.files import read_ratings

    ratings = read_ratings(path, columns=arguments.columns)
    if ratings.n_duplicates:
        output.note(
            f"podium: {path}: {ratings.n_duplicates:,} items rated again by the same user: the last rating counts"
        )
    return ratings


def _tuned(arguments: argparse.Namespace, ratings: Ratings, watched: Metric) -> Any:
    from podium.ratings.tuning import tune_ratings

    name = f"{options.data_name(arguments.data)}-{arguments.method.replace(':', '.')}"
    folder = arguments.trials or Path("podium-runs") / name
    with output.Reporter(arguments.quiet, folder) as reporter:
        return tune_ratings(
            arguments.method,
            ratings,
            metric=watched,
            search=arguments.search,
            budget=arguments.budget,
            settings=dict(arguments.settings),
            random_state=arguments.seed,
            out=folder,
            jobs=arguments.jobs,
            progress=reporter,
        )


def _from_run(arguments: argparse.Namespace, began: float) -> Trained:
    from podium.ratings.tuning import load_comparison, train_from_comparison

    comparison = load_comparison(arguments.from_run)
    name = arguments.method or comparison.pick
    where = arguments.moved or (comparison.run_facts.get("reading") or {}).get("path")
    with output.Reporter(arguments.quiet, arguments.from_run) as reporter:
        ranker = train_from_comparison(comparison, name, data=where, progress=reporter)
    facts = {"run": str(arguments.from_run), "tuning": ranker.tuning_.as_dict()}
    lines = _tuning_lines(ranker.tuning_)
    seconds = time.perf_counter() - began
    return Trained(str(name), ranker, {"training": ranker.seen_}, {"training": str(where)}, seconds, lines, facts)


def _save(trained: Trained, arguments: argparse.Namespace) -> None:
    from podium.files.provenance import file_facts

    data = {part: file_facts(trained.files[part]) | _counts(ratings) for part, ratings in trained.parts.items()}
    facts = {"command": arguments.typed, "method": trained.name, "data": data, **trained.facts}
    trained.ranker.save(arguments.out, dataset=trained.files["training"], provenance=facts)


def _tuning_lines(found: Any) -> list[str]:
    """Return lines that say what was chosen."""
    chosen = ", ".join(f"{name}={value}" for name, value in found.as_dict()["parameters"].items()) or "nothing to set"
    replicates = f" of {found.n_folds} replicates" if found.n_folds > 1 else ""
    lines = [
        f"  chosen among {found.n_settings} settings on held-out ratings{replicates}: {chosen}; "
        f"{found.metric} {found.value:.4f}"
    ]
    lines += [f"  fitted for {n} iterations, the best number on them" for n in found.carried.values()]
    return lines + [f"  {note}" for note in found.notes]


def _counts(ratings: Ratings) -> dict[str, int]:
    return {"ratings": len(ratings), "users": ratings.n_users, "items": ratings.n_items}


def _report(trained: Trained, metrics: list[Metric], arguments: argparse.Namespace) -> None:
    from podium.ratings.evaluation import evaluate_ratings

    judged = {
        part: evaluate_ratings(trained.ranker, ratings, metrics=metrics) for part, ratings in trained.parts.items()
    }
    following = shlex.join(["podium", "ratings", "recommend", arguments.out, "-n", "10", "-o", "recs.csv"])
    if arguments.json:
        summary = {"method": trained.name, "model": arguments.out, "seconds": trained.seconds}
        summary |= {"convention": arguments.convention, "recommend": following} | trained.facts
        output.print_json(summary | {part: found.mean for part, found in judged.items()})
        return
    print(f"{trained.name}: trained in {trained.seconds:.2f} s, written to {arguments.out}")
    for part, found in judged.items():
        figures = ", ".join(f"{name} ({arguments.convention}) {value:.4f}" for name, value in found.mean.items())
        counts = _counts(trained.parts[part])
        print(f"  {part}: {figures} on {', '.join(f'{n:,} {what}' for what, n in counts.items())}")
    for line in trained.lines:
        print(line)
    print(f"To recommend: {following}")
