"""Small data in the formats that commands read."""

from __future__ import annotations

from types import SimpleNamespace

import polars
import pytest

from podium import make_queries, write_letor
from podium.cli.main import main


@pytest.fixture(scope="module", autouse=True)
def one_thread():
    """On data this small, threads only wait for each other; and results do not depend on their number."""
    import numba

    before = numba.get_num_threads()
    numba.set_num_threads(1)
    yield
    numba.set_num_threads(before)


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    """The same lists as LETOR text, plain and gzipped, CSV and Parquet."""
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
    return SimpleNamespace(
        folder=folder,
        queries=queries,
        paths={name: str(path) for name, path in paths.items()},
        columns=["--qid-column", "session", "--label-column", "grade"],
    )


@pytest.fixture
def podium_command(capsys):
    """Runs a command here; gives its exit code and what it printed to each stream."""

    def run(*argv):
        code = main([str(argument) for argument in argv])
        printed = capsys.readouterr()
        return SimpleNamespace(code=code, out=printed.out, err=printed.err)

    return run
