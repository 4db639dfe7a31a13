"""The number that each grade stands for, where a loss needs to know how far apart grades should be."""

from collections.abc import Sequence

import numpy as np

Targets = Sequence[float] | np.ndarray | str | None
"""None for 2^g − 1, ``"identity"`` for the grade itself, or the targets of the grades 0, 1, 2, …"""


def grade_targets(labels: np.ndarray, targets: Targets) -> np.ndarray:
    """Return (n_documents,) float64: the target of each label.

    >>> grade_targets(np.array([0.0, 3.0, 1.0]), None).tolist()
    [0.0, 7.0, 1.0]
    >>> grade_targets(np.array([0.0, 3.0, 1.0]), (0, 0.5, 3, 7, 10)).tolist()
    [0.0, 7.0, 0.5]
    """
    if targets is None:
        highest = labels.max(initial=0.0)
        if highest > 100:
            raise ValueError(
                f"2^g − 1 of the label {highest:g} is out of any scale; targets='identity' takes labels as they are"
            )
        return np.exp2(labels) - 1.0
    if isinstance(targets, str):
        if targets != "identity":
            raise ValueError(f"targets must be None, 'identity' or a number for each grade; got {targets!r}")
        return labels
    table = np.ascontiguousarray(targets, dtype=np.float64)
    if table.ndim != 1 or not np.isfinite(table).all() or (np.diff(table) <= 0).any():
        raise ValueError(f"targets must be finite numbers that grow from grade to grade; got {targets!r}")
    if (bad := (labels != np.floor(labels)) | (labels < 0) | (labels >= len(table))).any():
        raise ValueError(
            f"targets are given for the grades 0 to {len(table) - 1}; there is none for the label {labels[bad][0]:g}"
        )
    return table[labels.astype(np.int64)]
