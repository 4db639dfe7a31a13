"""The program of the process that reads Parquet files for another: requests on its input, tables on its output.

A request is a line of JSON, the arguments of :func:`read_part`. The answer is a line of JSON, and so many bytes of
Arrow's stream format. Nothing of Podium is imported here, so that the process starts quickly.
"""

import io
import json
import sys
from collections.abc import Sequence
from typing import IO, Any

READY = b"ready\n"


def read_part(path: str, columns: Sequence[str] | None, start: int = 0, length: int | None = None) -> tuple[Any, int]:
    """Return some columns and rows of a file as a polars frame, and 0.

    Without columns, return a frame of all columns and no rows, and how many rows there are.
    """
    import polars as pl

    lazy = pl.scan_parquet(path, glob=False, hive_partitioning=False)
    if columns is None:
        return lazy.head(0).collect(), lazy.select(pl.len()).collect().item()
    lazy = lazy.select(pl.selectors.by_name(*columns) if columns else [])  # a name such as * is no pattern
    return (lazy if length is None else lazy.slice(start, length)).collect(), 0


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until there are no more."""
    answers.write(READY)
    answers.flush()
    for line in requests:
        content = io.BytesIO()
        try:
            frame, n_rows = read_part(*json.loads(line))
            frame.write_ipc_stream(content)
            head: dict[str, Any] = {"rows": n_rows, "bytes": content.tell()}
            del frame
        except BaseException as error:  # a panic of Rust's is no Exception
            head = {"error": (str(error) or type(error).__name__)[:500], "bytes": 0}
        answers.write(json.dumps(head).encode() + b"\n")
        if head["bytes"]:
            answers.write(content.getbuffer())
        answers.flush()


if __name__ == "__main__":
    import polars  # noqa: F401  (being ready means that it can be imported)

    serve(sys.stdin.buffer, sys.stdout.buffer)
