"""Podium: learning to rank lists that have ties.

Names are imported when first used (PEP 562), so that ``import podium`` and ``podium --help`` stay quick: the numerical
libraries behind them take seconds to load.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from podium.version import __version__

_MODULES = ("data", "experiments", "losses", "metrics", "rankers", "scorers", "torch", "training")

_HOME = {
    "Queries": "podium.queries",
    "train_test_split": "podium.splits",
    "k_folds": "podium.splits",
    "read_letor": "podium.data.letor",
    "write_letor": "podium.data.letor",
    "read_table": "podium.data.tables",
    "read_queries": "podium.data.tables",
    "read_qrels": "podium.data.trec",
    "read_run": "podium.data.trec",
    "write_run": "podium.data.trec",
    "make_queries": "podium.data.synthetic",
    "Preferences": "podium.data.preferences",
    "Ratings": "podium.data.ratings",
    "read_ratings": "podium.data.rating_files",
    "make_ratings": "podium.data.synthetic_ratings",
    "given_n": "podium.data.rating_splits",
    "held_out_users": "podium.data.rating_splits",
    "leave_one_out": "podium.data.rating_splits",
    "time_split": "podium.data.rating_splits",
    "evaluate": "podium.metrics",
    "evaluate_ratings": "podium.rankers.rating_evaluation",
    "metric": "podium.metrics",
    "compare": "podium.experiments",
    "compare_ratings": "podium.experiments",
    "load": "podium.saving",
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
            "GlobalRanking",
            "FactorRanker",
            "PMOPFactors",
            "PlackettLuceFactors",
            "TasteFactors",
            "ItemMean",
            "PMF",
            "CoFiRank",
        ),
        "podium.rankers",
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
