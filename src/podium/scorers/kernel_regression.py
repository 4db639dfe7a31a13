"""Kernel regression on the training documents' grades, with a learned width for each feature.

    score(x) = Σ_i K(x_i, x) y_i / Σ_i K(x_i, x),      K(x_i, x) = exp(−½ Σ_l a_l² (x_il − x_l)²)

Nadaraya & Watson's estimator over all training documents, or a sample of them (landmarks): the scorer of StructRank
(Huang & Frey, NIPS 2008). The widths a are learned.

All work is matrix products: distances are one product of the a-scaled features, and with W_xi = p_xi (y_i − score(x)),
p = K/ΣK, whose rows sum to 0, the derivative is

    ∂ score(x)/∂a_l = −a_l Σ_i W_xi (x_il − x_l)² = −a_l [ (W X²)_xl − 2 x_l (W X)_xl ].
"""

from collections.abc import Iterator
from typing import Any, ClassVar, Self

import numpy as np

from podium.core.arrays import Array
from podium.core.parameters import choice, count
from podium.data.remote import RemoteQueries
from podium.numerics.forward import kernel_weights
from podium.numerics.loop import Blocks
from podium.scorers.base import PLAIN, Arrays, Backward, Queries, Scorer, SmoothModel, StartOptions, require_array

__all__ = ["Kernel", "KernelModel"]

_TILE = 4_000_000  # kernel values held at once: 32 MB, whatever the sizes of lists and training set


class KernelModel(SmoothModel):
    """A mean of the landmarks' grades, weighted by their distance.

    Parameters
    ----------
    theta : (n_features,) array
        Width of each feature.
    features : (n_landmarks, n_features) array
        The landmarks' features.
    grades : (n_landmarks,) array
        Their grades.
    landmark_qids : (n_landmarks,) array, optional
        Their queries, which are hidden from themselves in training.

    Examples
    --------
    Two landmarks, of grades 0 and 1; between them, scores rise from one to the other:

    >>> import numpy as np, podium
    >>> model = podium.scorers.KernelModel(np.array([1.0]), np.array([[0.0], [3.0]]), np.array([0.0, 1.0]), None)
    >>> model.scores(podium.Queries([[0.0], [1.5], [3.0]], sizes=[3])).round(2).tolist()
    [0.01, 0.5, 0.99]
    """

    kind: ClassVar[str] = "kernel regression"
    uses_blas: ClassVar[bool] = True
    sums_by_block: ClassVar[bool] = True
    n_features: int

    def __init__(self, theta: Array, features: Array, grades: Array, landmark_qids: Array | None) -> None:
        self.theta = theta
        self.features = features
        self.grades = grades
        self.n_features = features.shape[1]
        # In training a document must not see the grades of its own query: those landmarks are hidden from it.
        self._landmark_qids = landmark_qids

    def scores(self, queries: Queries) -> Array:
        scores = np.empty(queries.n_documents)
        for start in range(0, queries.n_documents, self._height):
            rows = slice(start, start + self._height)
            scores[rows] = self._probabilities(queries.features[rows], None) @ self.grades
        return scores

    def forward(self, queries: Queries) -> tuple[Array, Backward]:
        """Score *training* queries: each one's own documents are left out of the sum."""
        one = Blocks(np.array([0, len(queries)]), float(queries.n_documents))
        scores, backward = self.forward_in_blocks(queries, one)
        return scores, lambda d_scores: backward(d_scores)[0]

    def forward_in_blocks(self, queries: Queries, blocks: Blocks) -> tuple[Array, Backward]:
        scores = np.empty(queries.n_documents)
        for _, rows, hidden in self._tiles_of_lists(queries):
            scores[rows] = self._probabilities(queries.features[rows], hidden) @ self.grades
        return scores, lambda d_scores: self._backward(queries, blocks, scores, d_scores)

    def _backward(self, queries: Queries, blocks: Blocks, scores: Array, d_scores: Array) -> Array:
        sums = np.zeros((len(blocks.bounds) - 1, self.n_features))
        squares = self.features.astype(np.float64) ** 2
        for q, rows, hidden in self._tiles_of_lists(queries):
            x, g = queries.features[rows], d_scores[rows].astype(np.float64)
            w = self._probabilities(x, hidden)
            w *= g[:, None] * (self.grades[None, :] - scores[rows, None])
            block = np.searchsorted(blocks.bounds, q, side="right") - 1
            sums[block] += w.sum(axis=0) @ squares - 2.0 * (x * (w @ self.features)).sum(axis=0)
        return -self.theta * sums

    def _probabilities(self, x: Array, hidden: Array | None) -> Array:
        return kernel_weights(x, self.theta, self.features, hidden)

    @property
    def _height(self) -> int:
        """How many rows of the kernel matrix fit in memory at once."""
        return max(1, _TILE // max(len(self.grades), 1))

    def _tiles_of_lists(self, queries: Queries) -> Iterator[tuple[int, slice, Array | None]]:
        """Yield the number of a query, slices of its rows that fit in memory, and the landmarks to hide from them."""
        for q, (first, last) in enumerate(zip(queries.offsets[:-1], queries.offsets[1:], strict=True)):
            hidden = None
            if self._landmark_qids is not None:
                hidden = np.flatnonzero(self._landmark_qids == queries.qids[q])
                if len(hidden) == len(self.grades):
                    raise ValueError("kernel regression needs documents of at least two queries to learn from")
            for start in range(first, last, self._height):
                yield q, slice(start, min(start + self._height, last)), hidden

    def to_arrays(self) -> Arrays:
        return {"widths": self.theta, "features": self.features.astype(np.float64), "grades": self.grades}

    @classmethod
    def from_arrays(cls, scorer: Scorer | None, arrays: Arrays) -> Self:
        grades = require_array(arrays, "grades", (None,))
        widths = require_array(arrays, "widths", (None,))
        features = require_array(arrays, "features", (len(grades), len(widths)))
        return cls(widths, features, grades, None)


class Kernel(Scorer, model_class=KernelModel):
    """Nadaraya-Watson regression on the training documents' grades, one width per feature.

    The grades are the regression targets. Where labels are :class:`podium.Preferences`, a document's target is its
    share of wins, the weight of the pairs that it wins among those it is in; documents in no pair are no landmarks. The
    model holds its landmarks' features.

    Parameters
    ----------
    n_landmarks : int, optional
        Sum over this many training documents, drawn at random, instead of all. The cost of a score is proportional to
        their number.
    leave_out : {"query", None}
        In training, hide a document's own query from it (the default). With None, as in the paper, the model sees the
        grade it is to predict; for comparison only.
    initial : {"uniform", "ones"}
        Where the widths start: random in [0, 1], as in the paper, or all 1.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=8, n_features=3)
    >>> loss, scorer = podium.losses.RegressionLoss(), podium.scorers.Kernel(n_landmarks=50)
    >>> ranker = podium.Ranker(loss, scorer, random_state=0).fit(queries)
    >>> ranker.model_.features.shape
    (50, 3)
    """

    n_landmarks: int | None = count(None)
    leave_out: str | None = choice("query", None)
    initial: str = choice("uniform", "ones")

    def start(self, queries: Queries, rng: np.random.Generator, options: StartOptions = PLAIN) -> KernelModel:
        self.check_parameters()
        if queries.is_sparse:
            raise ValueError("kernel regression needs dense features: queries.with_features(features.toarray())")
        rows: Any = slice(None)
        n_known, shares = queries.n_documents, None
        preferences = getattr(queries, "preferences", None)  # which queries on a cluster do not have
        if preferences is not None:
            shares = preferences.shares_of_wins(queries.n_documents)
            rows = np.flatnonzero(~np.isnan(shares))
            n_known = len(rows)
        if self.n_landmarks is not None and self.n_landmarks < n_known:
            chosen = np.sort(rng.choice(n_known, self.n_landmarks, replace=False))
            rows = chosen if shares is None else rows[chosen]
        widths = rng.uniform(0.0, 1.0, queries.n_features) if self.initial == "uniform" else np.ones(queries.n_features)
        qids = np.repeat(queries.qids, queries.sizes)[rows] if self.leave_out == "query" else None
        if shares is not None:
            return KernelModel(widths, queries.features[rows], shares[rows], qids)
        return KernelModel(widths, *self._landmarks(queries, rows), qids)

    def _landmarks(self, queries: Queries, rows: Any) -> tuple[Array, Array]:
        """Return features and grades of the landmarks."""
        if not isinstance(queries, RemoteQueries):
            return queries.features[rows], queries.labels[rows]
        if isinstance(rows, slice):
            raise ValueError(
                f"kernel regression on all {queries.n_documents} documents of a cluster would bring them all here: "
                "give Kernel(n_landmarks=…), fewer than there are documents"
            )
        return queries.rows(rows)
