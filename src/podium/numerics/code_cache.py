"""Compiled functions on disk: never stale, never a reason to fail.

Numba's own cache notices changes only in the file of a function, stops the program where no folder is writable or a
file is damaged, and does not look into folders that it may not write to. This one

- has in its key the source files of everything that a function calls, and the values of the constants that it uses;
- treats a file that is damaged (each carries a digest) like one that is not there;
- reads from a filled folder that is read-only, and does without a folder, with one warning.

Files hold machine code, pickled: whoever can write them can run code here. So folders that everybody may write to are
not used, nor those of other users.
"""

import os
import pickle
import stat
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import numba
from numba.core import config
from numba.core.compiler import CompileResult
from numba.core.serialize import dumps

from podium.numerics.code_stamp import bound_functions, stamp

_DIGEST_SIZE = sha256().digest_size
_warned = False


class CodeCache:
    """The compiled variants of one function, as Numba asks for them: see ``numba.core.caching.Cache``."""

    def __init__(self, function: Callable[..., Any], facts: object = None) -> None:
        self._function, self._facts = function, facts

    @cached_property
    def _folders(self) -> list[Path]:
        return list(cache_folders(Path(self._function.__code__.co_filename)))

    @cached_property
    def _stamp(self) -> str | None:
        return stamp(self._function, self._facts)

    @property
    def cache_path(self) -> str | None:
        """The folder that is written to."""
        return str(self._folders[0]) if self._folders else None

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        """Return the function compiled for these types, or None."""
        target_context.refresh()
        if self._stamp is None:
            return None
        name = self._name(signature, target_context.codegen())
        for folder in self._folders:
            try:
                content = (folder / name).read_bytes() if is_trusted(folder, self._source) else b""
                body = content[_DIGEST_SIZE:]
                if content and sha256(body).digest() == content[:_DIGEST_SIZE]:
                    return CompileResult._rebuild(target_context, *pickle.loads(body))
            except Exception:  # not there, or written by something else: compiled anew
                continue
        return None

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep a compiled function for later processes; warn once if that is not possible."""
        if self._stamp is None or result.library.has_dynamic_globals or result.lifted:
            return
        body = dumps(result._reduce())
        name = self._name(signature, result.codegen)
        reasons = []
        for folder in self._folders:
            try:
                folder.mkdir(parents=True, exist_ok=True)
                if not is_trusted(folder, self._source):
                    raise PermissionError("other users may write to it")
                _replace(folder / name, sha256(body).digest() + body)
                _remove_others(folder, name)
                return
            except OSError as error:
                reasons.append(f"{folder}: {error.strerror or error}")
        _warn(reasons)

    def enable(self) -> None: ...

    def disable(self) -> None: ...

    def flush(self) -> None: ...

    @property
    def _source(self) -> Path:
        return Path(self._function.__code__.co_filename)

    def _name(self, signature: Any, codegen: Any) -> str:
        """Return ``file.function.VARIANT.STAMP.nbc``; what differs in the stamp alone replaces each other."""
        code = self._function.__code__
        python = (sys.implementation.cache_tag, numba.__version__, codegen.magic_tuple())
        variant = repr((str(signature), code.co_firstlineno, bound_functions(self._function), python))
        digest = sha256(variant.encode()).hexdigest()[:16]
        name = self._function.__qualname__.replace("<", "").replace(">", "")
        return f"{self._source.stem}.{name}.{digest}.{self._stamp}.nbc"


def cache_folders(source: Path) -> Iterator[Path]:
    """Yield the folders for what is compiled from a source file, in the order in which they are tried.

    These are ``$NUMBA_CACHE_DIR`` alone if it is set, else ``__pycache__`` beside the file and the user's cache.
    """
    below = f"{source.parent.name}_{sha256(str(source.parent).encode()).hexdigest()[:16]}"
    if config.CACHE_DIR:
        yield Path(config.CACHE_DIR) / below
        return
    yield source.parent / "__pycache__"
    if home := os.environ.get("XDG_CACHE_HOME"):
        yield Path(home) / "podium" / below
    elif home := os.environ.get("HOME"):
        yield Path(home) / ".cache" / "podium" / below


def is_trusted(folder: Path, source: Path) -> bool:
    """Return whether only the user, the owner of the source file or root can write to an existing folder."""
    if os.name != "posix":
        return True
    status = folder.stat()
    owners = {os.geteuid(), 0, source.stat().st_uid} if source.exists() else {os.geteuid(), 0}
    return not status.st_mode & stat.S_IWOTH and status.st_uid in owners


def _replace(path: Path, content: bytes) -> None:
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".", suffix=".tmp")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        with suppress(OSError):
            Path(temporary).unlink()
        raise


def _remove_others(folder: Path, name: str) -> None:
    """Remove the same variant of the same function with another stamp: code of older sources."""
    start = name.rsplit(".", 2)[0] + "."
    for other in folder.glob(f"{start}*.nbc"):
        if other.name != name:
            with suppress(OSError):
                other.unlink()


def _warn(reasons: list[str]) -> None:
    global _warned
    if not _warned:
        _warned = True
        warnings.warn(
            "compiled functions cannot be kept, so every process compiles them again, which takes seconds to minutes: "
            f"{'; '.join(reasons) or 'there is no folder for them'}. Set NUMBA_CACHE_DIR to a folder that only you can "
            "write to",
            RuntimeWarning,
            stacklevel=2,
        )
