"""Synthetic lists with ties, for demonstrations and tests."""

import numpy as np

from podium.core.random_state import RandomState, as_generator
from podium.data.queries import Queries

__all__ = ["make_queries"]


def make_queries(
    n_queries: int = 200,
    n_documents: int = 50,
    n_features: int = 25,
    n_grades: int = 3,
    random_state: RandomState = 0,
    *,
    noise: float = 0.5,
    vary_sizes: bool = True,
) -> Queries:
    """Make lists of documents whose grades follow a noisy linear score; most documents have the lowest grade.

    Features come in correlated blocks, on different scales, and are shifted by the query, as in real logs: a model
    must compare documents within their query. A third of the features carries no signal.

    Parameters
    ----------
    n_queries : int
        Number of lists.
    n_documents : int
        Documents per query; with ``vary_sizes`` their mean, sizes ranging from half of it to one and a half of it.
    n_features : int
        Features per document.
    n_grades : int
        Grades go from 0 to n_grades − 1. Each higher grade is half as frequent as the one below, so ties are the rule.
    random_state : int, numpy.random.Generator or None
        The same number gives the same lists.
    noise : float
        Standard deviation of the noise in the hidden score, whose signal has standard deviation 1.
    vary_sizes : bool
        Whether lists differ in length.

    Returns
    -------
    Queries
        Float32 features and grades.

    Examples
    --------
    >>> q = make_queries(n_queries=3, n_documents=4, n_features=2, random_state=1)
    >>> len(q), q.n_features, bool(q.labels.max() <= 2)
    (3, 2, True)
    """
    if min(n_queries, n_documents, n_features, n_grades) < 1:
        raise ValueError("n_queries, n_documents, n_features and n_grades must be at least 1")
    rng = as_generator(random_state)
    half = n_documents // 2
    sizes = np.full(n_queries, n_documents)
    if vary_sizes:
        sizes = rng.integers(n_documents - half, n_documents + half + 1, n_queries)
    n = int(sizes.sum())
    query = np.repeat(np.arange(n_queries), sizes)

    blocks = max(1, n_features // 5)
    topics = rng.standard_normal((n, blocks))
    raw = 0.7 * topics[:, np.arange(n_features) % blocks] + rng.standard_normal((n, n_features))
    weights = rng.standard_normal(n_features) * (np.arange(n_features) % 3 != 2)
    signal = raw @ weights
    signal /= signal.std() or 1.0
    hidden = signal + noise * rng.standard_normal(n) + rng.standard_normal(n_queries)[query] * 0.5

    # Grade g holds about 2^-(g+1) of all documents, the highest grade the rest.
    above = 2.0 ** -np.arange(1, n_grades)
    labels = np.searchsorted(np.quantile(hidden, 1 - above), hidden, side="left")

    scale = 10.0 ** rng.uniform(-1, 2, n_features)
    features = (raw + rng.standard_normal((n_queries, n_features))[query]) * scale
    return Queries(features.astype(np.float32), labels, sizes=sizes)
