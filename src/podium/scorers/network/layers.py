"""Dense layers of small networks, inside compiled loops.

Documents are columns here: a block of them is a (width, documents) array, so that loops run along documents and
vectorize however narrow a layer is. Everything is computed in the features' own type; sums over blocks are float64.

A network's weights are one flat array: for each layer its matrix (outputs × inputs, row by row), then its biases. Its
activations are one flat array too: for each layer, inputs included, a (width, documents) block.
"""

from typing import Any

import numpy as np
import scipy.linalg.cython_blas  # noqa: F401  np.dot in compiled code is this; loaded here, thread limits can reach it
from numba import types
from numba.extending import intrinsic

from podium.data.logarithms import LoggedQueries
from podium.data.queries import Queries
from podium.numerics.compiling import Array, njit
from podium.numerics.elementary import FAST, exp
from podium.numerics.forward import HEIGHT, RELU, SLOPE, TANH
from podium.numerics.logarithms import logarithm

BLOCK = 256
"""Documents computed at once."""

_WORTH_BLAS = 1 << 19  # multiplications of one product; below, a call costs more than it saves


def initial_weights(sizes: Array, activation: int, rng: np.random.Generator) -> Array:
    """Return random weights that keep the scale of values from layer to layer, and biases of 0."""
    gain = 2.0 if activation == RELU else 1.0
    parts = []
    for n_in, n_out in zip(sizes[:-1].tolist(), sizes[1:].tolist(), strict=True):
        parts += [rng.normal(0.0, np.sqrt(gain / max(n_in, 1)), n_in * n_out), np.zeros(n_out)]
    return np.concatenate(parts)


def is_weight(sizes: Array) -> Array:
    """Return (n_weights,) which entries of the flat array are not biases."""
    pairs = zip(sizes[:-1].tolist(), sizes[1:].tolist(), strict=True)
    return np.concatenate([np.repeat([True, False], [n_in * n_out, n_out]) for n_in, n_out in pairs])


@intrinsic  # type: ignore[untyped-decorator]
def apart(typingctx: Any) -> Any:
    """Keep the function that calls this from being inlined, which made its callers take a minute to compile."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.function.attributes.add("noinline")
        return context.get_dummy_value()

    return types.void(), codegen


# Written out, since array expressions make Numba compile their error messages: ten seconds instead of one.
@njit(error_model="numpy")
def fill(out: Array, value: float) -> None:
    """Set ``out[:] = value``."""
    for i in range(len(out)):
        out[i] = value


@njit(error_model="numpy")
def copy_into(out: Array, x: Array) -> None:
    """Set ``out[:] = x``."""
    for i in range(len(out)):
        out[i] = x[i]


@njit(error_model="numpy")
def add_into(out: Array, x: Array) -> None:
    """Add ``x`` to ``out``."""
    for i in range(len(out)):
        out[i] += x[i]


@njit(error_model="numpy")
def total(sizes: Array) -> int:
    """Return ``sizes.sum()``."""
    result = 0
    for i in range(len(sizes)):
        result += sizes[i]
    return result


Rows = tuple[Array, Array, Array, Array, Array]


def network_rows(queries: Queries) -> Rows:
    """Return a matrix and the arrays of CSR, one of them empty (two types would be compiled for twice), and units."""
    units = np.empty(0)
    if isinstance(queries, LoggedQueries):
        units, queries = queries.log_scale, queries.given
    features = queries.features
    if isinstance(features, np.ndarray):
        none = np.empty(0, np.int32)
        return features, np.empty(0, features.dtype), none, none, units
    return np.empty((0, 0), features.dtype), features.data, features.indices, features.indptr, units


@njit(error_model="numpy")
def load_block(rows: Rows, start: int, scaling: Array, out: Array) -> None:
    """Set ``out`` (n_features, n) to the features of ``n`` documents from number ``start``, standardized.

    ``scaling`` (2, n_features) holds what is subtracted, then what is multiplied by. Before, features whose unit in
    ``rows`` is not 0 are replaced by logarithms; without units none are.
    """
    apart()
    dense, data, indices, bounds, units = rows
    mean, inverse_scale = scaling[0], scaling[1]
    if len(bounds) == 0:
        for i in range(out.shape[1]):
            row = dense[start + i]
            for j in range(len(row)):
                out[j, i] = (row[j] - mean[j]) * inverse_scale[j]
        for j in range(len(units)):
            if units[j] > 0.0:
                values = out[j]
                for i in range(len(values)):
                    x = out.dtype.type(logarithm(np.float64(dense[start + i, j]), units[j]))
                    values[i] = (x - mean[j]) * inverse_scale[j]
        return
    for j in range(len(mean)):
        fill(out[j], -mean[j] * inverse_scale[j])
    for i in range(out.shape[1]):
        for k in range(bounds[start + i], bounds[start + i + 1]):
            j, x = indices[k], data[k]
            if len(units) and units[j] > 0.0:
                x = out.dtype.type(logarithm(np.float64(x), units[j]))
            out[j, i] += x * inverse_scale[j]


@njit(error_model="numpy")
def part(flat: Array, first: int, height: int, width: int) -> Array:
    """Return the (height, width) block that begins with row ``first`` of rows of this width in a flat array."""
    return flat[first * width : (first + height) * width].reshape((height, width))


@njit(fastmath=FAST, error_model="numpy")
def transform(weights: Array, biases: Array, x: Array, out: Array) -> None:
    """Set ``out = weights @ x + biases``; rows beyond the last bias have none."""
    apart()
    n_out, n_in = weights.shape
    if weights.size * x.shape[1] >= _WORTH_BLAS and n_out >= 8:
        np.dot(weights, x, out)
        for h in range(len(biases)):
            y, bias = out[h], biases[h]
            for i in range(len(y)):
                y[i] += bias
        return
    whole = n_in - n_in % 4
    for h in range(n_out):
        y, w = out[h], weights[h]
        fill(y, biases[h] if h < len(biases) else weights.dtype.type(0.0))
        # Four inputs at a time: the sums are then loaded and stored once for four multiplications.
        for j in range(0, whole, 4):
            a, b, c, d = x[j], x[j + 1], x[j + 2], x[j + 3]
            wa, wb, wc, wd = w[j], w[j + 1], w[j + 2], w[j + 3]
            for i in range(len(y)):
                y[i] += (wa * a[i] + wb * b[i]) + (wc * c[i] + wd * d[i])
        for j in range(whole, n_in):
            a, wa = x[j], w[j]
            for i in range(len(y)):
                y[i] += wa * a[i]


@njit(fastmath=FAST, error_model="numpy")
def transform_back(weights: Array, d_out: Array, d_x: Array) -> None:
    """Set ``d_x = weights.T @ d_out``."""
    apart()
    if weights.size * d_x.shape[1] >= _WORTH_BLAS:
        np.dot(weights.T, d_out, d_x)
        return
    for j in range(len(d_x)):
        row = d_x[j]
        fill(row, d_x.dtype.type(0.0))
        for h in range(len(d_out)):
            d, w = d_out[h], weights[h, j]
            for i in range(len(row)):
                row[i] += w * d[i]


@njit(fastmath=FAST, error_model="numpy")
def add_outer(d_out: Array, x: Array, d_weights: Array) -> None:
    """Add ``d_out @ x.T`` to ``d_weights``, which is flat and float64."""
    apart()
    n_out, n_in = len(d_out), len(x)
    if d_weights.size * x.shape[1] >= _WORTH_BLAS and n_out >= 8:
        product = np.dot(d_out, x.T)
        for h in range(n_out):
            for j in range(n_in):
                d_weights[h * n_in + j] += product[h, j]
        return
    for h in range(n_out):
        d = d_out[h]
        for j in range(n_in):
            a = x[j]
            dot = d[0] * a[0]
            for i in range(1, len(d)):
                dot += d[i] * a[i]
            d_weights[h * n_in + j] += dot


@njit(fastmath=FAST, error_model="numpy")
def add_rows_sums(d_out: Array, d_biases: Array) -> None:
    """Add ``d_out.sum(axis=1)`` to ``d_biases``, for as many rows as there are biases."""
    apart()
    for h in range(len(d_biases)):
        d, row_sum = d_out[h], 0.0
        for i in range(len(d)):
            row_sum += d[i]
        d_biases[h] += row_sum


@njit(fastmath=FAST, error_model="numpy")
def activate(kind: int, z: Array) -> None:
    """Apply an activation in place."""
    apart()
    number = z.dtype.type
    if kind == TANH:
        steep, height, one = number(2 * SLOPE), number(HEIGHT), number(1.0)
        twice = number(2 * HEIGHT)
        for i in range(len(z)):
            z[i] = height - twice / (one + exp(steep * z[i]))
    elif kind == RELU:
        for i in range(len(z)):
            z[i] = max(z[i], number(0.0))


@njit(fastmath=FAST, error_model="numpy")
def deactivate(kind: int, y: Array, d: Array) -> None:
    """Multiply ``d`` by the activation's derivative where its value is ``y``."""
    apart()
    number = y.dtype.type
    if kind == TANH:
        a, b = number(HEIGHT * SLOPE), number(SLOPE / HEIGHT)
        for i in range(len(y)):
            d[i] *= a - b * y[i] * y[i]
    elif kind == RELU:
        for i in range(len(y)):
            d[i] = d[i] if y[i] > 0.0 else number(0.0)


@njit(error_model="numpy")
def net_forward(sizes: Array, hidden: int, output: int, weights: Array, activations: Array, width: int) -> Array:
    """Fill in the activations above the inputs, for ``width`` documents; return the (width,) outputs.

    ``sizes`` are the widths of the layers from the features to the one output, ``hidden`` and ``output`` their
    activations.
    """
    apart()
    n_layers = len(sizes) - 1
    at, used = 0, 0
    for layer in range(n_layers):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        x, y = part(activations, at, n_in, width), part(activations, at + n_in, n_out, width)
        end = used + n_in * n_out
        transform(weights[used:end].reshape((n_out, n_in)), weights[end : end + n_out], x, y)
        activate(hidden if layer < n_layers - 1 else output, y.reshape(n_out * width))
        at += n_in
        used = end + n_out
    return activations[at * width : (at + 1) * width]


@njit(error_model="numpy")
def net_backward(
    sizes: Array,
    hidden: int,
    output: int,
    weights: Array,
    activations: Array,
    deltas: Array,
    d_output: Array,
    gradient: Array,
) -> None:
    """Add to ``gradient`` the derivatives by weight, given those by output (width,), after :func:`net_forward`.

    ``deltas`` is scratch space like ``activations``.
    """
    apart()
    width = len(d_output)
    n_layers = len(sizes) - 1
    at, used = total(sizes) - 1, len(weights)
    copy_into(deltas[at * width : (at + 1) * width], d_output)
    for layer in range(n_layers - 1, -1, -1):
        n_in, n_out = sizes[layer], sizes[layer + 1]
        y, d_y = part(activations, at, n_out, width), part(deltas, at, n_out, width)
        deactivate(hidden if layer < n_layers - 1 else output, y.reshape(n_out * width), d_y.reshape(n_out * width))
        at -= n_in
        used -= (n_in + 1) * n_out
        end = used + n_in * n_out
        add_outer(d_y, part(activations, at, n_in, width), gradient[used:end])
        add_rows_sums(d_y, gradient[end : end + n_out])
        if layer > 0:
            transform_back(weights[used:end].reshape((n_out, n_in)), d_y, part(deltas, at, n_in, width))
