"""Compiled functions behind addresses, so that the loop over queries is compiled once and serves every loss and scorer.

Were the loop compiled together with each loss and scorer it calls, there would be losses × scorers × kinds of features
of it, at seconds each. Instead each kernel becomes a C function of integers,

    status = function(table, query, start, stop, block, scale, out, n_out)

where ``table`` is the address of what the kernel works on: a tuple of arrays and numbers, possibly nested, laid out by
:func:`pack` and put together again by :func:`unpack`. The price is one indirect call per query. The status is
:data:`OK` only if the kernel returned: one that raised, or could not allocate memory, has not produced a result.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from llvmlite import ir
from numba import carray, from_dtype, types
from numba.extending import intrinsic
from numba.np.arrayobj import make_array, populate_array

from podium.numerics.compiling import Array, Kernel, callback, njit, specialize, unbound

OK = 1
"""The status of a kernel that returned."""
_ARGUMENTS = (*[types.int64] * 5, types.float64, types.int64, types.int64)
_WORD = ir.IntType(64)

# What templates of C functions call and unpack; bound when they are compiled.
kernel: Kernel = unbound
KIND: Any = None


class Call(NamedTuple):
    """A C function and the table it works on, as compiled loops take them; there is none at the address 0."""

    function: int
    table: int


NOTHING = Call(0, 0)


@dataclass(frozen=True, slots=True)
class Packed:
    """A tuple of arrays and numbers, laid out for a C function."""

    layout: Any
    """Its type: a number's type, an array's dtype and number of dimensions, or a tuple's class and items' layouts."""
    words: tuple[int, ...]
    """Each number, and each array's address and shape."""
    arrays: tuple[Array, ...]
    """The arrays whose addresses these are, which must live as long."""


def pack(value: Any) -> Packed:
    """Lay out an array, a number or a (named) tuple of such and of tuples. Arrays are given C order."""
    if isinstance(value, tuple):
        return pack_tuple([pack(item) for item in value], type(value))
    if isinstance(value, Packed):
        return value
    if isinstance(value, Array):
        array = np.ascontiguousarray(value)
        return Packed((array.dtype, array.ndim), (address_of(array), *array.shape), (array,))
    if isinstance(value, (bool, np.bool_)):
        return Packed(bool, (int(value),), ())
    if isinstance(value, (int, np.integer)):
        return Packed(int, (int(value),), ())
    return Packed(float, (int(np.float64(value).view(np.int64)),), ())


def pack_tuple(items: list[Packed], cls: type = tuple) -> Packed:
    """Lay out a tuple whose items have been laid out already."""
    return Packed(
        (cls, *[item.layout for item in items]),
        tuple(word for item in items for word in item.words),
        tuple(array for item in items for array in item.arrays),
    )


@dataclass(frozen=True, slots=True)
class Routine:
    """A kernel with what it works on. Keep it until the loop that uses its :attr:`call` has returned."""

    call: Call
    keep: tuple[Any, ...]
    errors: Sequence[BaseException] = ()
    """What a kernel in plain Python has raised."""


def routine(kernel: Kernel, model: tuple[Any, ...] | Packed) -> Routine:
    """Return a routine that calls ``kernel(model, start, stop, block, sums)``, as scorers have them.

    The kernel works on documents ``start:stop``; ``block`` numbers the block of queries under way, for scratch space
    of its own, and ``sums`` is the block's gradient (see :mod:`podium.numerics.loop`). It returns nothing.
    """
    return make_routine(_call_kernel, kernel, pack(model))


def make_routine(template: Callable[..., int], kernel: Kernel, packed: Packed) -> Routine:
    """Return a routine from a template, compiled for this table as by :func:`compiled_call`."""
    table = np.array(packed.words, dtype=np.int64)
    return Routine(Call(compiled_call(template, kernel, packed.layout).address, address_of(table)), (packed, table))


def _call_kernel(table: int, query: int, start: int, stop: int, block: int, scale: float, out: int, n_out: int) -> int:
    try:
        kernel(unpack(table, KIND), start, stop, block, carray(pointer(out), (n_out,), np.float64))
    except Exception:
        return 0
    return OK


@cache
def compiled_call(template: Callable[..., int], kernel: Kernel, layout: Any) -> Any:
    """Return the C function of a template in which ``kernel`` and ``KIND`` (of the table) are free names."""
    kind = _numba_type(layout)
    return callback(specialize(template, kernel, str(kind), KIND=kind), types.int64(*_ARGUMENTS))


def _numba_type(layout: Any) -> Any:
    if not isinstance(layout, tuple):
        return {bool: types.boolean, int: types.int64, float: types.float64}[layout]
    first, *rest = layout
    if isinstance(first, np.dtype):
        return types.Array(from_dtype(first), *rest, "C")
    return types.BaseTuple.from_types([_numba_type(item) for item in rest], None if first is tuple else first)


def address_of(array: Array) -> int:
    return int(array.__array_interface__["data"][0])


@intrinsic  # type: ignore[untyped-decorator]
def call_function(
    _: Any, function: Any, table: Any, query: Any, start: Any, stop: Any, block: Any, scale: Any, out: Any, n_out: Any
) -> Any:
    """Call the C function at the address ``function`` and return its status."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = ir.FunctionType(_WORD, [context.get_value_type(argument) for argument in _ARGUMENTS])
        return builder.call(builder.inttoptr(args[0], kind.as_pointer()), args[1:])

    return types.int64(types.int64, *_ARGUMENTS), generate


@njit(error_model="numpy")
def call_on_arrays(function: int, table: np.ndarray) -> float:
    """Call a routine's function from within a kernel on a table of arrays (see :func:`lay`); return its first sum.

    Compiled code frees arrays after their last use, and does not see that the table is one: callers must use the arrays
    once more behind the call.
    """
    result = np.zeros(1)
    status = call_function(function, table.ctypes.data, 0, 0, 0, 0, 0.0, result.ctypes.data, 1)
    if status != OK or len(table) == 0:
        raise MemoryError("a compiled function that another one called has failed")
    return result[0]


@njit(error_model="numpy")
def lay(table: np.ndarray, place: int, array: np.ndarray) -> None:
    """Write a one-dimensional array's address and length to its place in a table, as :func:`pack` lays them out."""
    table[2 * place], table[2 * place + 1] = array.ctypes.data, len(array)


@njit(error_model="numpy")
def lay_all(table: np.ndarray, arrays: tuple[np.ndarray, ...]) -> None:
    """Lay out arrays of one type, one after another."""
    for place, array in enumerate(arrays):
        lay(table, place, array)


@intrinsic  # type: ignore[untyped-decorator]
def pointer(_: Any, address: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(types.voidptr))

    return types.voidptr(types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def unpack(_: Any, table: Any, kind: Any) -> Any:
    """Return the tuple of type ``kind`` that :func:`pack` laid out at the address ``table``."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        words = builder.inttoptr(args[0], _WORD.as_pointer())
        n_read = 0

        def next_word() -> Any:
            nonlocal n_read
            n_read += 1
            return builder.load(builder.gep(words, [_WORD(n_read - 1)]))

        def build(kind: Any) -> Any:
            if isinstance(kind, types.BaseTuple):
                return context.make_tuple(builder, kind, [build(item) for item in kind.types])
            if isinstance(kind, types.Array):
                return _array(context, builder, kind, next_word(), [next_word() for _ in range(kind.ndim)])
            if kind == types.float64:
                return builder.bitcast(next_word(), ir.DoubleType())
            return builder.trunc(next_word(), ir.IntType(1)) if kind == types.boolean else next_word()

        return build(signature.return_type)

    return kind.instance_type(table, kind), generate


def _array(context: Any, builder: Any, kind: Any, address: Any, shape: list[Any]) -> Any:
    """Return an array in C order over memory that Numba does not own."""
    itemsize = _WORD(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides = [itemsize]
    for length in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], length))
    array = make_array(kind)(context, builder)
    data = builder.inttoptr(address, array.data.type)
    populate_array(array, data=data, shape=shape, strides=strides, itemsize=itemsize, meminfo=None)
    return array._getvalue()
