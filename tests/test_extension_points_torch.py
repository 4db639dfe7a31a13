"""A loss of the user's own in PyTorch: the one of docs/extending.md."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

import podium
from podium.cli.main import main
from podium.scorers import Linear, Trees

PAGE = (Path(__file__).parents[1] / "docs" / "extending.md").read_text("utf-8")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    path = tmp_path_factory.mktemp("user")
    for name in ("mine", "mine_torch"):
        blocks = re.findall(rf"```python\n# {name}\.py\n(.*?)```", PAGE, re.DOTALL)
        (path / f"{name}.py").write_text("\n\n".join(blocks), "utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(path)
        patch.syspath_prepend(str(path))
        yield path
        for name in ("mine", "mine_torch"):
            sys.modules.pop(name, None)


@pytest.fixture(scope="module")
def mine_torch(folder: Path) -> ModuleType:
    import mine_torch

    return mine_torch


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    return podium.make_queries(n_queries=40, n_documents=12, n_features=5, random_state=0)


def test_it_is_the_same_function_as_in_numpy(mine_torch: ModuleType, queries: podium.Queries) -> None:
    import mine

    scores = np.random.default_rng(0).normal(size=queries.n_documents)
    ours = mine.loss.value_and_gradient(scores, queries.labels, queries.offsets)
    theirs = mine_torch.torch_loss.value_and_gradient(scores, queries.labels, queries.offsets)
    assert theirs.value == pytest.approx(ours.value, rel=1e-12)
    np.testing.assert_allclose(theirs.d_scores, ours.d_scores, rtol=1e-10, atol=1e-14)


@pytest.mark.parametrize("scorer", [Linear(l2=0.01), Trees(n_trees=10, n_leaves=4)], ids=repr)
def test_it_trains_scorers_as_the_same_function_in_numpy_does(
    scorer: object, mine_torch: ModuleType, queries: podium.Queries
) -> None:
    import mine

    torch_ranker = podium.Ranker(mine_torch.torch_loss, scorer, random_state=0).fit(queries)
    numpy_ranker = podium.Ranker(mine.loss, scorer, random_state=0).fit(queries)
    assert torch_ranker.score(queries) == pytest.approx(numpy_ranker.score(queries), abs=0.01)


def test_it_takes_part_in_a_comparison(mine_torch: ModuleType, queries: podium.Queries) -> None:
    methods = {"torch": (podium.Ranker(mine_torch.torch_loss, Linear()), {"scorer__l2": [1e-3, 1e-1]})}
    comparison = podium.compare(queries, methods, metrics=["ndcg@10"], folds=3, jobs=1)
    assert "torch" in comparison.methods
    assert not any(row.failures for row in comparison.rows)


def test_it_is_saved_by_name(mine_torch: ModuleType, queries: podium.Queries, folder: Path) -> None:
    ranker = podium.Ranker(mine_torch.torch_loss, Linear()).fit(queries)
    ranker.save(folder / "torch.podium")
    with pytest.raises(ValueError, match="mine_torch:torch_softmax"):
        podium.load(folder / "torch.podium")
    parts = {"mine_torch:torch_softmax": mine_torch.torch_softmax}
    same = podium.load(folder / "torch.podium", parts=parts)
    np.testing.assert_array_equal(same.predict(queries), ranker.predict(queries))


@pytest.mark.parametrize("scorer", ["linear", "mlp", "trees"])
def test_it_works_on_the_command_line(scorer: str, folder: Path, queries: podium.Queries) -> None:
    podium.write_letor(queries, folder / "train.txt")
    options = ["--loss", "mine_torch:torch_loss", "--scorer", scorer, "-o", f"{scorer}.podium"]
    assert main(["train", "train.txt", *options]) == 0
    assert (folder / f"{scorer}.podium").exists()
