"""Trees while they are grown by LightGBM."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.numerics.trees.lightgbm_text import bare_text, constant_text, joined_text
from podium.scorers.trees.model import TreesModel, import_lightgbm, rows_for_lightgbm


class TreeGrowth:
    """The trees so far, and LightGBM to grow more."""

    def __init__(
        self,
        queries: Queries,
        validation: Queries | None,
        constant: float,
        settings: dict[str, Any],
        categorical: list[int],
        init: TreesModel | None = None,
    ) -> None:
        self.queries, self.validation, self.constant, self.init = queries, validation, constant, init
        self.scores = self._start_scores(queries).astype(np.float32)
        self.booster = self._start(settings, categorical)

    @property
    def validation_scores(self) -> np.ndarray:
        """The scores of the validation documents, which LightGBM keeps up to date."""
        assert self.validation is not None
        if self.booster is None:
            return self._start_scores(self.validation)
        return _shown_scores(self.booster.eval_valid)

    def add_tree(self, gradient: np.ndarray, curvature: np.ndarray) -> bool:
        """Grow a tree; return False if there was nothing to split."""
        if self.booster is None:
            return False
        finished = self.booster.update(fobj=lambda scores, data: (gradient, curvature))
        self.scores = _shown_scores(self.booster.eval_train).astype(np.float32)  # the type of LightGBM's gradients, too
        return not finished

    def model(self, n_trees: int) -> TreesModel:
        """Return the first trees, added to those of a fitted model, or with the constant added to the first."""
        booster = self.booster
        if self.init is not None:
            grown = None if booster is None else bare_text(booster.model_to_string(num_iteration=n_trees))
            return self.init if grown is None else TreesModel(joined_text(self.init.text, grown))
        if booster is None:
            return TreesModel(constant_text(self.queries.n_features, self.constant))
        if self.constant != 0.0:
            booster = import_lightgbm().Booster(model_str=booster.model_to_string(num_iteration=n_trees))
            for leaf in range(booster.dump_model(num_iteration=1)["tree_info"][0]["num_leaves"]):
                booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + self.constant)
        return TreesModel(bare_text(booster.model_to_string(num_iteration=n_trees)))

    def check_names(self, names: Iterable[str]) -> None:
        """Raise ValueError for a parameter that LightGBM does not know: it ignores these. Its text lists the others."""
        known = [] if self.booster is None else re.findall(r"^\[(\w+):", self.booster.model_to_string(), re.MULTILINE)
        for name in names:
            if known and name not in known:
                near = difflib.get_close_matches(name, known, n=3)
                meant = f" Did you mean {' or '.join(near)}?" if near else ""
                raise ValueError(f"LightGBM has no parameter whose main name is {name!r}.{meant}")

    def _start(self, settings: dict[str, Any], categorical: list[int]) -> Any:
        """Return LightGBM's object, with the features binned; None if no feature leaves anything to split."""
        lightgbm = import_lightgbm()
        queries, names = self.queries, self.queries.feature_names
        plain = (
            names is not None
            and len(set(names)) == len(names)
            and all(re.fullmatch(r"[A-Za-z0-9_.-]+", n) for n in names)
        )
        data = lightgbm.Dataset(
            rows_for_lightgbm(queries),
            label=np.zeros(queries.n_documents, np.float32),
            init_score=self._initial_scores(queries),
            feature_name=list(names) if plain else "auto",  # type: ignore[arg-type]
            categorical_feature=categorical or "auto",
            params=settings,
            free_raw_data=True,
        )
        try:
            data.construct()
            if not any(data.feature_num_bin(j) for j in range(queries.n_features)):
                return None  # all are constant, or there are fewer documents than two leaves need
            booster = lightgbm.Booster(settings, data)
            if self.validation is not None:
                rows = rows_for_lightgbm(self.validation)
                other = data.create_valid(rows, init_score=self._initial_scores(self.validation))
                booster.add_valid(other, "validation")
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"LightGBM refuses these settings: {error}") from None
        return booster

    def _initial_scores(self, queries: Queries) -> np.ndarray | None:
        return None if self.constant == 0.0 and self.init is None else self._start_scores(queries)

    def _start_scores(self, queries: Queries) -> np.ndarray:
        return np.full(queries.n_documents, self.constant) if self.init is None else self.init.scores(queries)


def _shown_scores(evaluate: Callable[..., Any]) -> np.ndarray:
    """Return scores that LightGBM keeps, which it shows to metrics only."""
    seen: list[np.ndarray] = []

    def look(scores: np.ndarray, data: Any) -> tuple[str, float, bool]:
        seen.append(scores)
        return "", 0.0, True

    evaluate(look)
    return seen[0]
