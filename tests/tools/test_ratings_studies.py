"""The studies of cold items and implicit feedback, on synthetic ratings in the place of the films."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import podium


@pytest.fixture(scope="module")
def studies(load_tool: Callable[[str], ModuleType]) -> ModuleType:
    return load_tool("ratings_studies")


@pytest.fixture(scope="module")
def films(studies: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Ratings of 60 items by 50 users, which follow the first of two genres."""
    rng, folder = np.random.default_rng(0), tmp_path_factory.mktemp("films")
    genres = np.arange(60) % 2
    rows = [(u, i) for u in range(50) for i in rng.permutation(60)[:30]]
    stars = [int(np.clip(3 + (1 if genres[i] else -1) + rng.normal(), 1, 5)) for _, i in rows]
    lines = [f"{u + 1}\t{i + 1}\t{r}\t0" for (u, i), r in zip(rows, stars, strict=True)]
    (folder / "u.data").write_text("\n".join(lines))
    items = [
        f"{i + 1}|invented|01-Jan-{1990 + i % 7}|||" + "|".join(str(int(k == genres[i])) for k in range(19))
        for i in range(60)
    ]
    (folder / "u.item").write_text("\n".join(items))
    return studies.Films(folder)


def test_cold_items_have_no_training_rating(studies: ModuleType, films: Any) -> None:
    train, test = studies.cold_items(films.ratings, (0, 0))
    assert not set(train.items.tolist()) & set(test.items.tolist())
    assert len(train) + len(test) == len(films.ratings)
    assert len(set(test.items.tolist())) == 12


def test_features_find_what_users_like(studies: ModuleType, films: Any, tmp_path: Path) -> None:
    store = studies.Store(tmp_path)
    lines = studies.cold_part(films, store, [0])
    figure = {
        line.split(" | ")[0].strip("| "): float(line.split(" | ")[1])
        for line in lines
        if line.count(" | ") > 3 and "0." in line
    }
    assert figure["factors with features"] > figure["a constant"] + 0.05
    assert figure["damped mean of the item's genres"] > figure["a constant"] + 0.05
    # Stored results are not computed again.
    assert studies.cold_part(films, store, [0]) == lines
    stored = list(tmp_path.glob("cold-*.json"))
    assert len(stored) == len(studies.COLD)


def test_a_constant_has_the_expected_metric_of_a_random_order(studies: ModuleType, films: Any) -> None:
    users = studies.cold_result(films, "a constant", 0)["users"]
    _, test = studies.cold_items(films.ratings, (0, 0))
    test = test.take_users(test.sizes >= studies.FEWEST)
    rng = np.random.default_rng(0)
    shuffled = np.mean(
        [
            podium.evaluate(test.values, rng.random(len(test)), sizes=test.sizes, metrics="ndcg@10").mean["ndcg@10"]
            for _ in range(200)
        ]
    )
    assert np.mean(list(users.values())) == pytest.approx(shuffled, abs=0.01)
