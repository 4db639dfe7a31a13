"""Slow tests of Auto: those that grow many trees."""

from __future__ import annotations

import numpy as np
from sklearn.utils.estimator_checks import parametrize_with_checks

import podium


def test_a_far_better_method_is_picked_alone():
    # Only products of two features matter: linear models know nothing.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80 * 15, 3))
    y = (X[:, 0] * X[:, 1] > 0.5).astype(float)
    queries = podium.Queries(X, y, sizes=[15] * 80)
    auto = podium.Auto(methods=["gbdt", "regression", "ranknet"], folds=3, repeats=1, random_state=0).fit(queries)
    assert all(name.startswith("gbdt") for name in auto.choice_.members)


class AutoOnFourLists(podium.Auto):
    """scikit-learn's checks know no query ids: here rows belong to four lists in turn."""

    def fit(self, X, y=None, **settings):
        return super().fit(X, y, qid=np.arange(_n_rows(X)) % 4, **settings)

    def predict(self, X):
        return super().predict(X, qid=np.zeros(_n_rows(X)) if hasattr(self, "pick_") else None)

    def score(self, X, y, **settings):
        return super().score(X, y, qid=np.arange(_n_rows(X)) % 4, **settings)


def _n_rows(X) -> int:
    return X.shape[0] if hasattr(X, "shape") else len(X)


EXPECTED = {
    "check_dtype_object": "features that are no numbers are a ValueError here, naming what is wrong",
    "check_estimators_dtypes": "the lists that its rows make have one grade each, which is refused",
    "check_estimators_pickle": "the only method tried here takes no missing values; others that Auto tries do",
    "check_fit2d_1sample": "one document is one list, which no fold can judge",
}


@parametrize_with_checks(
    [AutoOnFourLists(methods=["regression"], folds=2, random_state=0)],
    expected_failed_checks=lambda estimator: EXPECTED,
)
def test_scikit_learns_own_checks(estimator, check) -> None:
    check(estimator)
