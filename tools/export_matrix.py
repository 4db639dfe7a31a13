"""Write the table of docs/export/README.md, which models can be exported where: ``python tools/export_matrix.py``."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.export.target import targets

PAGE = Path(__file__).resolve().parents[1] / "docs" / "export" / "README.md"
START, END = "<!-- table: tools/export_matrix.py -->", "<!-- end of table -->"

NAMES = {
    "solr": "Solr",
    "opensearch": "OpenSearch",
    "elasticsearch": "Elasticsearch",
    "vespa": "Vespa",
    "onnx": "ONNX",
    "xgboost": "XGBoost",
    "lightgbm": "LightGBM",
    "sql": "SQL",
}


class _Square(podium.scorers.FunctionScorer):
    def n_parameters(self, n_features: int) -> int:
        return n_features

    def forward(self, theta: np.ndarray, queries: podium.Queries) -> Any:
        squares = queries.features**2
        return squares @ theta, lambda d_scores: squares.T @ d_scores


def _scored_by(scorer: Any, **settings: Any) -> Callable[[], Any]:
    return lambda: podium.Ranker(podium.losses.ListNetLoss(), scorer, random_state=0, **settings)


def _factors() -> Any:
    return podium.FactorRanker(podium.losses.PMOPLoss())


KINDS: dict[str, Callable[[], Any]] = {
    "linear: ListNet, RankSVM, PMOP and most others, AdaRank": podium.ListNet,
    "linear: CoordinateAscent, PRank": lambda: podium.PRank(epochs=5, random_state=0),
    "trees: RandomForest": lambda: podium.RandomForest(n_trees=5, n_leaves=7, random_state=0),
    "trees: LambdaMART, GBDT, GBRank and others": lambda: podium.LambdaMART(n_trees=5, n_leaves=7, random_state=0),
    "trees with categorical features": _scored_by(
        podium.scorers.Trees(
            n_trees=5, n_leaves=7, categorical=[3], lightgbm_params={"min_data_per_group": 2, "cat_smooth": 1}
        )
    ),
    "trees with `zero_as_missing`": _scored_by(
        podium.scorers.Trees(n_trees=5, n_leaves=7, lightgbm_params={"zero_as_missing": True})
    ),
    "rules: RankBoost, FRank": lambda: podium.RankBoost(n_rounds=20),
    "networks: `MLP`, BoltzRank": _scored_by(podium.scorers.MLP(hidden=(4, 3))),
    "pairwise potentials: BoltzRank(pairwise=True)": _scored_by(podium.scorers.Potentials()),
    "kernel regression: StructRank": _scored_by(podium.scorers.Kernel(n_landmarks=50)),
    "PyTorch modules, `Attention`": _scored_by(podium.scorers.Torch(None)),
    'features rescaled within the query: `normalize="minmax"`, `"zscore"`': lambda: podium.ListNet(normalize="zscore"),
    "blends": lambda: podium.Blend([podium.ListNet(), podium.GBDT(n_trees=2)]),
    "your own scorers": _scored_by(_Square()),
    "other packages' estimators: `podium.adapt`": lambda: podium.adapt(_Anything()),
    "RandomRanker": lambda: podium.RandomRanker(random_state=0),
    "models of ratings": _factors,
}
"""A ranker, not fitted, of each kind of model."""


class _Anything:
    def fit(self, X: Any, y: Any) -> _Anything:
        return self

    def predict(self, X: Any) -> np.ndarray:
        return np.asarray(X)[:, 0]


def refusals(kind: str) -> dict[str, str | None]:
    """Return for each format why models of a kind cannot be exported to it, or None if they can."""
    reasons = podium.export_refusals(KINDS[kind]())
    for name, target in targets().items():  # what only the trees say, once they are grown
        if ("categorical" in kind and not target.categorical) or ("zero" in kind and not target.zero_is_missing):
            reasons[name] = reasons[name] or "it has no such splits"
    return reasons


def table() -> str:
    """Return the table in Markdown: kinds of models by formats."""
    columns = [*NAMES, *(name for name in targets() if name not in NAMES)]
    lines = [
        "| models | " + " | ".join(NAMES.get(name, name) for name in columns) + " |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for kind in KINDS:
        reasons = refusals(kind)
        cells = ("yes" if reasons[name] is None else "–" for name in columns)
        lines.append(f"| {kind} | {' | '.join(cells)} |")
    return "\n".join(lines)


def page() -> str:
    """Return the page with the table as it should be."""
    head, _, rest = PAGE.read_text("utf-8").partition(START)
    return f"{head}{START}\n\n{table()}\n\n{END}{rest.partition(END)[2]}"


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
    print(f"written: {PAGE}")
