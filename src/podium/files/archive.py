"""Archives of one JSON header and named arrays and texts, safe to read whoever made them.

An archive is a zip file with ``model.json`` and one ``arrays/NAME.npy`` or ``texts/NAME.txt`` for each entry of the
state. Members are stored without compression, so none can grow beyond the size of the file; arrays
are of plain numbers.
"""

from __future__ import annotations

import io
import json
import math
import os
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from podium.core.atomic import atomic_write

State = Mapping[str, np.ndarray | str]
PathLike = str | os.PathLike[str]

_MEMBER = re.compile(r"(arrays/[A-Za-z0-9_.-]+\.npy|texts/[A-Za-z0-9_.-]+\.txt|model\.json)")


class ModelFileError(ValueError):
    """The file is not a model that this version of Podium can load."""


def write_archive(path: PathLike, header: dict[str, Any], state: State) -> None:
    """Write the file, whole or not at all."""
    text = json.dumps(header, indent=1, allow_nan=False, ensure_ascii=False)
    with atomic_write(path, "wb") as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model.json", text)
        for name, value in state.items():
            if isinstance(value, str):
                archive.writestr(f"texts/{name}.txt", value)
            else:
                archive.writestr(f"arrays/{name}.npy", _npy_bytes(value))


def read_archive(path: PathLike) -> tuple[dict[str, Any], State]:
    """Header and state. Raises ModelFileError, naming the file, for whatever is not such an archive."""
    members = _read_members(path)
    header = _parse_json(members.pop("model.json"), path)
    try:
        return header, _state(members)
    except ValueError as error:
        raise ModelFileError(f"{path}: {error}") from None


def _read_members(path: PathLike) -> dict[str, bytes]:
    size = Path(path).stat().st_size
    try:
        with zipfile.ZipFile(path) as archive:
            members: dict[str, bytes] = {}
            for info in archive.infolist():
                _check_member(info, size, members, path)
                members[info.filename] = archive.read(info)
    except (zipfile.BadZipFile, EOFError, NotImplementedError, RuntimeError, OSError) as error:
        raise ModelFileError(f"{path}: not a model file, or a damaged one ({error})") from None
    if "model.json" not in members:
        raise ModelFileError(f"{path}: a zip file, but not a model: it has no model.json")
    return members


def _check_member(info: zipfile.ZipInfo, size: int, seen: Mapping[str, bytes], path: PathLike) -> None:
    name = info.filename
    if not _MEMBER.fullmatch(name):
        raise ModelFileError(f"{path}: it has a member {name!r}, which no model file has")
    if name in seen:
        raise ModelFileError(f"{path}: it has two members named {name!r}")
    if info.compress_type != zipfile.ZIP_STORED or info.file_size != info.compress_size:
        raise ModelFileError(f"{path}: its member {name!r} is compressed; model files are not")
    if info.file_size > size:
        raise ModelFileError(f"{path}: its member {name!r} claims {info.file_size} bytes; the file has {size}")


def _parse_json(data: bytes, path: PathLike) -> dict[str, Any]:
    def refuse(constant: str) -> float:
        raise ValueError(f"{constant} is not a number a model file may hold")

    try:
        header = json.loads(data.decode("utf-8"), parse_constant=refuse, parse_float=_finite)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(f"{path}: its model.json cannot be read ({error})") from None
    if not isinstance(header, dict):
        raise ModelFileError(f"{path}: its model.json is not that of a Podium model")
    return header


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is too large a number")
    return number


def _state(members: Mapping[str, bytes]) -> dict[str, np.ndarray | str]:
    state: dict[str, np.ndarray | str] = {}
    for name, data in members.items():
        folder, _, file = name.partition("/")
        if folder == "arrays":
            state[file.removesuffix(".npy")] = _array(data, name)
        elif folder == "texts":
            state[file.removesuffix(".txt")] = data.decode("utf-8")
    return state


def _npy_bytes(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, np.asarray(array, order="C"), allow_pickle=False)
    return buffer.getvalue()


def _array(data: bytes, name: str) -> np.ndarray:
    """An array from the bytes of a .npy file, whose header is checked against their number before memory is taken."""
    buffer = io.BytesIO(data)
    try:
        version = np.lib.format.read_magic(buffer)
        read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
        shape, fortran, dtype = read_header[version](buffer)
    except (ValueError, KeyError, EOFError) as error:
        raise ValueError(f"its member {name!r} is not an array ({error})") from None
    require_plain(dtype)
    body = data[buffer.tell() :]
    if fortran or math.prod(shape) * dtype.itemsize != len(body):
        raise ValueError(f"its member {name!r} declares the shape {shape} of {dtype}, but holds {len(body)} bytes")
    return np.frombuffer(body, dtype).reshape(shape).copy()


def require_plain(dtype: np.dtype) -> np.dtype:
    """The dtype, if it is one of plain numbers."""
    if dtype.kind not in "iufb" or dtype.hasobject:
        raise ValueError(f"an array of {dtype} is not allowed in a model file")
    return dtype
