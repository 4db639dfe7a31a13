"""Recommendations for many users as a file, written block by block: it may be larger than memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

import numpy as np

from podium.core.atomic import atomic_write
from podium.core.later import polars as pl
from podium.core.parameters import require_count
from podium.data.io.files import FilePath, writing
from podium.ratings.recommender import Recommender
from podium.ratings.recommending import top_blocks

__all__ = ["write_recommendations"]

COLUMNS = ("user", "item", "score", "rank")
FORMATS = {".csv": "csv", ".parquet": "parquet", ".pq": "parquet", ".jsonl": "jsonl", ".ndjson": "jsonl"}
"""Formats by the ending of a file's name, which ``.gz`` may follow where the format is text."""


def write_recommendations(
    ranker: Recommender,
    path: FilePath,
    users: Any = None,
    n: int = 10,
    *,
    exclude_seen: bool = True,
    progress: Callable[[int], Any] | None = None,
) -> int:
    """Write the best items of many users to a file, which is there completely or not at all.

    The columns are ``user``, ``item``, ``score`` and ``rank``, which counts from 1; a user's rows are together, best
    first. Users are ranked some thousands at a time and written as they come, so memory does not grow with their
    number.

    Parameters
    ----------
    ranker : RatingRanker
        Fitted.
    path : path
        A name that ends in ``.csv``, ``.jsonl`` (both also with ``.gz``) or ``.parquet``.
    users : sequence of ids, optional
        By default all users fitted on. Others are the average user, or refused, as the ranker's ``cold`` says.
    n : int
        How many items per user; there may be fewer.
    exclude_seen : bool
        Leave out items that the user has rated.
    progress : callable, optional
        Called with the number of users done, after every block.

    Returns
    -------
    int
        The number of rows.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> ranker = podium.ItemMean(damping=1).fit((["ann", "bob", "bob"], ["up", "up", "alien"], [4, 5, 3]))
    >>> path = Path(tempfile.mkdtemp(), "recs.csv")
    >>> podium.write_recommendations(ranker, path, n=1)
    1
    >>> print(path.read_text())
    user,item,score,rank
    ann,alien,3.5,1
    <BLANKLINE>
    """
    kind = format_of(path)
    blocks = Blocks(ranker, users, n, exclude_seen, progress)
    if kind == "parquet":
        with atomic_write(path, "wb") as file:
            blocks.write_parquet(file)
    else:
        with writing(path) as file:
            blocks.write_text(file, kind)
    return blocks.n_rows


def format_of(path: FilePath) -> str:
    """Return the format that a file's name asks for; raise ValueError, naming those there are, if there is none."""
    name = Path(path).name.lower()
    packed = name.endswith(".gz")
    kind = FORMATS.get(Path(name.removesuffix(".gz")).suffix)
    if kind is None or (packed and kind == "parquet"):
        raise ValueError(f"{path}: recommendations are written to .csv, .jsonl (both also .gz) or .parquet files")
    return kind


class Blocks:
    """Recommendations as frames, some thousands of users at a time."""

    def __init__(
        self,
        ranker: Recommender,
        users: Any = None,
        n: int = 10,
        exclude_seen: bool = True,
        progress: Callable[[int], Any] | None = None,
    ) -> None:
        ranker._require_fitted()
        require_count("n", n)
        self._ranker, self._n, self._exclude_seen, self._progress = ranker, n, exclude_seen, progress
        self._numbers = np.arange(len(ranker.user_ids_)) if users is None else ranker._user_numbers(users)
        self._users = id_column("user", ranker.user_ids_ if users is None else np.atleast_1d(np.asarray(users)))
        self._items = id_column("item", ranker.item_ids_)
        self.n_rows = 0

    def write_text(self, file: IO[bytes], kind: str) -> None:
        """Write CSV with a header, or JSON lines."""
        if kind == "csv":
            file.write((",".join(COLUMNS) + "\n").encode())
        for frame in self:
            file.write((frame.write_csv(include_header=False) if kind == "csv" else frame.write_ndjson()).encode())

    def write_parquet(self, file: IO[bytes]) -> None:
        """Write Parquet."""
        from polars.io.plugins import register_io_source

        raised: list[BaseException] = []

        def source(*_: Any) -> Iterator[pl.DataFrame]:
            try:
                yield from self
            except BaseException as error:
                raised.append(error)
                raise

        schema: dict[str, Any] = {
            "user": self._users.dtype,
            "item": self._items.dtype,
            "score": pl.Float64,
            "rank": pl.Int32,
        }
        try:
            register_io_source(source, schema=schema).sink_parquet(file)
        except pl.exceptions.PolarsError:  # some versions wrap whatever a source raises, Ctrl-C too
            if raised:
                raise raised[0] from None
            raise

    def __iter__(self) -> Iterator[pl.DataFrame]:
        blocks = top_blocks(
            self._ranker.model_, self._ranker.seen_, self._numbers, self._n, exclude_seen=self._exclude_seen
        )
        done = 0
        for items, scores in blocks:
            row, place = np.nonzero(items >= 0)
            yield pl.DataFrame(
                [
                    self._users.slice(done, len(items)).gather(row),
                    self._items.gather(items[row, place]),
                    pl.Series("score", scores[row, place]),
                    pl.Series("rank", place + 1, dtype=pl.Int32),
                ]
            )
            done += len(items)
            self.n_rows += len(row)
            if self._progress is not None:
                self._progress(done)


def id_column(name: str, ids: np.ndarray) -> pl.Series:
    """Return ids as a column: numbers as they are, all others as text."""
    return pl.Series(name, ids if ids.dtype.kind in "iuf" else [str(x) for x in ids.tolist()])
