"""How likely each rank of a document is when scores are uncertain.

Document i's score is drawn from N(s_i, σ²), so it beats document j with chance π_ij = Φ((s_i − s_j) / (√2 σ)). The
place of j, how many others beat it, is then roughly a sum of independent coin tosses:

    binomial   p ← 1 at place 0, then for each i:  p(r) ← p(r − 1) π_ij + p(r) (1 − π_ij)      n² steps per document
    normal     mean Σ_i π_ij, variance Σ_i π_ij (1 − π_ij), rounded to whole places             n steps per document

Taylor, Guiver, Robertson & Minka, "SoftRank: optimizing non-smooth rank metrics", WSDM 2008. Contests whose outcome is
certain (to within 1e-17) are not tossed: a list with well separated scores costs little.
"""

import math

import numpy as np

from podium.numerics.compiling import Array, njit
from podium.numerics.elementary import FAST, exp

APPROXIMATIONS = ("binomial", "normal")
BINOMIAL, NORMAL = 0, 1
CERTAIN = 8.5
"""Standard deviations beyond which nothing happens: Φ(−8.5) is 1e-17."""
_LEAST_VARIANCE = 1e-12  # below, the place is certain


@njit(error_model="numpy")
def normal_chance(z: float) -> float:
    """Return Φ(z), without loss of digits in the lower tail."""
    return 0.5 * math.erfc(-z * math.sqrt(0.5))


@njit(error_model="numpy")
def normal_density(z: float) -> float:
    return exp(-0.5 * z * z) / math.sqrt(2.0 * math.pi)


@njit(error_model="numpy")
def contests(s: Array, j: int, inverse_scale: float, rivals: Array, z: Array, chance: Array) -> tuple[int, int]:
    """Find the documents that may or may not beat j: write who, z and π of each.

    Returns how many they are and how many beat j for sure. ``inverse_scale`` is 1 / (√2 σ).
    """
    n_rivals, n_above = 0, 0
    for i in range(len(s)):
        difference = (s[i] - s[j]) * inverse_scale
        if i == j or difference < -CERTAIN:
            continue
        if difference > CERTAIN:
            n_above += 1
            continue
        rivals[n_rivals], z[n_rivals], chance[n_rivals] = i, difference, normal_chance(difference)
        n_rivals += 1
    return n_rivals, n_above


@njit(error_model="numpy")
def expected_binomial(chance: Array, n_above: int, worth: Array, slope: Array) -> float:
    """Return Σ_r worth(r) p(r) under the rank-binomial distribution; write its derivative in each chance.

    Reverse differentiation needs the distribution before each toss. Only every √n-th is kept and the others are
    computed again, block by block, so that memory stays at n^1.5. Places after the last one worth something are not
    followed.
    """
    n = len(chance)
    width = min(n + 1, _useful(worth) - n_above)
    if width <= 0:
        slope[:] = 0.0
        return 0.0
    length = math.ceil(math.sqrt(n)) if n > 0 else 1
    n_blocks = (n + length - 1) // length
    kept = np.zeros((n_blocks + 1, width))
    rows = np.zeros((length + 1, width))
    kept[0, 0] = 1.0
    for block in range(n_blocks):
        rows[0] = kept[block]
        kept[block + 1] = rows[_toss_block(chance, block * length, rows)]
    ahead = np.zeros(width + 1)  # what being at a place is worth in expectation, with the contests to come
    for r in range(min(width, len(worth) - n_above)):
        ahead[r] = worth[n_above + r]
    value = 0.0
    for r in range(width):
        value += kept[n_blocks, r] * ahead[r]
    for block in range(n_blocks - 1, -1, -1):
        rows[0] = kept[block]
        for t in range(_toss_block(chance, block * length, rows) - 1, -1, -1):
            i = block * length + t
            slope[i] = _step_back(rows[t, : i + 1], chance[i], ahead)
    return value


@njit(error_model="numpy")
def _useful(worth: Array) -> int:
    """Return how many places there are up to the last one that is worth something."""
    n = len(worth)
    while n > 0 and worth[n - 1] == 0.0:
        n -= 1
    return n


@njit(error_model="numpy")
def _toss_block(chance: Array, first: int, rows: Array) -> int:
    """Continue from ``rows[0]`` with the contests from ``first`` on, one row each; returns how many there were."""
    n = min(len(rows) - 1, len(chance) - first)
    for t in range(n):
        _toss(rows[t], chance[first + t], min(first + t + 2, rows.shape[1]), rows[t + 1])
    return n


@njit(fastmath=FAST, error_model="numpy")
def _toss(p: Array, chance: float, n: int, result: Array) -> None:
    """Fold one contest in: the distribution over n places that follows from ``p`` over one less."""
    before, stay, moved = p[: n - 1], p[1:n], result[1:n]
    for r in range(len(moved)):
        moved[r] = before[r] * chance + stay[r] * (1.0 - chance)
    result[0] = p[0] * (1.0 - chance)
    if n < len(result):
        result[n] = 0.0  # read by the next toss; what lies beyond is never read


@njit(fastmath=FAST, error_model="numpy")
def _step_back(p: Array, chance: float, ahead: Array) -> float:
    """Return the derivative in the contest's chance; take ``ahead`` back to before the contest."""
    here, lower = ahead[: len(p)], ahead[1 : len(p) + 1]
    slope = 0.0
    for r in range(len(p)):
        slope += p[r] * (lower[r] - here[r])
        here[r] = here[r] * (1.0 - chance) + lower[r] * chance
    return slope


@njit(error_model="numpy")
def expected_normal(chance: Array, n_above: int, worth: Array, slope: Array) -> float:
    """Do the same under the normal distribution: place r is its mass between r − ½ and r + ½, the ends take the tails.

    Summed by parts: worth(last) + Σ_r (worth(r) − worth(r + 1)) Φ((r + ½ − mean) / deviation).
    """
    mean, variance = _moments(chance, n_above)
    if variance < _LEAST_VARIANCE:
        slope[:] = 0.0
        return worth[int(mean + 0.5)]
    deviation = math.sqrt(variance)
    low, high = _span(mean, deviation, len(worth))
    value, of_mean, of_variance = worth[high + 1], 0.0, 0.0
    for r in range(low, high + 1):
        step = worth[r] - worth[r + 1]
        z = (r + 0.5 - mean) / deviation
        density = step * normal_density(z) / deviation
        value += step * normal_chance(z)
        of_mean -= density
        of_variance -= 0.5 * density * z / deviation
    for i in range(len(chance)):
        slope[i] = of_mean + of_variance * (1.0 - 2.0 * chance[i])
    return value


@njit(error_model="numpy")
def _moments(chance: Array, n_above: int) -> tuple[float, float]:
    mean, variance = float(n_above), 0.0
    for i in range(len(chance)):
        mean += chance[i]
        variance += chance[i] * (1.0 - chance[i])
    return mean, variance


@njit(error_model="numpy")
def _span(mean: float, deviation: float, n: int) -> tuple[int, int]:
    """Return the first and last place r < n − 1 whose boundary r + ½ has a chance that is neither 0 nor 1."""
    low = max(0, math.floor(mean - 0.5 - CERTAIN * deviation))
    high = min(n - 2, math.ceil(mean - 0.5 + CERTAIN * deviation))
    return low, high


@njit(nogil=True, cache=True, error_model="numpy")
def rank_distributions(scores: Array, offsets: Array, sigma: float, approximation: int, result: Array) -> None:
    """Write to row i of ``result`` (n_documents, longest list) the chances of ranks 1, 2, … of document i."""
    result[:] = 0.0
    inverse_scale = 1.0 / (math.sqrt(2.0) * sigma)
    for q in range(len(offsets) - 1):
        s = scores[offsets[q] : offsets[q + 1]].astype(np.float64)
        n = len(s)
        rivals, z, chance = np.empty(n, np.int64), np.empty(n), np.empty(n)
        for j in range(n):
            n_rivals, n_above = contests(s, j, inverse_scale, rivals, z, chance)
            p = result[offsets[q] + j, :n]
            if approximation == BINOMIAL:
                _binomial_distribution(chance[:n_rivals], p[n_above:])
            else:
                _normal_distribution(chance[:n_rivals], n_above, p)


@njit(error_model="numpy")
def _binomial_distribution(chance: Array, p: Array) -> None:
    p[0] = 1.0
    for i in range(len(chance)):
        for r in range(i + 1, 0, -1):
            p[r] = p[r - 1] * chance[i] + p[r] * (1.0 - chance[i])
        p[0] *= 1.0 - chance[i]


@njit(error_model="numpy")
def _normal_distribution(chance: Array, n_above: int, p: Array) -> None:
    mean, variance = _moments(chance, n_above)
    if variance < _LEAST_VARIANCE:
        p[int(mean + 0.5)] = 1.0
        return
    deviation = math.sqrt(variance)
    below = 0.0
    for r in range(len(p) - 1):
        up_to = normal_chance((r + 0.5 - mean) / deviation)
        p[r] = up_to - below
        below = up_to
    p[len(p) - 1] = normal_chance(-(len(p) - 1.5 - mean) / deviation) if len(p) > 1 else 1.0
