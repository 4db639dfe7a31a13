"""Files that are written whole or not at all."""

import errno
import os
import re
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where what a killed process left stays
    fcntl = None  # type: ignore[assignment]

_ABANDONED = re.compile(r"\..+\.[a-z0-9_]{8}\.part")
_YOUNG = 60.0
"""Seconds in which a file may not be locked yet by the process that makes it."""
_LONGEST = 100
"""Characters of a file's name in that of its temporary file: names of more than 255 bytes are impossible."""
_looked_through: set[Path] = set()
_ERROR_OF_RUST = re.compile(r"\(os error (\d+)\)")


@contextmanager
def atomic_write(path: str | os.PathLike[str], mode: str = "w") -> Iterator[IO[Any]]:
    """Open a temporary file next to ``path`` and move it there when the block succeeds.

    After an error, a kill or Ctrl-C inside the block, the file that was at ``path`` before is still there. What killed
    processes left in the folder is removed. Errors name the path.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove_abandoned(path.parent)
    temporary = None
    try:
        prefix = f".{path.name[:_LONGEST]}."
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=prefix, suffix=".part")
        temporary = Path(name)
        encoding, newline = (None, None) if "b" in mode else ("utf-8", "")
        with os.fdopen(handle, mode, encoding=encoding, newline=newline) as file:
            if fcntl is not None:
                with suppress(OSError):  # a file system without locks
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # says that its process lives
            yield file
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        temporary.chmod(0o666 & ~umask)  # mkstemp makes private files; this should be an ordinary one
        temporary.replace(path)
        _sync_folder(path.parent)
    except BaseException as error:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink()
        if isinstance(error, OSError) and error.filename in (None, str(temporary)):
            _name(error, path)
        elif isinstance(error, Exception) and (number := _number_of_rust(error)):
            raise OSError(number, os.strerror(number), str(path)) from error
        raise


def require_writable(path: str | os.PathLike[str]) -> None:
    """Raise PermissionError, naming the file, if it certainly could not be written: better before long work."""
    path = Path(path).absolute()
    folder = next(parent for parent in path.parents if parent.exists())  # others are made
    if not os.access(folder, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))


def _name(error: OSError, path: Path) -> None:
    """Have an error say which file it is about: "No space left on device" does not say where."""
    if error.errno is None and (number := _number_of_rust(error)):
        error.errno, error.strerror = number, os.strerror(number)
    if error.errno is not None:
        error.filename = str(path)


def _number_of_rust(error: Exception) -> int:
    """Return the number of the system's error that polars has in its text; 0 if there is none."""
    found = _ERROR_OF_RUST.search(str(error))
    return int(found[1]) if found else 0


def _sync_folder(folder: Path) -> None:
    """Make the new name survive a crash of the machine."""
    with suppress(OSError):  # not every system opens folders
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    """Remove temporary files whose processes are gone, once per folder and process."""
    if fcntl is None or folder in _looked_through:
        return
    _looked_through.add(folder)
    with suppress(OSError):
        for entry in os.scandir(folder):
            if _ABANDONED.fullmatch(entry.name) and time.time() - entry.stat().st_mtime > _YOUNG:
                with suppress(OSError), Path(entry).open("rb") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)  # fails while the process that writes it lives
                    Path(entry).unlink()
