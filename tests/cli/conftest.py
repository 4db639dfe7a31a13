"""Small data in the formats that commands read, and a function that runs a command."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars
import pytest

from podium import Queries, make_queries, write_letor
from podium.cli.main import main
from podium.numerics.pool import threads


@dataclass(frozen=True)
class Files:
    """The same lists in files of several formats."""

    folder: Path
    queries: Queries
    paths: dict[str, str]
    """By ending: txt, txt.gz, csv, parquet."""
    columns: list[str]
    """The options that name the columns of the tables."""


@dataclass(frozen=True)
class Result:
    """The exit code of a command and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module", autouse=True)
def one_thread() -> Iterator[None]:
    """Use one thread: on data this small, more only wait for each other, and results do not depend on their number."""
    with threads(1):
        yield


@pytest.fixture(scope="session")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    folder = tmp_path_factory.mktemp("files")
    queries = make_queries(n_queries=24, n_documents=8, n_features=4, random_state=5)
    columns = {f"f{j}": queries.features[:, j] for j in range(4)}
    frame = polars.DataFrame(
        {"session": queries.query_of_document + 1, "grade": queries.labels, **columns},
    )
    paths = {name: folder / f"data.{name}" for name in ("txt", "txt.gz", "csv", "parquet")}
    write_letor(queries, paths["txt"])
    write_letor(queries, paths["txt.gz"])
    frame.write_csv(paths["csv"])
    frame.write_parquet(paths["parquet"])
    texts = {name: str(path) for name, path in paths.items()}
    return Files(folder, queries, texts, ["--qid-column", "session", "--label-column", "grade"])


@pytest.fixture
def podium_command(capsys: pytest.CaptureFixture[str]) -> Callable[..., Result]:
    """Return a function that runs a command in this process."""

    def run(*argv: Any) -> Result:
        code = main([str(argument) for argument in argv])
        printed = capsys.readouterr()
        return Result(code, printed.out, printed.err)

    return run
