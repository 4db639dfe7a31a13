"""Saved models for programs that only score: a file in, scores of one query's documents out.

Linear models, networks and rules need NumPy alone; trees need Numba, too. Scikit-learn, SciPy, LightGBM and data frames
are never loaded, so that a web service starts in a fraction of a second.
"""

import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from podium.core.arrays import NOT_FINITE, Arrays, named_under, require_array
from podium.files.archive import malformed, read_archive
from podium.files.header import check_header
from podium.numerics.forward import logarithms
from podium.serving.functions import FUNCTIONS, Function, require_finite
from podium.serving.normalize import NORMALIZATIONS

__all__ = ["LoadedScorer", "load"]

_TYPES = (np.dtype(np.float32), np.dtype(np.float64))
_DEEPEST = 8  # blends within blends


class LoadedScorer:
    """A saved model that scores the documents of one query at a time. :func:`podium.serving.load` makes it.

    It holds nothing that changes, so any number of threads may use one at the same time.

    Parameters
    ----------
    method : str
        The class that was saved, such as ``"LambdaMART"``.
    n_features : int
        Features that rows must have.
    feature_names : tuple of str, optional
        Their names.
    function : callable
        What turns (n, n_features) rows into (n,) scores.

    Examples
    --------
    >>> import os, tempfile, podium, podium.serving
    >>> path = os.path.join(tempfile.mkdtemp(), "model.podium")
    >>> podium.ListNet().fit(podium.make_queries(n_queries=20, n_documents=5, n_features=3)).save(path)
    >>> scorer = podium.serving.load(path)
    >>> scorer, scorer.score([[1.0, 2.0, 3.0], [0.0, 1.0, 0.0]]).shape
    (<ListNet: 3 features>, (2,))
    """

    def __init__(self, method: str, n_features: int, feature_names: tuple[str, ...] | None, function: Function) -> None:
        self.method, self.n_features, self.feature_names = method, n_features, feature_names
        self._function = function

    def score(self, X: Any) -> np.ndarray:
        """Return the scores of the documents of one query.

        Parameters
        ----------
        X : (n, n_features) array or frame
            Float32 rows stay float32; everything else becomes float64. A frame's columns must have the names and the
            order that the model was trained with.

        Returns
        -------
        numpy.ndarray
            Float64 scores (n,), higher is better.
        """
        names = getattr(X, "columns", None)
        if names is not None and self.feature_names is not None and tuple(map(str, names)) != self.feature_names:
            raise ValueError(f"the columns must be {', '.join(self.feature_names[:10])}, …, in this order")
        if hasattr(X, "toarray"):
            raise ValueError("score takes dense rows: X.toarray()")
        rows = np.asarray(X)
        if rows.dtype.kind not in "fiub":
            raise ValueError(f"the rows must hold numbers; they are of type {rows.dtype}")
        flags = rows.flags
        if rows.dtype not in _TYPES or not (flags.c_contiguous and flags.writeable):  # other arrays compile anew
            rows = np.require(rows, rows.dtype if rows.dtype in _TYPES else np.float64, ("C", "W"))
        if rows.ndim != 2 or rows.shape[1] != self.n_features:
            raise ValueError(
                f"score takes the documents of one query, (n, {self.n_features}) numbers; got the shape {rows.shape}"
            )
        if not len(rows):
            return np.empty(0)
        scores = self._function(rows)
        if not np.isfinite(scores).all():  # as quick as it gets: one number per document
            require_finite(rows)
            raise ValueError(f"row {int(np.argmin(np.isfinite(scores)))}: {NOT_FINITE}")
        return scores

    def __repr__(self) -> str:
        return f"<{self.method}: {self.n_features} features>"


def load(path: str | os.PathLike[str]) -> LoadedScorer:
    """Return the scorer in a file that a ranker's ``save`` wrote, without loading anything that training needs.

    Its scores are those of ``podium.load(path).predict``: trees' to the last bit, others' up to rounding. (Networks and
    kernel regression compute in float64 here, also where ``predict`` computes float32 rows in float32.)

    Parameters
    ----------
    path : path
        Of any ranker of Podium's own. Models made of your own classes or of PyTorch modules are not served: use
        ``podium.load``.

    Returns
    -------
    LoadedScorer
        What scores.

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what is wrong with it. Like ``podium.load``, this runs no code from
        the file.

    Examples
    --------
    >>> import os, tempfile, podium, podium.serving
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=3)
    >>> path = os.path.join(tempfile.mkdtemp(), "model.podium")
    >>> podium.ListNet().fit(queries).save(path)
    >>> scorer = podium.serving.load(path)
    >>> scorer.score([[0.1, 0.2, 0.3], [0.3, 0.2, 0.1]]).shape
    (2,)
    """
    header, content = read_archive(path)
    try:
        check_header(header)
        method = str(header.get("class"))
        return _scorer(method, header["fitted"], content)
    except Exception as error:  # whatever a damaged file leads to: there is one error for it
        raise malformed(path, error) from error


def _scorer(method: str, fitted: Mapping[str, Any], arrays: Arrays, depth: int = 0) -> LoadedScorer:
    n, names, scoring = fitted.get("n_features"), fitted.get("feature_names"), fitted.get("scoring")
    if not isinstance(scoring, dict):
        raise ValueError(
            f"it does not say how this {method} scores: either it was saved by an older Podium, then "
            "podium.load(path).save(path) adds that, or it is a model of ratings, which podium.load serves"
        )
    if not isinstance(n, int) or n < 1:
        raise ValueError(f"its number of features is {n!r}")
    if names is not None and (not isinstance(names, list) or len(names) != n):
        raise ValueError(f"its feature names are not {n} names")
    own = named_under("model", arrays)
    if scoring.get("kind") == "blend":
        function = _blend(fitted, arrays, n, depth)
    elif scoring.get("kind") in FUNCTIONS:
        function = FUNCTIONS[scoring["kind"]](scoring, own, n)
    else:
        raise ValueError(
            f"a {method} made of {scoring.get('kind')} cannot be served: only models of Podium's own parts can. "
            "Use podium.load"
        )
    function = _standardized(function, named_under("standardization", arrays), n)
    function = _normalized(function, scoring.get("normalize"))
    return LoadedScorer(method, n, None if names is None else tuple(map(str, names)), function)


def _standardized(function: Function, scale: Arrays, n: int) -> Function:
    if not scale:
        return function
    mean, inverse_scale = (require_array(scale, name, (n,)) for name in ("mean", "inverse_scale"))
    scaled = function
    if mean.any() or (inverse_scale != 1).any():  # else it is part of the function

        def scaled(rows: np.ndarray) -> np.ndarray:
            return function((rows - mean.astype(rows.dtype)) * inverse_scale.astype(rows.dtype))

    if "log_scale" not in scale:
        return scaled
    log_scale = require_array(scale, "log_scale", (n,))
    if (log_scale < 0).any():
        raise ValueError("its logarithms have a unit below 0")
    return lambda rows: scaled(logarithms(rows, log_scale))


def _normalized(function: Function, how: Any) -> Function:
    if how is None:
        return function
    if how not in NORMALIZATIONS:
        raise ValueError(f"its normalization {how!r} is unknown")
    normalize = NORMALIZATIONS[how]
    return lambda rows: function(normalize(rows))


def _blend(fitted: Mapping[str, Any], arrays: Arrays, n: int, depth: int) -> Function:
    from podium.numerics.forward import mean_ranks

    if depth == _DEEPEST:
        raise ValueError(f"it has blends within blends, more than {_DEEPEST} deep")
    members = fitted["members"]
    if not isinstance(members, list) or not members:
        raise ValueError("its blend has no members")
    weights = require_array(arrays, "model.weights", (len(members),))
    scorers = [
        _scorer("member", own, named_under(f"members.{number}", arrays), depth + 1)
        for number, own in enumerate(members)
    ]
    if any(scorer.n_features != n for scorer in scorers):
        raise ValueError(f"its members do not all have {n} features")

    def scores(rows: np.ndarray) -> np.ndarray:
        total, offsets = np.zeros(len(rows)), np.array([0, len(rows)])
        for scorer, weight in zip(scorers, weights, strict=True):
            total -= weight * np.log(mean_ranks(scorer.score(rows), offsets))
        return total

    return scores
