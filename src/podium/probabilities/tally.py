"""Places of documents in drawn rankings with ties."""

import numpy as np

from podium.numerics.compiling import njit


def places(groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return (n_samples, n) twice: how many documents are strictly above each, and how many share its group.

    ``groups`` holds the number of each document's group in each sample, 0 for the best.
    """
    ahead, size = (np.empty(groups.shape, np.int64) for _ in range(2))
    _places(np.ascontiguousarray(groups, np.int64), ahead, size)
    return ahead, size


@njit(nogil=True, cache=True, error_model="numpy")
def _places(groups: np.ndarray, ahead: np.ndarray, size: np.ndarray) -> None:
    n_samples, n = groups.shape
    sizes = np.empty(n + 1, np.int64)
    for s in range(n_samples):
        sizes[:] = 0
        for i in range(n):
            sizes[groups[s, i]] += 1
        total = 0
        for g in range(n):
            here = sizes[g]
            sizes[g] = total
            total += here
        sizes[n] = n
        for i in range(n):
            g = groups[s, i]
            ahead[s, i] = sizes[g]
            size[s, i] = sizes[g + 1] - sizes[g]
