"""Tables that a tool prints line by line as they come, and writes between two markers of a page."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

Table = Callable[[], Iterator[str]]


def compute(tables: Mapping[str, Table], only: str | None, page: Path | None, tool: str) -> None:
    """Print all tables, or the only one asked for, and write them into the page, if there is one."""
    for name, table in tables.items():
        if only not in (None, name):
            continue
        start, lines = time.monotonic(), []
        for line in table():
            print(line, flush=True)
            lines.append(line)
        print(f"{time.monotonic() - start:.0f} s\n", flush=True)
        if page:
            write(page, name, tool, "\n".join(lines))


def write(page: Path, name: str, tool: str, table: str) -> None:
    """Replace a table of the page, which is between two markers."""
    begin, end = f"<!-- {name}: written by tools/{tool}.py -->", f"<!-- end of {name} -->"
    before, found, rest = page.read_text("utf-8").partition(begin)
    _, closed, after = rest.partition(end)
    if not (found and closed):
        raise ValueError(f"{page} lacks the lines {begin!r} and {end!r}")
    page.write_text(f"{before}{begin}\n\n{table}\n\n{end}{after}", "utf-8")
