"""Reading Parquet files in another process, which a damaged one may end.

Parquet files carry no digests, and a few wrong bits among the values make polars ask for more memory than there is,
which ends the process: no exception, nothing to catch. So does a file that becomes shorter, since polars maps files
into memory. So another process reads them, and sends what it read. It is started with the first file and used for all.
"""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import suppress
from io import BytesIO
from typing import Any

from podium.core.later import polars as pl
from podium.data.io import parquet_reader

_PIPE = 1 << 20
"""Bytes that a pipe takes at once, where the system lets one choose."""
_lock = threading.Lock()
_running: tuple[int, subprocess.Popen[bytes]] | None = None
"""The process that started it, and the one that reads."""


def read_elsewhere(
    path: str, columns: Sequence[str] | None, start: int = 0, length: int | None = None
) -> tuple[pl.DataFrame, int]:
    """Return what ``parquet_reader.read_part`` does; raise ValueError if that fails, or ends its process.

    It is called in this process if the environment has ``PODIUM_TRUST_PARQUET=1``, or if no other can be started.
    """
    request = path, None if columns is None else list(columns), start, length
    if is_trusted():
        return parquet_reader.read_part(*request)
    with _lock:
        try:
            reader = _reader()
        except OSError:
            return parquet_reader.read_part(*request)
        try:
            head, content = _ask(reader, json.dumps(request).encode() + b"\n")
        except BaseException:  # Ctrl-C, say: its answer must not be taken for that to the next request
            _stop()
            raise
        if head is None:
            _stop()
            raise ValueError("reading it ends the process that does so")
    if "error" in head:
        raise ValueError(head["error"])
    return pl.read_ipc_stream(BytesIO(content)), head["rows"]


def is_trusted() -> bool:
    """Return whether the user says that Parquet files are sound."""
    return os.environ.get("PODIUM_TRUST_PARQUET") == "1"


def _ask(reader: subprocess.Popen[bytes], request: bytes) -> tuple[dict[str, Any] | None, bytes]:
    """Return the head and the content of the answer; no head if the process is gone."""
    assert reader.stdin is not None
    assert reader.stdout is not None
    with suppress(BrokenPipeError):
        reader.stdin.write(request)
        reader.stdin.flush()
        line = reader.stdout.readline()
        if line.endswith(b"\n"):
            head = json.loads(line)
            content = reader.stdout.read(head["bytes"])
            if len(content) == head["bytes"]:
                return head, content
    return None, b""


def _reader() -> subprocess.Popen[bytes]:
    """Return the process that reads; raise OSError if there can be none."""
    global _running
    if _running is None or _running[0] != os.getpid():  # after a fork, it is the parent's
        process = subprocess.Popen(
            [sys.executable, "-P", parquet_reader.__file__],  # -P: no module is taken from the current folder
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},  # finds what this process finds
            pipesize=_PIPE,
            start_new_session=True,  # Ctrl-C is not for it
        )
        _running = os.getpid(), process
        assert process.stdout is not None
        if process.stdout.readline() != parquet_reader.READY:
            _stop()
            raise OSError("the process that reads Parquet files does not start")
    return _running[1]


@atexit.register
def _stop() -> None:
    """End the process that reads, if this one started it."""
    global _running
    if _running is not None and _running[0] == os.getpid():
        process = _running[1]
        process.kill()  # closing its input is not enough: a fork of this process may hold it open
        for pipe in (process.stdin, process.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        process.wait()
    _running = None


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
