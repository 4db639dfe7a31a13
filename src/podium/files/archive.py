"""Archives of a JSON header, named arrays and named texts that are safe to read whoever made them.

An archive is a zip file with ``model.json`` and one ``arrays/NAME.npy`` or ``texts/NAME.txt`` per item of the content.
Members are stored without compression, so none can grow beyond the size of the file; arrays hold plain numbers.
"""

import io
import json
import math
import os
import re
import stat
import zipfile
from collections.abc import Mapping
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from podium.core.arrays import Arrays
from podium.core.atomic import atomic_write

PathLike = str | os.PathLike[str]
"""Arrays and texts by name."""

_MEMBER = re.compile(r"(arrays/[A-Za-z0-9_.-]+\.npy|texts/[A-Za-z0-9_.-]+\.txt|model\.json)")


class ModelFileError(ValueError):
    """The file is not a model that this version of Podium can load."""


def write_archive(path: PathLike, header: dict[str, Any], content: Arrays) -> None:
    """Write the file, whole or not at all."""
    text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False)
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_member("model.json"), text)
        for name, value in content.items():
            if isinstance(value, str):
                archive.writestr(_member(f"texts/{name}.txt"), value)
            else:
                archive.writestr(_member(f"arrays/{name}.npy"), _npy_bytes(value))


def _member(name: str) -> zipfile.ZipInfo:
    """Return a member without a date: zip files know none before 1980, which a clock that is not set may show."""
    return zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))


def read_archive(path: PathLike) -> tuple[dict[str, Any], Arrays]:
    """Return header and content. Raise ModelFileError, naming the file, for anything that is not such an archive."""
    status = Path(path).stat()
    if not stat.S_ISREG(status.st_mode):
        raise ModelFileError(f"{path}: a folder, a pipe or a device; a model is a file")
    try:
        members = _read_members(path, status.st_size)
        if "model.json" not in members:
            raise ValueError("a zip file, but not a model: it has no model.json")
        return _parse_header(members.pop("model.json")), _parse_content(members)
    except Exception as error:  # whatever a damaged file leads to: there is one error for it
        raise malformed(path, error) from error


def malformed(path: PathLike, error: Exception) -> ModelFileError:
    """Return the error for a file that cannot be loaded because of another error."""
    if isinstance(error, KeyError):
        return ModelFileError(f"{path}: model.json lacks {error}")
    if isinstance(error, MemoryError):
        return ModelFileError(f"{path}: it asks for more memory than there is")
    plain = isinstance(error, ValueError) and not isinstance(error, UnicodeError)
    return ModelFileError(f"{path}: {error}" if plain else f"{path}: not a proper model file ({error!r})"[:1000])


def _read_members(path: PathLike, size: int) -> dict[str, bytes]:
    members: dict[str, bytes] = {}
    try:
        with zipfile.ZipFile(path) as archive:
            infos = archive.infolist()
            claimed = sum(info.file_size for info in infos)
            if claimed > size:  # members may claim the same bytes
                raise ValueError(f"its members claim {claimed} bytes; the file has {size}")
            for info in infos:
                _check_member(info, members)
                members[info.filename] = archive.read(info)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ValueError(f"not a model file, or a damaged one ({error})") from None
    return members


def _check_member(info: zipfile.ZipInfo, seen: Mapping[str, bytes]) -> None:
    name = info.filename
    if not _MEMBER.fullmatch(name):
        raise ValueError(f"it has a member {name!r}, which no model file has")
    if name in seen:
        raise ValueError(f"it has two members named {name!r}")
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ValueError(f"its member {name!r} is compressed; model files are not")


def _parse_header(data: bytes) -> dict[str, Any]:
    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is not a number that a model file may hold")

    try:
        header = json.loads(data.decode("utf-8"), parse_constant=refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its model.json cannot be read ({error})") from None
    if not isinstance(header, dict):
        raise ValueError("its model.json is not that of a Podium model")
    return header


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"{digits} is too large a number")
    return number


def _parse_content(members: Mapping[str, bytes]) -> dict[str, np.ndarray | str]:
    return {
        PurePath(member).stem: _array(data, member) if member.startswith("arrays/") else data.decode("utf-8")
        for member, data in members.items()
    }


def _npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def _array(data: bytes, member: str) -> np.ndarray:
    """Return the array of a .npy file, whose header is checked against its length before memory is taken."""
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read_header[version](buffer)
    except Exception as error:  # NumPy parses the header as Python, which fails in many ways
        raise ValueError(f"its member {member!r} is not an array ({error})") from None
    require_plain(dtype)
    n_bytes = len(data) - buffer.tell()
    if fortran or min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize != n_bytes:
        raise ValueError(f"its member {member!r} declares the shape {shape} of {dtype}, but holds {n_bytes} bytes")
    return np.frombuffer(data, dtype, offset=buffer.tell()).reshape(shape).copy()


def require_plain(dtype: np.dtype) -> np.dtype:
    """Return the dtype if it is one of plain numbers; raise otherwise."""
    if dtype.kind not in "iufb" or dtype.hasobject:
        raise ValueError(f"an array of {dtype} is not allowed in a model file")
    return dtype
