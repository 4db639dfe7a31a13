"""The kernel of a loss behind an address, so that a loop over queries is compiled once and serves every loss.

Were a loop compiled together with each loss it calls, there would be losses × loops × kinds of features of them, at
seconds each. Here a loss's kernel (see :mod:`podium.numerics.loop`) becomes a C function of five integers,

    value = entry(block, q, start, stop, d_parameters)

where ``block`` is the address of a small table that says where the scores, the gradient and everything else is. A loop
calls it with :func:`call_entry`. The only cost is an indirect call per query.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, cfunc, types
from numba.extending import intrinsic

from podium.numerics.compiling import Kernel, claim

_SIGNATURE = types.float64(types.int64, types.int64, types.int64, types.int64, types.int64)
# A block starts with: scores, gradient, curvature, 1 if curvature is wanted, parameters, number of parameters.
_HEAD = 6
_Kind = str | tuple[str, int]  # "int", "float", "bool", or the type and the number of dimensions of an array


@dataclass(frozen=True, slots=True)
class Packed:
    """What a loss prepared from its labels, laid out for its entry."""

    kinds: tuple[_Kind, ...]
    block: np.ndarray
    """(n,) int64: room for the head, then each number, or each array's address and shape."""
    arrays: tuple[np.ndarray, ...]
    """The arrays that the block points to, which must live as long as it does."""


def pack(prepared: tuple[Any, ...]) -> Packed:
    """Lay out the flat tuple of arrays and numbers that a loss prepared."""
    kinds: list[_Kind] = []
    words = [0] * _HEAD
    arrays = []
    for item in prepared:
        if isinstance(item, np.ndarray):
            array = np.ascontiguousarray(item)
            arrays.append(array)
            kinds.append((array.dtype.name, array.ndim))
            words += [address_of(array), *array.shape]
        elif isinstance(item, (bool, np.bool_)):
            kinds.append("bool")
            words.append(int(item))
        elif isinstance(item, (int, np.integer)):
            kinds.append("int")
            words.append(int(item))
        else:
            kinds.append("float")
            words.append(int(np.float64(item).view(np.int64)))
    return Packed(tuple(kinds), np.array(words, dtype=np.int64), tuple(arrays))


@dataclass(frozen=True, slots=True)
class Call:
    """One evaluation of a loss: what :func:`call_entry` needs. Keep it until the loop has returned."""

    entry: int
    block: np.ndarray
    keep: tuple[Any, ...]

    @property
    def address(self) -> int:
        return address_of(self.block)


def prepare_call(
    kernel: Kernel,
    packed: Packed,
    scores: np.ndarray,
    gradient: np.ndarray,
    parameters: np.ndarray,
    curvature: np.ndarray | None = None,
) -> Call:
    """A call that reads ``scores`` and ``parameters`` and writes to ``gradient`` and ``curvature``."""
    block = packed.block.copy()
    wanted = curvature is not None and len(curvature) > 0
    block[:_HEAD] = (
        address_of(scores),
        address_of(gradient),
        address_of(curvature) if curvature is not None else 0,
        int(wanted),
        address_of(parameters),
        len(parameters),
    )
    keep = (packed, scores, gradient, parameters, curvature)
    return Call(_entry(kernel, scores.dtype.name, packed.kinds).address, block, keep)


def address_of(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


@intrinsic
def call_entry(_: Any, entry: Any, block: Any, q: Any, start: Any, stop: Any, d_parameters: Any) -> Any:
    """Call the C function at the address ``entry``: the loss of query ``q``, documents ``start:stop``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(ir.DoubleType(), [ir.IntType(64)] * len(_SIGNATURE.args))
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.float64(types.int64, *_SIGNATURE.args), generate


@intrinsic
def _pointer(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


_entries: dict[tuple[Kernel, str, tuple[_Kind, ...]], Any] = {}


def _entry(kernel: Kernel, number: str, kinds: tuple[_Kind, ...]) -> Any:
    """The compiled C function for scores of type ``number`` and a block of these ``kinds``."""
    key = kernel, number, kinds
    if key not in _entries:
        function, keep = _write_entry(kernel, number, kinds)
        _entries[key] = cfunc(_SIGNATURE, cache=keep, error_model="numpy")(function)
    return _entries[key]


def _write_entry(kernel: Kernel, number: str, kinds: tuple[_Kind, ...]) -> tuple[Callable[..., float], bool]:
    """Python source of an entry: it gives names and types back to what the block points to."""
    items, place = [], _HEAD
    for kind in kinds:
        if isinstance(kind, tuple):
            dtype, n_dimensions = kind
            shape = ", ".join(f"block[{place + 1 + d}]" for d in range(n_dimensions))
            items.append(f"carray(pointer(block[{place}]), ({shape},), types.{dtype})")
            place += 1 + n_dimensions
        else:
            items.append({"int": f"block[{place}]", "float": f"reals[{place}]", "bool": f"block[{place}] != 0"}[kind])
            place += 1
    width = np.dtype(number).itemsize

    def documents(word: int, length: str) -> str:
        return f"carray(pointer(block[{word}] + {width} * start), ({length},), types.{number})"

    source = f"""
def entry(address, q, start, stop, d_parameters):
    block = carray(pointer(address), ({place},), types.int64)
    reals = carray(pointer(address), ({place},), types.float64)
    return one_query(
        {documents(0, "stop - start")},
        ({"".join(item + ", " for item in items)}),
        q,
        start,
        carray(pointer(block[4]), (block[5],), types.float64),
        {documents(1, "stop - start")},
        {documents(2, "(stop - start) * block[3]")},
        carray(pointer(d_parameters), (block[5],), types.float64),
    )
"""
    names = {"carray": carray, "pointer": _pointer, "types": np, "one_query": kernel, "__name__": kernel.__module__}
    exec(source, names)  # written above, of nothing but types and positions
    return names["entry"], claim(names["entry"], kernel, source)
