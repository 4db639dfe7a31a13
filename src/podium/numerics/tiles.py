"""Vectors and tiles of numbers, for loops over pairs that LLVM would not vectorize well, or not always alike.

Left to itself, LLVM takes several vectors per step and does what remains one number at a time, which is most of a list
of a hundred documents; it gives up where more than a few arrays might overlap; and it groups sums in one way or
another. Here a step is one vector of 64 bytes, whatever the processor's registers are, or a tile of four, one for each
of :data:`ROWS` documents that are compared with those of a vector:

    mine, sums = rows(a, b, c, d), rows(zero, zero, zero, zero)
    for t in range(start, stop, width(x)):
        tile = mine * load(x, t)                      # 4 × 16 products
        sums += tile
        store(y, t, load(y, t) + over_rows(tile))
    add_over_columns(z, first, sums)

Vectors and tiles take part in ``+``, ``-``, ``*``, ``/``, ``min``, ``max`` and ``abs``, with each other and with
numbers, which are converted to their type. Loads and stores are not checked and touch whole vectors: give arrays a
length of :func:`rounded_up`. Functions that take or return vectors are to be compiled with ``forceinline=True``.
"""

import operator
from collections.abc import Callable, Iterable
from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic, lower_builtin, models, register_model, type_callable

from podium.numerics.compiling import Array, njit

BYTES = 64
MOST = 16
"""The most numbers of a vector, those of float32."""
ROWS = 4
"""Vectors of a tile."""
_PLACE = ir.IntType(32)


class Tile(types.Type):  # type: ignore[misc]
    """The type of a vector of so many numbers as fit into :data:`BYTES`, or, with ``n_rows`` of them, of a tile."""

    def __init__(self, dtype: Any, n_rows: int = 1) -> None:
        self.dtype, self.n_rows, self.width = dtype, n_rows, 8 * BYTES // dtype.bitwidth
        super().__init__(name=f"Tile({dtype}, {n_rows} x {self.width})")


@register_model(Tile)
class _TileModel(models.PrimitiveModel):  # type: ignore[misc]
    def __init__(self, manager: Any, kind: Tile) -> None:
        vector = ir.VectorType(manager.lookup(kind.dtype).get_value_type(), kind.width)
        super().__init__(manager, kind, ir.ArrayType(vector, kind.n_rows))


@njit(error_model="numpy", forceinline=True)
def rounded_up(n: int) -> int:
    """Return the least multiple of :data:`MOST` that is not below n: the length of arrays for loops over vectors."""
    return (n + MOST - 1) // MOST * MOST


@intrinsic  # type: ignore[untyped-decorator]
def width(_: Any, array: Any) -> Any:
    """Return how many numbers of an array's type are in a vector."""
    n = Tile(array.dtype).width
    return types.intp(array), lambda context, builder, sig, args: ir.Constant(ir.IntType(64), n)


# ---- memory


@intrinsic  # type: ignore[untyped-decorator]
def unowned(_: Any, value: Any) -> Any:
    """Return an array, or a tuple of arrays and numbers, to be used like it as far as items and vectors go.

    Numba counts references to arrays, which in loops like these takes longer than the arithmetic. Nor does it know of
    the one made here: :func:`keep` the arrays.
    """
    kind = _unowned_kind(value)
    return kind(value), lambda context, builder, sig, args: _unowned(context, builder, value, args[0])


def _unowned_kind(kind: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        return types.BaseTuple.from_types([_unowned_kind(item) for item in kind], getattr(kind, "instance_class", None))
    return types.CPointer(kind.dtype) if isinstance(kind, types.Array) else kind


def _unowned(context: Any, builder: Any, kind: Any, value: Any) -> Any:
    if isinstance(kind, types.BaseTuple):
        items = [_unowned(context, builder, item, builder.extract_value(value, k)) for k, item in enumerate(kind)]
        return context.make_tuple(builder, _unowned_kind(kind), items)
    return context.make_array(kind)(context, builder, value).data if isinstance(kind, types.Array) else value


@intrinsic  # type: ignore[untyped-decorator]
def keep(_: Any, value: Any) -> Any:
    """Do nothing, but arrays live until their last use."""
    return types.void(value), lambda context, builder, sig, args: context.get_dummy_value()


@intrinsic  # type: ignore[untyped-decorator]
def load(_: Any, array: Any, start: Any) -> Any:
    """Return the vector that begins at a place of an array."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args, Tile(array.dtype).width)
        return _tile(context, builder, sig.return_type, [builder.load(pointer, align=array.dtype.bitwidth // 8)])

    return Tile(array.dtype)(array, types.intp), generate


@intrinsic  # type: ignore[untyped-decorator]
def store(_: Any, array: Any, start: Any, vector: Any) -> Any:
    """Write a vector to an array, from a place on."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        pointer = _address(context, builder, sig.args[0], args, vector.width)
        builder.store(builder.extract_value(args[2], 0), pointer, align=array.dtype.bitwidth // 8)
        return context.get_dummy_value()

    return types.void(array, types.intp, vector), generate


@intrinsic  # type: ignore[untyped-decorator]
def add_over_columns(_: Any, array: Any, start: Any, tile: Any) -> Any:
    """Add the sums of a tile's rows to as many entries of an array, from a place on."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        parts, n = _rows(builder, args[2], sig.args[2]), tile.width
        while n > ROWS:
            n //= 2
            parts = [_added(builder, part, part, range(n), range(n, 2 * n)) for part in parts]
        a, b, c, d = parts
        ab, cd = (_added(builder, x, y, (0, 4, 1, 5), (2, 6, 3, 7)) for x, y in ((a, b), (c, d)))
        sums = _added(builder, ab, cd, (0, 1, 4, 5), (2, 3, 6, 7))
        pointer = _address(context, builder, sig.args[0], args, ROWS)
        align = array.dtype.bitwidth // 8
        builder.store(builder.fadd(builder.load(pointer, align=align), sums), pointer, align=align)
        return context.get_dummy_value()

    return types.void(array, types.intp, tile), generate


def _address(context: Any, builder: Any, kind: Any, args: Any, n: int) -> Any:
    """Return the address of so many numbers of the first argument, an array, from the second on."""
    is_array = isinstance(kind, types.Array)
    data = context.make_array(kind)(context, builder, args[0]).data if is_array else args[0]
    vector = ir.VectorType(context.get_value_type(kind.dtype), n)
    return builder.bitcast(builder.gep(data, [args[1]]), vector.as_pointer())


def _added(builder: Any, x: Any, y: Any, left: Iterable[int], right: Iterable[int]) -> Any:
    """Return the sum of two selections of places from two vectors, those of the second numbered after the first's."""
    return builder.fadd(*(builder.shuffle_vector(x, y, _places(places)) for places in (left, right)))


def _places(places: Iterable[int]) -> ir.Constant:
    numbers = list(places)
    return ir.Constant(ir.VectorType(_PLACE, len(numbers)), numbers)


# ---- making tiles and vectors


@intrinsic  # type: ignore[untyped-decorator]
def rows(_: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Return the tile of four vectors, or of four numbers, each for a whole row."""
    kind = Tile(getattr(a, "dtype", a), ROWS)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        if isinstance(a, Tile):
            return _tile(context, builder, kind, [builder.extract_value(value, 0) for value in args])
        return _tile(context, builder, kind, [_spread(context, builder, kind, value) for value in args])

    return kind(a, a, a, a), generate


@njit(error_model="numpy", forceinline=True)
def four_of(x: Array, first: int) -> Any:
    """Return the tile with a row for each of four entries of an array, from ``first`` on."""
    return rows(x[first], x[first + 1], x[first + 2], x[first + 3])


@njit(error_model="numpy", forceinline=True)
def four_before(x: Array, place: int) -> Any:
    """Return the tile of four vectors of an array, each of which begins one place before the one above it."""
    return rows(load(x, place), load(x, place - 1), load(x, place - 2), load(x, place - 3))


@intrinsic  # type: ignore[untyped-decorator]
def beyond(_: Any, tile: Any, place: Any) -> Any:
    """Return the tile with 0 up to a place of its first row, the next one of its second row, and so on."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.return_type
        places = ir.VectorType(_PLACE, kind.width)
        undefined = ir.Constant(places, ir.Undefined)
        first = builder.insert_element(undefined, builder.trunc(args[1], _PLACE), ir.Constant(_PLACE, 0))
        first = builder.shuffle_vector(first, undefined, _places([0] * kind.width))
        result = []
        for k, row in enumerate(_rows(builder, args[0], kind)):
            after = builder.icmp_signed(">", ir.Constant(places, [t - k for t in range(kind.width)]), first)
            result.append(builder.select(after, row, ir.Constant(row.type, None)))
        return _tile(context, builder, kind, result)

    return tile(tile, types.int64), generate


@intrinsic  # type: ignore[untyped-decorator]
def over_rows(_: Any, tile: Any) -> Any:
    """Return the vector of a tile's sums over rows."""
    kind = Tile(tile.dtype)

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        a, b, c, d = _rows(builder, args[0], sig.args[0])
        return _tile(context, builder, kind, [builder.fadd(builder.fadd(a, b), builder.fadd(c, d))])

    return kind(tile), generate


def _rows(builder: Any, value: Any, kind: Tile) -> list[Any]:
    return [builder.extract_value(value, k) for k in range(kind.n_rows)]


def _tile(context: Any, builder: Any, kind: Tile, vectors: list[Any]) -> Any:
    value = ir.Constant(context.get_value_type(kind), ir.Undefined)
    for k, vector in enumerate(vectors):
        value = builder.insert_value(value, vector, k)
    return value


def _spread(context: Any, builder: Any, kind: Tile, number: Any) -> Any:
    """Return the vector with a number in every place."""
    undefined = ir.Constant(context.get_value_type(kind).element, ir.Undefined)
    first = builder.insert_element(undefined, number, ir.Constant(_PLACE, 0))
    return builder.shuffle_vector(first, undefined, _places([0] * kind.width))


# ---- arithmetic


def _common(x: Any, y: Any) -> Any:
    """Return the type of the result of two operands of which one at least is a vector or tile, or None."""
    if isinstance(x, Tile) and isinstance(y, Tile):
        larger = x if x.n_rows > y.n_rows else y
        return larger if x.dtype == y.dtype else None
    if isinstance(x, Tile):
        return x if isinstance(y, types.Number) else None
    return y if isinstance(y, Tile) and isinstance(x, types.Number) else None


def _define(operation: Any, generate: Callable[[Any, Any, Any], Any]) -> None:
    """Let ``generate(builder, x, y)`` be what an operation does with two vectors."""

    @type_callable(operation)  # type: ignore[untyped-decorator]
    def _type(_: Any) -> Any:
        return _common

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return _combined(context, builder, sig, args, generate)

    for operands in ((Tile, Tile), (Tile, types.Number), (types.Number, Tile)):
        lower_builtin(operation, *operands)(lower)


def _combined(context: Any, builder: Any, sig: Any, args: Any, generate: Callable[[Any, Any, Any], Any]) -> Any:
    """Apply an operation to the vectors of two operands; a number stands for a vector of it, a vector for a tile."""
    kind = sig.return_type

    def vectors(value: Any, given: Any) -> list[Any]:
        if not isinstance(given, Tile):
            number = context.cast(builder, value, given, kind.dtype)
            return [_spread(context, builder, kind, number)] * kind.n_rows
        found = _rows(builder, value, given)
        return found if given.n_rows == kind.n_rows else found * kind.n_rows

    operands = zip(vectors(args[0], sig.args[0]), vectors(args[1], sig.args[1]), strict=True)
    return _tile(context, builder, kind, [generate(builder, x, y) for x, y in operands])


def _instruct(name: str) -> Callable[[Any, Any, Any], Any]:
    return lambda builder, x, y: getattr(builder, name)(x, y)


for _names, _instruction in (
    ("add iadd", "fadd"),
    ("sub isub", "fsub"),
    ("mul imul", "fmul"),
    ("truediv itruediv", "fdiv"),
):
    for _name in _names.split():
        _define(getattr(operator, _name), _instruct(_instruction))
_define(max, lambda builder, x, y: builder.select(builder.fcmp_ordered(">", x, y), x, y))
_define(min, lambda builder, x, y: builder.select(builder.fcmp_ordered("<", x, y), x, y))


@intrinsic  # type: ignore[untyped-decorator]
def exceeds(_: Any, x: Any, y: Any) -> Any:
    """Return 1 where x is larger, else 0."""
    return _comparison(">", x, y)


@intrinsic  # type: ignore[untyped-decorator]
def reaches(_: Any, x: Any, y: Any) -> Any:
    """Return 1 where x is not smaller, else 0."""
    return _comparison(">=", x, y)


def _comparison(relation: str, x: Any, y: Any) -> Any:
    kind = _common(x, y)

    def one_where(builder: Any, x: Any, y: Any) -> Any:
        ones, zeros = ir.Constant(x.type, [1.0] * x.type.count), ir.Constant(x.type, None)
        return builder.select(builder.fcmp_ordered(relation, x, y), ones, zeros)

    return kind(x, y), lambda context, builder, sig, args: _combined(context, builder, sig, args, one_where)


@type_callable(abs)  # type: ignore[untyped-decorator]
def _type_abs(_: Any) -> Any:
    return lambda x: x if isinstance(x, Tile) else None


@lower_builtin(abs, Tile)  # type: ignore[untyped-decorator]
def _lower_abs(context: Any, builder: Any, sig: Any, args: Any) -> Any:
    kind = sig.return_type
    vectors = _rows(builder, args[0], kind)
    name = f"llvm.fabs.v{kind.width}f{kind.dtype.bitwidth}"
    function = get_or_insert_function(builder.module, ir.FunctionType(vectors[0].type, [vectors[0].type]), name)
    return _tile(context, builder, kind, [builder.call(function, [vector]) for vector in vectors])
