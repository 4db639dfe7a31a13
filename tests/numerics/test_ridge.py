from __future__ import annotations

import numpy as np

from podium.numerics.ridge import ridge_rows


def test_rows_solve_their_normal_equations() -> None:
    rng = np.random.default_rng(0)
    design, penalty = rng.standard_normal((7, 3)), np.array([0.5, 2.0, 1.0])
    offsets = np.array([0, 4, 4, 6])
    columns, targets = rng.integers(0, 7, 6), rng.standard_normal(6)
    found = ridge_rows(offsets, columns, targets, design, penalty)
    for r in range(3):  # NumPy's solver on the same equations
        x, y = design[columns[offsets[r] : offsets[r + 1]]], targets[offsets[r] : offsets[r + 1]]
        np.testing.assert_allclose(found[r], np.linalg.solve(x.T @ x + np.diag(penalty), x.T @ y), atol=1e-12)
