"""Podium: learning to rank lists that have ties.

Names are imported when first used (PEP 562), so that ``import podium`` and ``podium --help`` stay quick: the numerical
libraries behind them take seconds to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from podium.version import __version__

_MODULES = ("data", "experiments", "losses", "metrics", "rankers", "ratings", "scorers", "torch", "training")

_HOME = {
    "Queries": "podium.data.queries",
    "train_test_split": "podium.data.splits",
    "k_folds": "podium.data.splits",
    "read_letor": "podium.data.io.letor.reader",
    "write_letor": "podium.data.io.letor.writer",
    "read_table": "podium.data.io.tables",
    "read_queries": "podium.data.io.formats",
    "read_qrels": "podium.data.io.trec",
    "read_run": "podium.data.io.trec",
    "write_run": "podium.data.io.trec",
    "make_queries": "podium.data.synthetic",
    "Preferences": "podium.data.preferences",
    "Ratings": "podium.ratings.data",
    "read_ratings": "podium.ratings.files",
    "make_ratings": "podium.ratings.synthetic",
    "given_n": "podium.ratings.splits",
    "held_out_users": "podium.ratings.splits",
    "leave_one_out": "podium.ratings.splits",
    "time_split": "podium.ratings.splits",
    "evaluate": "podium.metrics",
    "evaluate_ratings": "podium.ratings.evaluation",
    "metric": "podium.metrics",
    "compare": "podium.experiments",
    "compare_ratings": "podium.ratings",
    "load": "podium.files.models",
    **dict.fromkeys(
        (
            "Ranker",
            "ListNet",
            "ListMLE",
            "RankNet",
            "RankSVM",
            "RankRegress",
            "PMOP",
            "PairTies",
            "StructRank",
            "LambdaRank",
            "Regression",
            "RandomRanker",
            "BestFeature",
            "BoltzRank",
            "GBDT",
            "GBRank",
            "IntervalRank",
            "IsotonicRank",
            "LambdaMART",
            "QueryOffset",
            "SoftRank",
            "AdaRank",
            "RankBoost",
            "FRank",
        ),
        "podium.rankers",
    ),
    **dict.fromkeys(
        (
            "FactorRanker",
            "PMOPFactors",
            "PlackettLuceFactors",
            "TasteFactors",
            "ItemMean",
            "PMF",
            "CoFiRank",
            "GlobalRanking",
        ),
        "podium.ratings",
    ),
}

__all__ = ["__version__", *_MODULES, *_HOME]


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"podium.{name}")
    if name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'podium' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)
