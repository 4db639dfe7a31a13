"""The Python code of the pages that need optional packages, or take long, runs as it stands."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import dask.distributed
import numpy as np
import polars
import pytest
import torch

import podium

from .pages import NOT_RUN, WITH_EXTRAS, run, taken_for_granted

Patch = pytest.MonkeyPatch


def for_compare(names: dict[str, Any], patch: Patch) -> None:
    """A folder of folds, a file and a run; where the page compares all methods, two of them."""
    longer = podium.make_queries(n_queries=12, n_documents=30, n_features=5, random_state=0)
    parts = {"trainingset": range(6), "validationset": range(6, 9), "testset": range(9, 12)}
    for number in (1, 2):
        fold = Path("OHSUMED") / f"Fold{number}"
        fold.mkdir(parents=True)
        for file, numbers in parts.items():
            podium.write_letor(longer.take(numbers), fold / f"{file}.txt")
    podium.write_letor(names["queries"], "data.txt")
    data = podium.read_letor("data.txt")
    podium.write_run("LTR.run", data, data.features[:, 0])
    made_elsewhere = podium.read_run("LTR.run")
    names |= {name: getattr(made_elsewhere, name) for name in ("qids", "document_ids", "scores")}
    names["__name__"] = "__main__"
    compare = podium.compare

    def with_few(data: Any, methods: Any = ("listnet", "regression"), **options: Any) -> Any:
        return compare(data, methods, jobs=1, progress=False, **options)

    patch.setattr(podium, "compare", with_few)


def for_distributed(names: dict[str, Any], patch: Patch) -> None:
    """Files of queries and of ratings, and a cluster of one worker."""
    Path("mslr/train").mkdir(parents=True)
    podium.write_letor(names["queries"], "mslr/train/1.txt")
    rng = np.random.default_rng(0)
    Path("ratings").mkdir()
    for user in ("ann", "bob", "eve"):
        columns = {"user": [user] * 6, "item": rng.permutation(8)[:6], "rating": rng.integers(1, 6, 6)}
        polars.DataFrame(columns).write_parquet(f"ratings/{user}.parquet")
    client = partial(dask.distributed.Client, n_workers=1, threads_per_worker=1, dashboard_address=":0")
    patch.setattr(dask.distributed, "Client", client)


def for_torch(names: dict[str, Any], _patch: Patch) -> None:
    """Features as many as the page's module has, and two lists as tensors, one after the other and padded."""
    queries = podium.make_queries(n_queries=12, n_documents=6, n_features=46, random_state=0)
    names |= {"X": queries.features, "y": queries.labels, "qid": queries.qids.repeat(queries.sizes)}
    mask = torch.tensor([[True, True, True], [True, True, False]])
    padded = torch.tensor([[0.3, -1.0, 0.5], [0.1, 0.2, 0.0]], dtype=torch.float64, requires_grad=True)
    grades = torch.tensor([[2.0, 0.0, 1.0], [0.0, 1.0, 0.0]], dtype=torch.float64)
    flat = padded.detach()[mask].clone().requires_grad_()
    names |= {"padded_scores": padded, "padded_labels": grades, "mask": mask}
    names |= {"scores": flat, "labels": grades[mask], "offsets": [0, 3, 5]}


PREPARED: dict[str, Callable[[dict[str, Any], Patch], None]] = {
    "docs/compare.md": for_compare,
    "docs/distributed.md": for_distributed,
    "docs/torch.md": for_torch,
}


@pytest.mark.parametrize("page", sorted(WITH_EXTRAS))
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: Patch) -> None:
    if page in NOT_RUN:
        pytest.skip(NOT_RUN[page])
    monkeypatch.chdir(tmp_path)
    names = taken_for_granted()
    if page in PREPARED:
        PREPARED[page](names, monkeypatch)
    try:
        run(page, names)
    finally:
        if client := names.get("client"):
            client.close()
