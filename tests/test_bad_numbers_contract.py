"""NaN and infinities at every public entrance are errors that say which row, document or query it is."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import podium
from podium.losses import Loss, StructRankLoss
from podium.scorers import Linear

X = np.random.default_rng(0).normal(size=(12, 3))
Y = np.tile([0.0, 1.0, 2.0], 4)
QID = np.repeat([7, 8, 9], 4)


def with_bad(values: np.ndarray, bad: float, place: Any = 5) -> np.ndarray:
    changed = values.copy()
    changed[place] = bad
    return changed


@pytest.fixture(scope="module")
def ranker() -> podium.Regression:
    return podium.Regression().fit(X, Y, qid=QID)


ENTRANCES: dict[str, tuple[Callable[[Any, float], Any], str]] = {
    "labels of evaluate": (
        lambda _, b: podium.evaluate(with_bad(Y, b), Y, qid=QID),
        "query 8: the label of document 1",
    ),
    "labels of Queries": (lambda _, b: podium.Queries(X, with_bad(Y, b), qid=QID), "the label of row 5 is"),
    "labels of fit": (lambda r, b: r.fit(X, with_bad(Y, b), qid=QID), "the label of row 5 is"),
    "labels of score": (lambda r, b: r.score(X, with_bad(Y, b), qid=QID), "the label of row 5 is"),
    "weights of fit": (lambda r, b: r.fit(X, Y, qid=QID, sample_weight=[1, b, 1]), "query number 1 is"),
    "features of fit": (lambda r, b: r.fit(with_bad(X, b, (5, 1)), Y, qid=QID), "query 8, document 2: feature 2 is"),
    "features of eval_set": (
        lambda r, b: r.fit(X, Y, qid=QID, eval_set=(with_bad(X, b, (5, 1)), Y), eval_qid=QID),
        "query 8, document 2: feature 2 is",
    ),
    "features of predict": (lambda r, b: r.predict(with_bad(X, b, (5, 1)), qid=QID), "query 8, document 2: feature 2"),
    "features of rank": (lambda r, b: r.rank(with_bad(X, b, (5, 1)), qid=QID), "query 8, document 2: feature 2 is"),
    "features of explain": (
        lambda r, b: r.explain(with_bad(X, b, (5, 1)), qid=QID, query=8),
        "query 8, document 2: feature 2 is",
    ),
    "weights of Preferences": (lambda _, b: podium.Preferences([0, 1], [1, 2], [1.0, b]), "must be finite"),
    "parameters of a loss": (
        lambda _, b: StructRankLoss().value_and_gradient(Y, Y, [0, 12], parameters=[1.0, b]),
        "parameter 1 of StructRankLoss is",
    ),
}


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("entrance", ENTRANCES)
def test_bad_numbers_are_refused_by_place(entrance: str, bad: float, ranker: podium.Regression) -> None:
    call, message = ENTRANCES[entrance]
    with pytest.raises(ValueError, match=re.escape(message)):
        call(podium.Regression() if " fit" in entrance or "eval_set" in entrance else ranker, bad)


def test_scores_of_evaluate_may_be_infinite_but_not_nan() -> None:
    with pytest.raises(ValueError, match="query 8: the score of document 1 of that query is NaN"):
        podium.evaluate(Y, with_bad(Y, np.nan), qid=QID)
    first = podium.evaluate(Y, with_bad(Y, np.inf), qid=QID).per_query["ndcg@10"]
    np.testing.assert_array_equal(first, podium.evaluate(Y, with_bad(Y, 99.0), qid=QID).per_query["ndcg@10"])


def _nan(given: Any, _: Any, out: Any) -> float:
    out.gradient[:] = np.nan
    return 1.0


class _GradientOfNaN(Loss, convex=True):
    """A loss with a mistake in its kernel."""

    kernel = _nan

    def prepare(self, data: Any) -> tuple[()]:
        return ()


@pytest.mark.parametrize(
    ("scorer", "message"),
    [
        (Linear(), "the derivative with respect to parameter 0 of the model became nan in training"),
        (
            podium.scorers.Trees(n_trees=2),
            "after 0 trees the gradient of _GradientOfNaN.. is nan for a document of query 7",
        ),
    ],
    ids=["L-BFGS", "boosting"],
)
def test_training_says_what_is_not_finite(scorer: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        podium.Ranker(_GradientOfNaN(), scorer, random_state=0).fit(X, Y, qid=QID)


@pytest.mark.parametrize("loss", [StructRankLoss(learn_weights=False), podium.losses.ListNetLoss()], ids=repr)
def test_features_too_large_for_a_first_step_are_an_error_not_a_model_of_zeros(loss: podium.losses.Loss) -> None:
    with pytest.raises(ValueError, match=r"could not take a first step .* rescale the features"):
        podium.Ranker(loss, normalize=None, random_state=0).fit(1e30 * X, Y, qid=QID)
