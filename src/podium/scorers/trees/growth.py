"""Trees while they are grown by LightGBM."""

import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from podium.core.wording import did_you_mean
from podium.data.queries import Queries
from podium.numerics.trees.lightgbm_text import bare_text, constant_text, divided_text, joined_text
from podium.scorers.growing import GrowthStart, Machines
from podium.scorers.trees.binning import binned, reads_in_blocks
from podium.scorers.trees.model import TreesModel, import_lightgbm, rows_for_lightgbm

VALUES_AT_ONCE = 2**20
"""Feature values, about, of the documents that a model to add to scores at a time."""


class TreeGrowth:
    """The trees so far, and LightGBM to grow more."""

    def __init__(
        self,
        parts: Sequence[Queries],
        validation: Sequence[Queries],
        start: GrowthStart,
        settings: dict[str, Any],
        categorical: list[int],
    ) -> None:
        assert start.init is None or isinstance(start.init, TreesModel)
        self.constant, self.init = start.constant, start.init
        self.n_features = parts[0].n_features
        self.scores = self._start_scores(parts).astype(np.float32)
        self._validation_start = self._start_scores(validation) if validation else np.zeros(0)
        self._has_validation, self._on_network = bool(validation), "machines" in settings
        self.booster = self._start(parts, validation, settings, categorical)

    @property
    def validation_scores(self) -> np.ndarray:
        """The scores of the validation documents, which LightGBM keeps up to date."""
        if self.booster is None or not self._has_validation:
            return self._validation_start
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
            return TreesModel(constant_text(self.n_features, self.constant))
        if self.constant != 0.0:
            booster = import_lightgbm().Booster(model_str=booster.model_to_string(num_iteration=n_trees))
            for leaf in range(booster.dump_model(num_iteration=1)["tree_info"][0]["num_leaves"]):
                booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + self.constant)
        return TreesModel(bare_text(booster.model_to_string(num_iteration=n_trees)))

    def mean(self, n_trees: int, constant: float) -> TreesModel:
        """Return the mean of the first trees, plus a constant: one more tree, of a single leaf, if it is not 0."""
        text = divided_text(self.model(n_trees).text, n_trees)
        return TreesModel(joined_text(text, constant_text(self.n_features, constant)) if constant else text)

    def check_names(self, names: Iterable[str]) -> None:
        """Raise ValueError for a parameter that LightGBM does not know: it ignores these. Its text lists the others."""
        known = [] if self.booster is None else re.findall(r"^\[(\w+):", self.booster.model_to_string(), re.MULTILINE)
        for name in names:
            if known and name not in known:
                raise ValueError(f"LightGBM has no parameter whose main name is {name!r}.{did_you_mean(name, known)}")

    def close(self) -> None:
        if self.booster is not None and self._on_network:
            self.booster.free_network()

    def _start(
        self, parts: Sequence[Queries], validation: Sequence[Queries], settings: dict[str, Any], categorical: list[int]
    ) -> Any:
        """Return LightGBM's object, with the features binned; None if no feature leaves anything to split."""
        lightgbm = import_lightgbm()
        names = parts[0].feature_names
        plain = (
            names is not None
            and len(set(names)) == len(names)
            and all(re.fullmatch(r"[A-Za-z0-9_.-]+", n) for n in names)
        )
        label = np.zeros(sum(part.n_documents for part in parts), np.float32)
        start, feature_name = self._initial_scores(parts), list(names) if plain and names else "auto"
        on_network = "machines" in settings
        booster = None
        try:
            if reads_in_blocks(parts) and not on_network:
                data = binned(parts, settings | ({"categorical_column": categorical} if categorical else {}))
                data.set_label(label).set_init_score(start).set_feature_name(feature_name)
                data.label = data.init_score = None  # LightGBM has copies
            else:
                data = lightgbm.Dataset(
                    joined_rows(parts),
                    label=label,
                    init_score=start,
                    feature_name=feature_name,
                    categorical_feature=categorical or "auto",
                    params=settings,
                )
            if on_network:
                # Only now does the network exist, and bins must be found over it: else every process has its own.
                booster = lightgbm.Booster(settings, data)
            data.construct()
            if not any(data.feature_num_bin(j) for j in range(self.n_features)):
                return None  # all are constant, or there are fewer documents than two leaves need
            booster = booster or lightgbm.Booster(settings, data)
            if validation:
                booster.add_valid(self._binned_alike(data, validation), "validation")
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"LightGBM refuses these settings: {error}") from None
        return booster

    def _binned_alike(self, data: Any, validation: Sequence[Queries]) -> Any:
        """Return validation queries for LightGBM, binned as the training data are."""
        start = self._initial_scores(validation)
        if not reads_in_blocks(validation):
            return data.create_valid(joined_rows(validation), init_score=start, params=data.get_params())
        other = binned(validation, data.get_params(), reference=data)
        other.set_init_score(start).init_score = None
        return other

    def _initial_scores(self, parts: Sequence[Queries]) -> np.ndarray | None:
        return None if self.constant == 0.0 and self.init is None else self._start_scores(parts)

    def _start_scores(self, parts: Sequence[Queries]) -> np.ndarray:
        if self.init is None:
            return np.full(sum(part.n_documents for part in parts), self.constant)
        return np.concatenate([self.init.scores(block) for part in parts for block in part.in_blocks(VALUES_AT_ONCE)])


def network_settings(network: Machines | None) -> dict[str, Any]:
    """Return the parameters by which LightGBM grows trees together with other processes."""
    if network is None:
        return {}
    threads = {"num_threads": network.n_threads}
    if len(network.addresses) == 1:
        return threads
    return threads | {
        "machines": ",".join(f"{host}:{port}" for host, port in network.addresses),
        "num_machines": len(network.addresses),
        "local_listen_port": network.addresses[network.number][1],
        "tree_learner": "data",
        "pre_partition": True,
        "time_out": 1,  # minutes to wait for the others at the start
    }


def joined_rows(parts: Sequence[Queries]) -> Any:
    """Return the features of all parts as LightGBM takes them; dense ones are not copied."""
    rows = [rows_for_lightgbm(part) for part in parts]
    if len(rows) == 1:
        return rows[0]
    if all(part.is_sparse for part in parts):
        from scipy import sparse

        return sparse.vstack(rows, format="csr")
    return [row.toarray() if part.is_sparse else row for row, part in zip(rows, parts, strict=True)]


def _shown_scores(evaluate: Callable[..., Any]) -> np.ndarray:
    """Return scores that LightGBM keeps, which it shows to metrics only."""
    seen: list[np.ndarray] = []

    def look(scores: np.ndarray, data: Any) -> tuple[str, float, bool]:
        seen.append(scores)
        return "", 0.0, True

    evaluate(look)
    return seen[0]
