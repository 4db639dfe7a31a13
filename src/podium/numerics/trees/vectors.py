"""Steps of the tree evaluator that LLVM does not find by itself, as vectors in its own language.

LLVM legalizes vectors of any length for the processor at hand; there is no code for one kind of processor here.
"""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core.cgutils import get_or_insert_function
from numba.extending import intrinsic

SIDE = 8
"""Rows and columns of a tile that :func:`transpose_tile` turns."""
LANES = 16
"""Documents that :func:`keep_where_above` and :func:`highest_of` take at once."""
_INDEX = ir.IntType(32)


@intrinsic  # type: ignore[untyped-decorator]
def lowest_bit(_: Any, word: Any) -> Any:
    """Return the number of the lowest bit that is 1; there is one."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        count = builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))
        return builder.zext(count, ir.IntType(64)) if word.bitwidth < 64 else count

    return types.uint64(word), generate


@intrinsic  # type: ignore[untyped-decorator]
def transpose_tile(_: Any, rows: Any, i: Any, j: Any, tile: Any) -> Any:
    """Set ``tile[:SIDE, i:i + SIDE]`` to ``rows[i:i + SIDE, j:j + SIDE]`` transposed; both arrays are in C order."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source = _vectors(context, builder, rows, args[0], args[1], args[2])
        target = _vectors(context, builder, tile, args[3], ir.Constant(args[1].type, 0), args[1])
        item = context.get_abi_sizeof(context.get_data_type(rows.dtype))
        vectors = [_load(builder, pointer, item) for pointer in source]
        width = SIDE // 2
        while width:  # exchange the blocks beside the diagonal: halves, then quarters, …
            upper = [c if c % (2 * width) < width else SIDE + c - width for c in range(SIDE)]
            lower = [c + width if c % (2 * width) < width else SIDE + c for c in range(SIDE)]
            for r in range(SIDE):
                if r % (2 * width) < width:
                    a, b = vectors[r], vectors[r + width]
                    vectors[r], vectors[r + width] = _shuffle(builder, a, b, upper), _shuffle(builder, a, b, lower)
            width //= 2
        for pointer, vector in zip(target, vectors, strict=True):
            builder.store(vector, pointer, align=item)
        return context.get_dummy_value()

    return types.void(rows, types.intp, types.intp, tile), generate


@intrinsic  # type: ignore[untyped-decorator]
def keep_where_above(_: Any, column: Any, words: Any, i: Any, threshold: Any, mask: Any) -> Any:
    """Do ``words[k] &= mask`` where ``column[k] > threshold``, for the :data:`LANES` documents k from ``i`` on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        values, value_size = _vector_at(context, builder, column, args[0], args[2], LANES)
        target, word_size = _vector_at(context, builder, words, args[1], args[2], LANES)
        value, word = _load(builder, values, value_size), _load(builder, target, word_size)
        above = builder.fcmp_ordered(">", value, _repeat(builder, args[3]))
        kept = builder.select(above, builder.and_(word, _repeat(builder, args[4])), word)
        builder.store(kept, target, align=word_size)
        return context.get_dummy_value()

    return types.void(column, words, types.intp, threshold, mask), generate


@intrinsic  # type: ignore[untyped-decorator]
def highest_of(_: Any, values: Any, i: Any) -> Any:
    """Return the largest of the :data:`LANES` values from ``i`` on, none of which is NaN."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, size = _vector_at(context, builder, values, args[0], args[1], LANES)
        vector = _load(builder, pointer, size)
        kind = ir.FunctionType(vector.type.element, [vector.type])
        name = f"llvm.vector.reduce.fmax.v{LANES}f{8 * size}"
        return builder.call(get_or_insert_function(builder.module, kind, name), [vector], fastmath=("nnan",))

    return values.dtype(values, types.intp), generate


def _vectors(context: Any, builder: Any, array_type: Any, array: Any, i: Any, j: Any) -> list[Any]:
    """Return pointers to the vectors that start at column ``j`` of the :data:`SIDE` rows from ``i`` on."""
    width = builder.extract_value(context.make_array(array_type)(context, builder, array).shape, 1)
    start = builder.add(builder.mul(i, width), j)
    places = (builder.add(start, builder.mul(width, ir.Constant(width.type, row))) for row in range(SIDE))
    return [_vector_at(context, builder, array_type, array, place, SIDE)[0] for place in places]


def _vector_at(context: Any, builder: Any, array_type: Any, array: Any, place: Any, lanes: int) -> tuple[Any, int]:
    """Return a pointer to a vector that starts at this place of an array's memory, and the size of an element."""
    item = context.get_data_type(array_type.dtype)
    data = context.make_array(array_type)(context, builder, array).data
    pointer = builder.bitcast(builder.gep(data, [place]), ir.VectorType(item, lanes).as_pointer())
    return pointer, context.get_abi_sizeof(item)


def _load(builder: Any, pointer: Any, align: int) -> Any:
    return builder.load(pointer, align=align)  # without this, LLVM takes vectors to be aligned to their own size


def _shuffle(builder: Any, a: Any, b: Any, places: list[int]) -> Any:
    return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(_INDEX, len(places)), places))


def _repeat(builder: Any, value: Any) -> Any:
    """Return a vector of :data:`LANES` times the value."""
    nothing = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    first = builder.insert_element(nothing, value, ir.Constant(_INDEX, 0))
    return _shuffle(builder, first, nothing, [0] * LANES)
