"""Methods of other packages in the same table: implicit, Cornac and Surprise, where they are installed.

Each package trains with one thread and a seed, and what it learned becomes factors, s_ui = b_i + W_u · H_i, which rank
items as the package's own scores do (a user's own bias changes no order). So a peer is evaluated, saved and compared as
any other ranker of ratings; only ``fit`` needs the package.
"""

from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

import numpy as np

from podium.core.parameters import choice, count, number
from podium.core.random_state import RandomState, seed_of
from podium.rankers.spaces import LogUniform
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, RatingRanker, solved
from podium.ratings.factors.model import FactorModel
from podium.training.base import Fit

__all__ = ["PeerRanker"]

PACKAGES = {"surprise": "scikit-surprise"}
"""What is installed for what is imported, where the names differ."""
Learned = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Factors of users and items, and biases of items."""


class PeerRanker(RatingRanker):
    """A method of another package: its factors, learned by it, as a ranker of ratings.

    Parameters
    ----------
    method : {"implicit.als", "implicit.bpr", "cornac.bpr", "cornac.wmf", "surprise.svd", "surprise.baseline"}
        Package and method. ``fit`` needs the package (``cornac.wmf`` TensorFlow, too); a saved model does not.
    n_factors : int
        Length of the vectors of users and items.
    regularization : float, optional
        The package's penalty; by default the package's own.
    iterations : int, optional
        Passes over the data; by default the package's own.
    learning_rate : float, optional
        Of methods that have one; by default the package's own.
    alpha : float, optional
        For ``implicit.als``: how much more what was chosen counts; by default the package's own.
    relevant_from : float, optional
        For methods that learn from what was chosen rather than from ratings: only ratings of at least this count. By
        default all do.
    cold : {"average", "error"}
        Users and items that were not fitted on are scored as the average one, or refused.
    random_state : int, optional
        Seed given to the package.

    Examples
    --------
    >>> import podium
    >>> podium.PeerRanker("implicit.als", n_factors=16, relevant_from=4, random_state=0).method
    'implicit.als'
    """

    method: str = choice(
        "implicit.als", "implicit.bpr", "cornac.bpr", "cornac.wmf", "surprise.svd", "surprise.baseline"
    )
    n_factors: int = count(32)
    regularization: float | None = number(None, at_least=0)
    iterations: int | None = count(None)
    learning_rate: float | None = number(None, above=0)
    alpha: float | None = number(None, above=0)
    relevant_from: float | None = number(None)
    cold: str = "average"
    random_state: RandomState = None

    def _train(self, ratings: Ratings, *watched: Any) -> Fit:
        package = self.method.partition(".")[0]
        chosen = (
            ratings if self.relevant_from is None or package == "surprise" else ratings.at_least(self.relevant_from)
        )
        if not len(chosen):
            raise ValueError(f"no rating is at least relevant_from={self.relevant_from:g}: nothing to learn from")
        users, items, bias = _LEARN[self.method](self, chosen)
        return solved(FactorModel(*(np.ascontiguousarray(part, np.float64) for part in (users, items, bias))))

    def _given(self, **names: str) -> dict[str, Any]:
        """Return the parameters that are not None by the package's names for them."""
        given = {theirs: getattr(self, ours) for ours, theirs in names.items()}
        return {name: value for name, value in given.items() if value is not None}


def _package(name: str, method: str) -> Any:
    """Import a package, or say what to install."""
    try:
        return import_module(name)
    except ImportError as error:
        root = name.partition(".")[0]
        package = PACKAGES.get(root, root)
        raise ModuleNotFoundError(
            f"{method} is trained by {package}, which is not installed: pip install {package} ({error})"
        ) from None


def _implicit(peer: PeerRanker, ratings: Ratings, name: str, module: str, **more: Any) -> Any:
    model = getattr(_package(module, peer.method), name)(
        factors=peer.n_factors,
        num_threads=1,
        random_state=seed_of(peer.random_state),
        **peer._given(regularization="regularization", iterations="iterations", **more),
    )
    model.fit(ratings.to_csr(np.ones(len(ratings), np.float32)), show_progress=False)
    return model


def _implicit_als(peer: PeerRanker, ratings: Ratings) -> Learned:
    model = _implicit(peer, ratings, "AlternatingLeastSquares", "implicit.als", alpha="alpha")
    return model.user_factors, model.item_factors, np.zeros(ratings.n_items)


def _implicit_bpr(peer: PeerRanker, ratings: Ratings) -> Learned:
    bpr = "BayesianPersonalizedRanking", "implicit.bpr"
    model = _implicit(peer, ratings, *bpr, learning_rate="learning_rate")
    # The last factor of a user is 1, that of an item its bias.
    return model.user_factors, model.item_factors, np.zeros(ratings.n_items)


def _cornac(peer: PeerRanker, ratings: Ratings, name: str, **parameters: Any) -> Any:
    models, data = _package("cornac.models", peer.method), _package("cornac.data", peer.method)
    # Its numbers of users and items are ours: those without a rating have factors, too.
    numbers = ({i: i for i in range(n)} for n in (ratings.n_users, ratings.n_items))
    columns = ratings.user.astype(np.int32), ratings.item.astype(np.int32), ratings.values.astype(np.float32)
    train = data.Dataset(ratings.n_users, ratings.n_items, *numbers, columns)
    seed = seed_of(peer.random_state)
    return getattr(models, name)(k=peer.n_factors, seed=seed, verbose=False, **parameters).fit(train)


def _cornac_bpr(peer: PeerRanker, ratings: Ratings) -> Learned:
    names = {"regularization": "lambda_reg", "iterations": "max_iter", "learning_rate": "learning_rate"}
    model = _cornac(peer, ratings, "BPR", num_threads=1, **peer._given(**names))
    return model.u_factors, model.i_factors, model.i_biases


def _cornac_wmf(peer: PeerRanker, ratings: Ratings) -> Learned:
    _package("tensorflow", peer.method)
    both = {} if peer.regularization is None else dict.fromkeys(("lambda_u", "lambda_v"), peer.regularization)
    more = peer._given(iterations="max_iter", learning_rate="learning_rate")
    model = _cornac(peer, ratings, "WMF", **both, **more)
    return model.U, model.V, np.zeros(ratings.n_items)


def _surprise(ratings: Ratings, method: str) -> Any:
    data = _package("surprise", method)
    frame = _package("pandas", method).DataFrame({"u": ratings.user, "i": ratings.item, "r": ratings.values})
    reader = data.Reader(rating_scale=(float(ratings.values.min()), float(ratings.values.max())))
    return data.Dataset.load_from_df(frame, reader).build_full_trainset()


def _by_our_numbers(trainset: Any, users: Any, items: Any, bias: Any, ratings: Ratings) -> Learned:
    """Return what Surprise learned, which numbers only users and items with ratings, in its own order."""
    raw_users = [trainset.to_raw_uid(u) for u in range(trainset.n_users)]
    raw_items = [trainset.to_raw_iid(i) for i in range(trainset.n_items)]
    learned = np.zeros((ratings.n_users, users.shape[1])), np.zeros((ratings.n_items, items.shape[1]))
    learned[0][raw_users], learned[1][raw_items] = users, items
    biases = np.zeros(ratings.n_items)
    biases[raw_items] = bias
    return *learned, biases


def _surprise_svd(peer: PeerRanker, ratings: Ratings) -> Learned:
    trainset = _surprise(ratings, peer.method)
    names = {"regularization": "reg_all", "iterations": "n_epochs", "learning_rate": "lr_all"}
    seed = seed_of(peer.random_state)
    svd = _package("surprise", peer.method).SVD
    model = svd(n_factors=peer.n_factors, random_state=seed, **peer._given(**names)).fit(trainset)
    return _by_our_numbers(trainset, model.pu, model.qi, model.bi, ratings)


def _surprise_baseline(peer: PeerRanker, ratings: Ratings) -> Learned:
    trainset = _surprise(ratings, peer.method)
    options = peer._given(regularization="reg_i", iterations="n_epochs")
    model = _package("surprise", peer.method).BaselineOnly(bsl_options=options, verbose=False).fit(trainset)
    none = np.zeros((trainset.n_users, 0)), np.zeros((trainset.n_items, 0))
    return _by_our_numbers(trainset, *none, model.bi, ratings)


_LEARN: dict[str, Callable[[PeerRanker, Ratings], Learned]] = {
    "implicit.als": _implicit_als,
    "implicit.bpr": _implicit_bpr,
    "cornac.bpr": _cornac_bpr,
    "cornac.wmf": _cornac_wmf,
    "surprise.svd": _surprise_svd,
    "surprise.baseline": _surprise_baseline,
}

_BPR: dict[str, Any] = {"regularization": LogUniform(0.01, 0.1), "learning_rate": LogUniform(0.001, 0.003, 0.01)}
for _method, _summary, _reference, _grid in (
    (
        "implicit.als",
        "alternating least squares on confidences",
        "Hu et al., ICDM 2008",
        {"regularization": LogUniform(10.0, 30.0, 90.0), "alpha": LogUniform(2.0, 6.0)},
    ),
    ("implicit.bpr", "pairs of a seen and an unseen item", "Rendle et al., UAI 2009", _BPR),
    ("cornac.bpr", "pairs of a seen and an unseen item", "Rendle et al., UAI 2009", _BPR),
    (
        "cornac.wmf",
        "weighted least squares; needs TensorFlow",
        "Hu et al., ICDM 2008",
        {"regularization": LogUniform(0.001, 0.01, 0.1), "learning_rate": LogUniform(0.001, 0.01)},
    ),
    (
        "surprise.svd",
        "stochastic least squares on the ratings, with biases",
        "Koren, KDD 2008",
        {"regularization": LogUniform(0.02, 0.05, 0.1), "learning_rate": LogUniform(0.005, 0.01)},
    ),
    (
        "surprise.baseline",
        "biases of users and items alone",
        "Koren, TKDD 2010",
        {"regularization": LogUniform(1.0, 3.0, 10.0, 30.0, 100.0, 300.0)},
    ),
):
    RATING_METHODS.add(
        *(
            _method,
            partial(PeerRanker, _method),
            _summary,
            f"{_method.partition('.')[0]}; {_reference}",
            "factors",
            _grid,
        ),
        stochastic=True,
        variant=True,
        kind="factors",
    )
