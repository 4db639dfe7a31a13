"""What :class:`podium.Auto` tries: methods that are good in general, each with a few conservative settings.

No trial is stopped early, so that a validation query judges only what it did not help to choose, and so that the final
fit is the same as the trials but for the number of queries.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from podium.data.queries import Queries
from podium.experiments.plan.domain import QUERIES
from podium.experiments.plan.methods import Setting, StudyMethod
from podium.rankers.methods import accepted

LINEAR: dict[str, tuple[float, ...]] = {
    "listnet": (0.01, 0.001, 0.1),
    "ranksvm": (0.01, 0.1),
    "ranknet": (0.01,),
    "pmop": (0.01, 0.1),
    "regression": (0.01,),
}
"""Penalties of linear methods."""
SMALL = {"n_trees": 150, "n_leaves": 7, "learning_rate": 0.05}
MEDIUM = {"n_trees": 300, "n_leaves": 15, "learning_rate": 0.05}
LARGE = {"n_trees": 500, "n_leaves": 31, "learning_rate": 0.05}
TREES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("lambdamart", SMALL),
    ("listnet-trees", SMALL),
    ("pmop-trees", SMALL),
    ("gbdt", SMALL),
    ("lambdamart", MEDIUM),
    ("gbdt", MEDIUM),
    ("listnet-trees", MEDIUM),
)
MANY_DOCUMENTS = 5_000
"""From here on larger trees are tried too."""
RESCALED = ("listnet", "ranksvm", "lambdamart", "gbdt")
"""Methods that are also tried on features rescaled within each query, where the model may look at whole lists."""
OTHERS = ("adarank-map", "rankboost", "best-feature")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A method with one setting."""

    method: StudyMethod
    setting: Setting

    @property
    def name(self) -> str:
        """What it is called in messages and as the member of a blend."""
        shown = {"n_leaves": "leaves", "l2": "l2"}
        sizes = [f"{shown[key]} {value}" for key, value in self.setting.parameters.items() if key in shown]
        return " ".join([self.method.name, *sizes, *["minmax"] * self.needs_lists])

    @property
    def needs_lists(self) -> bool:
        """Whether features are rescaled within each query."""
        return self.setting.parameters.get("normalize") == "minmax"

    @property
    def takes_seed(self) -> bool:
        return self.setting.seed is not None and self.method.kind == "trees"

    def ranker(self) -> Any:
        """Return the unfitted ranker."""
        return self.method.ranker(self.setting).ranker


class WithoutValidation:
    """A ranker whose fit is given no validation queries."""

    def __init__(self, ranker: Any) -> None:
        self.ranker = ranker

    def fit(self, queries: Queries, callback: Any = None) -> Self:
        self.ranker.fit(queries, **({} if callback is None else {"callback": callback}))
        return self

    def predict(self, queries: Queries) -> np.ndarray:
        return np.asarray(self.ranker.predict(queries))


def candidates(
    queries: Queries, methods: Sequence[str] | None, seed: int, *, per_document: bool = False
) -> list[Candidate]:
    """Return what is tried on data of this size, the most useful first; ``methods`` restricts it to these.

    With ``per_document`` all are functions of one document's features that engines can compute.
    """
    leaf = int(np.clip(queries.n_documents // 60, 5, 50))
    sampled = {"feature_fraction": 0.5, "query_fraction": 0.7}
    listed: dict[str, list[dict[str, Any]]] = {name: [{"l2": l2} for l2 in values] for name, values in LINEAR.items()}
    grown = (*TREES, *((name, LARGE) for name in ("lambdamart", "gbdt") if queries.n_documents >= MANY_DOCUMENTS))
    for name, size in grown:
        documents = leaf if size is SMALL else min(leaf, 20)
        setting = {**size, "min_documents_in_leaf": documents, "tree_options": sampled}
        listed.setdefault(name, []).append(setting)
    if not per_document and not queries.is_sparse:
        for name in RESCALED:
            listed[name] += [{**listed[name][0], "normalize": "minmax"}]
    listed |= {name: [{}] for name in OTHERS}
    chosen = listed if methods is None else {name: listed.get(name, [{}]) for name in methods}
    found = []
    for name, settings in chosen.items():
        method = _method(name)
        general = accepted(method.build, {"normalize": "robust"})
        found += [Candidate(method, one) for one in method.settings([{**general, **own} for own in settings], seed)]
    order = dict.fromkeys(("listnet", "lambdamart", *LINEAR, "best-feature", *(name for name, _ in grown), *OTHERS))
    first = {name: i for i, name in enumerate(order)}
    return sorted(found, key=lambda c: (c.setting.number, first.get(c.method.name, len(first))))


def _method(name: str) -> StudyMethod:
    found = QUERIES.study_method(name)
    return replace(found, grid={}, on_queries=WithoutValidation)
