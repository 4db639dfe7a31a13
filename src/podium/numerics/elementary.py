"""``exp`` and ``log1p`` that LLVM can vectorize, shared by every kernel.

Numba lowers ``math.exp`` to a library call, which stops a loop from vectorizing (as does any call, hence
``forceinline``). These are branch-free polynomials instead, accurate to a few units in the last place;
``tests/numerics/test_elementary.py`` measures the error over the whole range.

``exp`` is meant for arguments that are not NaN: it clamps to the range where the result is a normal number, so
``exp(-inf)`` is a tiny positive number (about 1e-38 in float32, 1e-308 in float64), not zero.
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic, overload

from podium.numerics.compiling import njit

# For kernels that use these: sums may be reordered (so that they vectorize) and multiplications fused, but NaN
# and infinity keep their meaning.
FAST = {"contract", "reassoc", "nsz", "arcp"}

# Exponentials of scores that differ by no more than this neither overflow nor underflow, nor do sums of their inverses.
SAFE_RANGE = 60.0

LOG2E = math.log2(math.e)


def _single(*numbers: float) -> tuple[np.float32, ...]:
    return tuple(map(np.float32, numbers))


# ln 2 in two parts, the first with trailing zero bits: n * high is then exact for every exponent n.
LN2_HIGH_32, LN2_LOW_32 = np.float32(0.693359375), np.float32(-2.12194440e-4)
LN2_HIGH_64, LN2_LOW_64 = 0.6931471803691238, 1.9082149292705877e-10
# Coefficients of polynomials, the highest power first. Those of exp in float64 are Taylor's, 1/k!: on |r| <= ln(2)/2
# the first one left out is below 2e-17. The last are a minimax fit of log(1 + u) / u on [0, 1], relative error 3e-8.
EXP_32 = _single(1.9875691500e-4, 1.3981999507e-3, 8.3334519073e-3, 4.1665795894e-2, 1.6666665459e-1, 5.0000001201e-1)
EXP_64 = tuple(1.0 / math.factorial(k) for k in range(13, 1, -1))
LOG_32 = _single(
    *(7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1, -1.2420140846e-1, 1.4249322787e-1),
    *(-1.6668057665e-1, 2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
LOG_64 = (
    *(1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01),
    *(2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01),
)
LOG1P_UNIT_32 = _single(
    *(0.005232624243944883, -0.029504956677556038, 0.07822549343109131, -0.1366320699453354, 0.1910598874092102),
    *(-0.2484297752380371, 0.3331909477710724, -0.4999949336051941, 0.9999999403953552),
)
# The same in powers of 2u − 1, an interpolation in Chebyshev's points: relative error 2e-16.
LOG1P_UNIT_64 = (
    *(2.3950578647327904e-11, -7.322346092155087e-11, 1.0465314607912801e-10, -3.4176230784022844e-10),
    *(1.3699443344573535e-09, -4.337050885142193e-09, 1.3492448394193986e-08, -4.331249940189226e-08),
    *(1.3990916113119168e-07, -4.535440217196473e-07, 1.4798657678221183e-06, -4.8668771941704866e-06),
    *(1.6156949767296727e-05, -5.426089827415906e-05, 0.0001849030017022361, -0.0006421503724685249),
    *(0.0022882409076982507, -0.008461080413870763, 0.033152438438550695, -0.14426354954966195),
    0.8109302162163288,
)
# Adding and subtracting 1.5 * 2^(mantissa bits) rounds to the nearest integer without a library call.
ROUND_32, ROUND_64 = np.float32(1.5 * 2**23), 1.5 * 2.0**52


@intrinsic  # type: ignore[untyped-decorator]
def reinterpret(typingctx: Any, x: Any) -> Any:
    """Return the same bits read as the integer (or floating-point) type of the same width."""
    target, llvm_type = {
        types.float32: (types.int32, ir.IntType(32)),
        types.float64: (types.int64, ir.IntType(64)),
        types.int32: (types.float32, ir.FloatType()),
        types.int64: (types.float64, ir.DoubleType()),
    }[x]

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitcast(args[0], llvm_type)

    return target(x), codegen


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _exp32(x: np.float32) -> np.float32:
    x = min(max(x, np.float32(-87.0)), np.float32(88.0))
    t = x * np.float32(LOG2E) + ROUND_32
    n = t - ROUND_32
    r = (x - n * LN2_HIGH_32) - n * LN2_LOW_32
    a7, a6, a5, a4, a3, a2 = EXP_32
    p = ((((a7 * r + a6) * r + a5) * r + a4) * r + a3) * r + a2
    p = p * r * r + r + np.float32(1.0)
    # The low bits of t are the integer n itself; moved into the exponent field they make 2**n.
    return p * reinterpret(np.int32((reinterpret(t) + np.int32(127)) << np.int32(23)))


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _exp64(x: float) -> float:
    x = min(max(x, -708.0), 709.0)
    t = x * LOG2E + ROUND_64
    n = t - ROUND_64
    r = (x - n * LN2_HIGH_64) - n * LN2_LOW_64
    a13, a12, a11, a10, a9, a8, a7, a6, a5, a4, a3, a2 = EXP_64
    p = (((((a13 * r + a12) * r + a11) * r + a10) * r + a9) * r + a8) * r + a7
    p = ((((p * r + a6) * r + a5) * r + a4) * r + a3) * r + a2
    p = p * r * r + r + 1.0
    return p * reinterpret((reinterpret(t) + np.int64(1023)) << np.int64(52))


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _log32(x: np.float32) -> np.float32:
    m, exponent = _split32(x)
    e = np.float32(exponent)
    big = m > np.float32(1.4142135)
    m = m * np.float32(0.5) if big else m
    e = e + np.float32(1.0) if big else e
    f = m - np.float32(1.0)
    # A polynomial of degree 9 instead of the shorter one in f / (2 + f): a division costs more than five terms.
    a8, a7, a6, a5, a4, a3, a2, a1, a0 = LOG_32
    r = (((((((a8 * f + a7) * f + a6) * f + a5) * f + a4) * f + a3) * f + a2) * f + a1) * f + a0
    z = f * f
    low = f * z * r + e * LN2_LOW_32 - np.float32(0.5) * z
    return e * LN2_HIGH_32 + (f + low)


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _log64(x: float) -> float:
    bits = reinterpret(x)
    m = reinterpret((bits & np.int64(0x000FFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000))
    # AVX2 cannot convert int64 to float64, but an integer below 2**52 written into the mantissa of 2**52 is one.
    e = reinterpret((bits >> np.int64(52)) | np.int64(0x4330000000000000)) - (2.0**52 + 1023.0)
    big = m > 1.4142135623730951
    m = m * 0.5 if big else m
    e = e + 1.0 if big else e
    f = m - 1.0
    s = f / (2.0 + f)
    z = s * s
    a6, a5, a4, a3, a2, a1, a0 = LOG_64
    r = ((((((a6 * z + a5) * z + a4) * z + a3) * z + a2) * z + a1) * z + a0) * z
    half = 0.5 * f * f
    return e * LN2_HIGH_64 - ((half - (s * (half + r) + e * LN2_LOW_64)) - f)


# fastmath must be named even where it is not wanted: left out, it is taken over from the first caller, and reordered
# the correction below is nothing.
@njit(fastmath=False, error_model="numpy", forceinline=True)
def _log1p(u: float) -> float:
    one = type(u)(1)
    w = one + u
    return log(w) + (u - (w - one)) / w


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _log1p_unit32(u: np.float32) -> np.float32:
    a8, a7, a6, a5, a4, a3, a2, a1, a0 = LOG1P_UNIT_32
    return u * ((((((((a8 * u + a7) * u + a6) * u + a5) * u + a4) * u + a3) * u + a2) * u + a1) * u + a0)


@njit(fastmath={"contract"}, error_model="numpy", forceinline=True)
def _log1p_unit64(u: float) -> float:
    x = 2.0 * u - 1.0
    a20, a19, a18, a17, a16, a15, a14, a13, a12, a11, a10, a9, a8, a7, a6, a5, a4, a3, a2, a1, a0 = LOG1P_UNIT_64
    p = ((((((a20 * x + a19) * x + a18) * x + a17) * x + a16) * x + a15) * x + a14) * x + a13
    p = (((((((p * x + a12) * x + a11) * x + a10) * x + a9) * x + a8) * x + a7) * x + a6) * x + a5
    return u * (((((p * x + a4) * x + a3) * x + a2) * x + a1) * x + a0)


@njit(fastmath=False, error_model="numpy", forceinline=True)
def _split32(x: np.float32) -> tuple[np.float32, np.int32]:
    bits = reinterpret(x)
    mantissa = reinterpret(np.int32((bits & np.int32(0x007FFFFF)) | np.int32(0x3F800000)))
    return mantissa, np.int32((bits >> np.int32(23)) - np.int32(127))


@njit(fastmath=False, error_model="numpy", forceinline=True)
def _split64(x: float) -> tuple[float, np.int64]:
    bits = reinterpret(x)
    mantissa = reinterpret((bits & np.int64(0x000FFFFFFFFFFFFF)) | np.int64(0x3FF0000000000000))
    return mantissa, (bits >> np.int64(52)) - np.int64(1023)


def exp(x: float) -> float:
    """Return ``e**x`` for a float32 or float64 that is not NaN; never zero, never infinite."""
    return math.exp(x)


def log(x: float) -> float:
    """Return the natural logarithm of a positive, finite, normal float32 or float64."""
    return math.log(x)


def log1p(u: float) -> float:
    """Return ``log(1 + u)`` for 0 <= u < 1e30, without losing small ``u`` to the rounding of ``1 + u``."""
    return math.log1p(u)


def log1p_unit(u: float) -> float:
    """Return ``log(1 + u)`` for 0 <= u <= 1, without a division; also of a tile (:mod:`podium.numerics.tiles`)."""
    return math.log1p(u)


def split(x: float) -> tuple[float, int]:
    """Return ``m, e`` with ``x == m * 2**e`` and 1 <= m < 2, for a positive, finite, normal float32 or float64."""
    m, e = math.frexp(x)
    return 2.0 * m, e - 1


def _by_type(function: Callable[..., Any], single: Callable[..., Any], double: Callable[..., Any]) -> None:
    """Let a function stand, inside compiled code, for the version of its argument's type, or that of its numbers."""

    def version(x: Any) -> Callable[..., Any]:
        return (lambda x: single(x)) if getattr(x, "dtype", x) == types.float32 else (lambda x: double(x))

    overload(function, strict=False)(version)


_by_type(exp, _exp32, _exp64)
_by_type(log, _log32, _log64)
_by_type(log1p, _log1p, _log1p)
_by_type(log1p_unit, _log1p_unit32, _log1p_unit64)
_by_type(split, _split32, _split64)


@njit(error_model="numpy", forceinline=True)
def _ordered32(bits: np.int32) -> np.int32:
    return np.int32(bits ^ ((bits >> np.int32(31)) & np.int32(0x7FFFFFFF)))


@njit(error_model="numpy", forceinline=True)
def _ordered64(bits: np.int64) -> np.int64:
    return bits ^ ((bits >> np.int64(63)) & np.int64(0x7FFFFFFFFFFFFFFF))


def ordered(bits: int) -> int:
    """Return an integer that grows with the floating-point number that has these bits; its own inverse."""
    return int(_ordered64(np.int64(bits)))


overload(ordered)(
    lambda bits: (lambda bits: _ordered32(bits)) if bits == types.int32 else (lambda bits: _ordered64(bits))
)


# The extremes are found among integers: what to do with NaN keeps loops over floating-point numbers from vectorizing.
@njit(error_model="numpy")
def largest(x: np.ndarray) -> float:
    """Return the largest entry of an array that is not empty, or NaN if there is one (unless it is a negative NaN)."""
    high = ordered(reinterpret(x[0]))
    for i in range(len(x)):
        high = max(high, ordered(reinterpret(x[i])))
    return reinterpret(ordered(high))


@njit(error_model="numpy")
def extent(x: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest entry of an array that is not empty; NaN may go unnoticed."""
    low = high = ordered(reinterpret(x[0]))
    for i in range(len(x)):
        low = min(low, ordered(reinterpret(x[i])))
        high = max(high, ordered(reinterpret(x[i])))
    return reinterpret(ordered(low)), reinterpret(ordered(high))


@njit(error_model="numpy", fastmath={"contract", "reassoc"})
def all_finite(x: np.ndarray) -> bool:
    """Return whether no entry is NaN or infinite."""
    nothing = x.dtype.type(0)
    for i in range(len(x)):
        nothing += x[i] - x[i]
    return nothing == 0
