"""The data that the papers' experiments use, or tiny synthetic lists in their place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

import podium

SETS = {
    "ohsumed": "OHSUMED (LETOR 2.0): 106 queries, 25 features, three grades, the five official folds",
    "lightgbm-rank": "LightGBM's example: 201 + 50 queries, 300 features, five grades",
    "mslr": "MSLR-WEB10K sample: 43 + 43 queries, 136 features, five grades",
}
CONVENTIONS = {"ohsumed": "letor", "lightgbm-rank": "standard", "mslr": "standard"}


class Fold(NamedTuple):
    """Training, validation and test queries."""

    name: str
    train: podium.Queries
    valid: podium.Queries
    test: podium.Queries


@dataclass(frozen=True)
class Data:
    """The folder of data sets; with ``quick``, tiny synthetic lists and ratings in place of all of them."""

    folder: Path | None
    quick: bool = False

    def folds(self, name: str, seed: int = 0) -> list[Fold]:
        """Return the folds of a set of :data:`SETS`.

        A fifth of the training queries of sets without a validation part is drawn for it by ``seed``.
        """
        if name not in SETS:
            raise ValueError(f"no data set {name!r}; there are {', '.join(SETS)}")
        return _read(self, name, seed)

    def ratings(self) -> podium.Ratings:
        """Return MovieLens 100K, or few synthetic ratings."""
        if self.quick:
            from podium.ratings.synthetic import make_ratings

            return make_ratings(n_users=30, n_items=40, n_ratings=900, random_state=0)
        return podium.read_ratings(self._there("movielens-100k") / "u.data.gz")

    def _there(self, name: str) -> Path:
        if self.folder is None or not (self.folder / name).is_dir():
            raise FileNotFoundError(f"no folder {name}/ of data: set PODIUM_DATA to the folder that has it")
        return self.folder / name

    def _ohsumed(self, _: int) -> Iterator[Fold]:
        for k in range(1, 6):
            folder = self._there("ohsumed") / f"Fold{k}"
            parts = [podium.read_letor(folder / f"{part}set.txt.gz") for part in ("training", "validation", "test")]
            yield Fold(f"Fold{k}", *parts)

    def _mslr(self, seed: int) -> Iterator[Fold]:
        train, test = (podium.read_letor(self._there("mslr-sample") / f"{part}.txt.gz") for part in ("train", "test"))
        yield Fold("all", *podium.train_test_split(train, test_size=0.2, random_state=seed), test)

    def _lightgbm_rank(self, seed: int) -> Iterator[Fold]:
        train, test = (self._sparse(part) for part in ("train", "test"))
        yield Fold("all", *podium.train_test_split(train, test_size=0.2, random_state=seed), test)

    def _sparse(self, part: str) -> podium.Queries:
        from sklearn.datasets import load_svmlight_file

        folder = self._there("lightgbm-rank")
        features, labels = load_svmlight_file(str(folder / f"rank.{part}.gz"), n_features=301)
        sizes = np.loadtxt(folder / f"rank.{part}.query", dtype=np.int64)
        return podium.Queries(features.toarray().astype(np.float32), labels, sizes=sizes)


@cache
def _read(data: Data, name: str, seed: int) -> list[Fold]:
    if data.quick:
        return [_tiny(f"Fold{k}", 3 if name == "ohsumed" else 5, seed + k) for k in (1, 2)]
    return list(getattr(data, "_" + name.replace("-", "_"))(seed))


def _tiny(name: str, n_grades: int, seed: int) -> Fold:
    queries = podium.make_queries(n_queries=18, n_documents=9, n_features=4, n_grades=n_grades, random_state=seed)
    return Fold(name, *(queries.take(range(*bounds)) for bounds in ((0, 10), (10, 14), (14, 18))))
