"""Reading a Parquet file in another process first, which a damaged one may end.

Parquet files carry no digests, and a few wrong bits among the values make polars ask for more memory than there is,
which ends the process: no exception, nothing to catch. So another process reads each file first, some columns at a
time. It is started with the first file and used for all others.
"""

import atexit
import json
import os
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from podium.data.io.files import FilePath

_PROGRAM = """
import json, sys
import polars as pl
for line in sys.stdin:
    try:
        path = json.loads(line)
        lazy = pl.scan_parquet(path)
        names, n_rows = lazy.collect_schema().names(), lazy.select(pl.len()).collect().item()
        step = max(1, (64 << 20) // (8 * max(1, n_rows)))
        for first in range(0, len(names), step):
            pl.read_parquet(path, columns=names[first : first + step])
        answer = ""
    except BaseException as error:
        answer = (str(error) or type(error).__name__)[:500]
    print(json.dumps(answer), flush=True)
"""

_lock = threading.Lock()
_running: tuple[int, subprocess.Popen[str]] | None = None
"""The process that started it, and the one that reads."""


def try_reading(path: FilePath) -> None:
    """Raise ValueError if reading a Parquet file fails, or ends the process that reads it.

    ``PODIUM_TRUST_PARQUET=1`` in the environment leaves it out: reading takes less time.
    """
    if os.environ.get("PODIUM_TRUST_PARQUET") == "1":
        return
    with _lock:
        try:
            reader = _reader()
        except OSError:  # no further processes allowed
            return
        answer = _ask(reader, str(Path(path).absolute()))
    if answer is None:
        raise ValueError("reading it ends the process that does so")
    if answer:
        raise ValueError(answer)


def _ask(reader: subprocess.Popen[str], path: str) -> Any:
    """Return what went wrong, "" if nothing did, None if the process is gone."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    line = ""
    with suppress(BrokenPipeError):
        reader.stdin.write(json.dumps(path) + "\n")
        reader.stdin.flush()
        line = reader.stdout.readline()
    if line:
        return json.loads(line)
    _stop()
    return None


def _reader() -> subprocess.Popen[str]:
    global _running
    if _running is None or _running[0] != os.getpid():  # after a fork, it is the parent's
        process = subprocess.Popen(
            [sys.executable, "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            start_new_session=True,  # Ctrl-C is not for it
        )
        _running = os.getpid(), process
    return _running[1]


@atexit.register
def _stop() -> None:
    """End the process that reads, if this one started it."""
    global _running
    if _running is not None and _running[0] == os.getpid():
        process = _running[1]
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()  # which ends it
        process.wait()
    _running = None
