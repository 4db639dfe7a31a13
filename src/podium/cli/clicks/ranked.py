"""Rankings that commands judge by a log of clicks: models, or files of scores."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING, Any, NamedTuple

from podium.cli import clicked, options, output

if TYPE_CHECKING:
    import numpy as np

    from podium.data.clicks import Clicks
    from podium.data.io.trec import Run
    from podium.data.queries import Queries

_ARCHIVE = b"PK"
"""What files of models begin with."""


class Ranked(NamedTuple):
    """A log, and rankings of its documents or of candidates."""

    clicks: Clicks
    candidates: Queries | None
    scores: list[np.ndarray]
    """One array per ranking, in the order of the rows of ``candidates``, or of ``clicks.queries`` without these."""


def add_options(parser: options.Parser) -> None:
    """Add the options that say which documents are ranked and where features are."""
    parser.option("--bias FILE", "what places did to clicks, by `podium clicks bias`", required=True)
    parser.option(
        "--candidates FILE",
        "the documents that are ranked, with features for models; they may be others than those shown: CSV, Parquet or "
        "LETOR with query and document (default: the documents of the log; of files of scores, all that they have)",
    )
    parser.option(
        "--features A,B,…",
        "for models: columns of the log that are features, or a file in which they are found by query and document "
        "(default: those that a model names, or else all other columns of numbers)",
        type=options.comma_list,
    )
    options.add_part_option(parser)
    clicked.add_log_columns(parser)


def read(arguments: argparse.Namespace, log: str, paths: list[str]) -> Ranked:
    """Return the log and the scores of the rankings in these files."""
    from podium.data import read_clicks
    from podium.data.io.clicks import read_candidates
    from podium.data.io.files import first_bytes
    from podium.data.io.scored import documents_of, read_scored

    if arguments.candidates and arguments.features:
        raise ValueError("--candidates has the features: leave out --features")
    if first_bytes(log).startswith(_ARCHIVE):
        raise ValueError(f"{log} is a model, and stands where the log is expected; see --help for the order")
    models, runs = {}, {}
    for path in paths:
        if first_bytes(path).startswith(_ARCHIVE):
            models[path] = options.load_document_model(arguments, path)
        else:
            runs[path] = read_scored(path)
    width = max((model.n_features_in_ for model in models.values()), default=None)
    candidates = read_candidates(arguments.candidates, n_features=width) if arguments.candidates else None
    wanted = _features(arguments, log, list(models.values())) if models and candidates is None else None
    clicks = read_clicks(log, features=wanted, **clicked.log_columns(arguments))
    if candidates is None and not models:
        candidates = documents_of(list(runs.values()))
        _note_unranked(clicks, candidates)
    ranked = clicks.queries if candidates is None else candidates
    scores = [_by_model(path, models[path], ranked) if path in models else _of_run(path, runs[path], ranked)
              for path in paths]  # fmt: skip
    return Ranked(clicks, candidates, scores)


def _features(arguments: argparse.Namespace, log: str, models: list[Any]) -> Any:
    """Return what ``read_clicks`` takes the models' features from."""
    from podium.data.io.clicks import columns_of, feature_columns

    given = arguments.features
    if given is not None:
        return given[0] if len(given) == 1 and os.path.exists(given[0]) else given  # noqa: PTH110
    names = [named for model in models if (named := getattr(model, "feature_names_in_", None)) is not None]
    if len(names) < len(models):
        return feature_columns(log, **clicked.log_columns(arguments))
    wanted = list(dict.fromkeys(name for named in names for name in named))
    there = set(columns_of(log))
    missing = [name for name in wanted if name not in there]
    if missing:
        raise ValueError(
            f"{log} lacks {len(missing)} of the {len(wanted)} features of the models, first {missing[0]!r}: "
            "--features FILE looks them up by query and document, and --candidates FILE those of other documents, too"
        )
    return wanted


def _by_model(path: str, model: Any, queries: Queries) -> np.ndarray:
    """Return a model's scores of documents, which may have other features besides its own."""
    own, known = getattr(model, "feature_names_in_", None), queries.feature_names
    if own is not None and known is not None and tuple(own) != known:
        missing = [name for name in own if name not in known]
        if missing:
            raise ValueError(f"{path} needs the feature {missing[0]!r}, which the documents lack")
        queries = queries.with_features(queries.features[:, [known.index(name) for name in own]], list(own))
    scores: np.ndarray = model.predict(queries)
    return scores


def _of_run(path: str, run: Run, queries: Queries) -> np.ndarray:
    from podium.data.io.scored import scores_of
    from podium.data.io.tables import naming

    with naming(path):
        return scores_of(run, queries)


def _note_unranked(clicks: Clicks, ranked: Queries) -> None:
    """Say how many queries of the log have no ranking."""
    known = {str(qid) for qid in ranked.qids.tolist()}
    without = sum(str(qid) not in known for qid in clicks.queries.qids.tolist())
    if without:
        output.note(f"{without} of the {len(clicks.queries)} queries of the log are not ranked and do not count")
