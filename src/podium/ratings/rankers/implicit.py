"""Factors from implicit feedback: what was clicked, bought or watched is preferred to what was not."""

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from podium.core.arrays import Arrays
from podium.core.parameters import choice, count, number
from podium.core.random_state import as_generator, seed_of
from podium.metrics.definition import Metric
from podium.rankers.spaces import LogUniform
from podium.ratings.data import Ratings
from podium.ratings.estimator import RATING_METHODS, IterativeRatingRanker
from podium.ratings.factors.model import FactorModel
from podium.ratings.factors.noise import noise_over_taste
from podium.ratings.implicit.batches import Gradients, Seen
from podium.ratings.implicit.slopes import GROUPS, LOSSES
from podium.ratings.implicit.training import Run, Steps, start
from podium.ratings.implicit.validation import CatalogueValidation
from podium.ratings.splits import hold_out
from podium.training.base import Fit, Validation
from podium.training.monitor import Watch

__all__ = ["ImplicitFactors"]


class _Defaults(NamedTuple):
    """What suits a loss: losses differ in how much a seen item counts."""

    regularization: float
    """The least, for losses over all items."""
    n_drawn: int | None


_DEFAULTS = {
    "softmax": _Defaults(7.0, None),
    "pmop": _Defaults(10.0, None),
    "bpr": _Defaults(1.5, 1),
    "warp": _Defaults(50.0, 100),
}


class ImplicitFactors(IterativeRatingRanker):
    """Factors that score what a user has seen (clicked, bought, watched) above what the user has not.

    Scores are s_ui = b_i + W_u · H_i, as in :class:`podium.FactorRanker`, but every item takes part: with X the items
    that a user has seen and U all others, the ranker minimizes Σ_u loss_u + ½ ``regularization`` (‖W‖² + ‖H‖²) + ½
    ``bias_regularization`` ‖b‖², where loss_u is

    - ``"softmax"``: Σ_{i∈X} [log Σ_{X∪U} e^s − s_i], each seen item as one draw from all items;
    - ``"pmop"``: Σ_G [log Σ_{G∪U} e^s − log Σ_G e^s], ordered partitions G ≻ U with groups G of tied items
      (:class:`podium.losses.PMOPLoss`);
    - ``"bpr"``: Σ_{i∈X} log(1 + exp(s_j − s_i)) with a j drawn from U for each i (Rendle et al., UAI 2009);
    - ``"warp"``: hinge losses of pairs, an unseen j being drawn until it violates the margin, and the pair being
      weighted by the rank of i that the number of draws lets expect (Weston, Bengio and Usunier, IJCAI 2011).

    By AdaGrad steps on ``batch_size`` users at a time. The same seed gives the same bits on any number of threads.

    Parameters
    ----------
    loss : {"softmax", "pmop", "bpr", "warp"}
        Which of them.
    n_factors : int
        Length of the vectors of users and items.
    regularization : float, optional
        By default 7 for softmax and 10 for pmop, or more where tastes hardly stand out from noise: the squared level
        of noise over that of taste, which are the largest singular values of the derivatives at equal tastes with and
        without random signs. 1.5 for bpr and 50 for warp. ``regularization_`` is what was used.
    bias_regularization : float, optional
        That of the biases, by default the same.
    scaling : float
        Penalties of a user and of an item are multiplied by the ``scaling``-th power of how much was seen by or of
        them, relative to the mean; 0 treats all alike, 1 like Rendle et al. (RecSys 2022).
    biases : bool
        Whether items have a score of their own, the same for all users.
    relevant_from : float, optional
        Only ratings of at least this count as seen, such as 4 stars; by default all do. Lower ones are among the
        unseen in training, but are not recommended either.
    group_size : int, optional
        For pmop: a user's seen items are divided at random, anew in each epoch, into groups of so many. None: one
        group of all, of which the likelihood asks only that *one* be above the unseen.
    counts : {"ignore", "groups"}
        ``"groups"``, for pmop: what was seen more often is above what was seen less often, X_1 ≻ X_2 ≻ … ≻ U, the
        values being counts. ``group_size`` is then not used.
    n_drawn : int, optional
        Unseen items that are drawn uniformly per user and epoch in place of all (softmax and pmop; by default all, and
        a sample stands for as many as there are), per seen item (bpr, by default 1), or at most per seen item (warp,
        100).
    epochs : int
        Passes over the users.
    learning_rate : float
        Of AdaGrad.
    batch_size : int
        Users per step.
    patience : int, optional
        With validation ratings: stop after this many epochs without a better ``eval_metric``, which is computed over
        the whole catalogue: held-out items are to be among the first that the user has not seen.
    early_stopping : float, optional
        Hold out this share of each user's seen items and return the epoch with the best ``eval_metric`` on them.
    cold : {"average", "error"}
        Users and items that were not fitted on are scored as the average one, or refused.
    random_state : int, optional
        The same number gives the same bits, whatever the number of threads.
    verbose : int
        1 shows the progress, in a terminal and in notebooks as a bar, elsewhere as lines; 2 prints lines.

    Examples
    --------
    >>> import podium
    >>> ratings = podium.make_ratings(40, 30, 800)
    >>> ranker = podium.ImplicitFactors(n_factors=4, relevant_from=4, epochs=5, random_state=0).fit(ratings)
    >>> ranker.model_.user_factors.shape, len(ranker.recommend(0, n=3).items)
    ((40, 4), 3)
    """

    loss: str = choice("softmax", "pmop", "bpr", "warp")
    n_factors: int = count(32)
    regularization: float | None = number(None, at_least=0)
    bias_regularization: float | None = number(None, at_least=0)
    scaling: float = number(0.5, at_least=0)
    biases: bool = True
    relevant_from: float | None = number(None)
    group_size: int | None = count(1, optional=True)
    counts: str = choice("ignore", "groups")
    n_drawn: int | None = count(None)
    epochs: int = count(30)
    learning_rate: float = number(0.1, above=0)
    batch_size: int = count(128)
    patience: int | None = count(None)
    early_stopping: float | None = number(None, above=0, below=1)

    regularization_: float

    def _validation(self, known: Ratings, held_out: Ratings, eval_metric: str | Metric) -> Validation:
        """Judge by the whole catalogue: among the items that a user has seen there is nothing to order."""
        return CatalogueValidation.over(eval_metric, known, self._seen(self._renumbered(held_out).known()))

    def _hold_out(self, ratings: Ratings, eval_metric: str | Metric) -> tuple[Ratings, Validation | None]:
        if self.early_stopping is None:
            return ratings, None
        rest, aside = hold_out(ratings, self.early_stopping, seed_of(self.random_state))
        return rest, self._validation(rest, aside, eval_metric)

    def _train(self, ratings: Ratings, validation: Validation | None = None, callback: Any = None) -> Fit:
        rng = as_generator(self.random_state)
        seen = self._seen(ratings)
        self.regularization_ = self._penalty(seen)
        run = self._run(seen, *start(ratings.n_users, ratings.n_items, self.n_factors, rng))
        watch = Watch(validation, callback, self.verbose, step="epoch", patience=self.patience, total=self.epochs)
        with watch.interruptible(type(self).__name__):
            for epoch in range(self.epochs):
                loss = run.epoch(epoch, rng.permutation(ratings.n_users), self.batch_size)
                model = _without_taste_as_average(run.model(), seen.sizes > 0)
                if watch.record(loss, None if validation is None else validation.judge(model), model):
                    break
        best = watch.best_iter is not None
        history = watch.convergence(f"ran the {self.epochs} epochs asked for", best=best)
        return Fit(watch.best if best else watch.last, np.empty(0), history)

    def _fold(self, ratings: Ratings) -> np.ndarray:
        """Take the same steps as in training with the items fixed, from the average user on."""
        model, seen = self.model_, self._seen(ratings.known())
        users = np.repeat(np.append(model.users[-1], 1.0)[None], ratings.n_users, axis=0)
        run = self._run(seen, users, np.column_stack((model.item_factors, model.item_bias)))
        everybody = np.flatnonzero(seen.sizes > 0)
        for epoch in range(self.epochs):
            run.epoch(epoch, everybody, self.batch_size, items_too=False)
        return run.model().user_factors

    def _seen(self, ratings: Ratings) -> Ratings:
        seen = ratings if self.relevant_from is None else ratings.at_least(self.relevant_from)
        if len(ratings) and not len(seen):
            raise ValueError(
                f"no rating is at least relevant_from={self.relevant_from:g}: there is nothing to learn from"
            )
        return seen

    def _run(self, seen: Ratings, users: np.ndarray, items: np.ndarray) -> Run:
        grouped = self.loss == "pmop" and self.counts != "groups" and self.group_size is not None
        if self.counts == "groups" and self.loss != "pmop":
            raise ValueError(f'counts="groups" needs loss="pmop", which knows groups; the loss is {self.loss!r}')
        default = _DEFAULTS[self.loss]
        n_drawn = default.n_drawn if self.n_drawn is None else self.n_drawn
        kind = GROUPS if grouped else LOSSES.index(self.loss)
        lists = Seen.of(seen, by_value=self.counts == "groups")
        gradients = Gradients(lists, kind, n_drawn, seed_of(self.random_state), self.group_size if grouped else None)
        l2 = self.regularization_
        bias_l2 = l2 if self.bias_regularization is None else float(self.bias_regularization)
        rate, n = float(self.learning_rate), self.n_factors
        # The last number of a user's row is the 1 that multiplies a bias: it stays.
        steps = [
            Steps.start(
                rows, np.append(np.full(n, rate), last), np.append(np.full(n, l2), penalty), self._scales(*counts)
            )
            for rows, last, penalty, counts in (
                (users, 0.0, 0.0, (seen.sizes, self._seen(self.seen_).sizes)),
                (items, rate * self.biases, bias_l2, (seen.item_counts(), self._seen(self.seen_).item_counts())),
            )
        ]
        return Run(gradients, *steps)

    def _penalty(self, seen: Ratings) -> float:
        """Return the penalty of factors, which new users are folded in with, too."""
        if self.regularization is not None:
            return float(self.regularization)
        least = _DEFAULTS[self.loss].regularization
        return max(least, noise_over_taste(seen)) if self.loss in ("softmax", "pmop") else least

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        fitted, arrays = super()._stored_fit()
        return {**fitted, "regularization": self.regularization_}, arrays

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        super()._restore_fit(fitted, arrays)
        self.regularization_ = float(fitted["regularization"])

    def _scales(self, counts: np.ndarray, fitted_on: np.ndarray) -> np.ndarray:
        """Return what penalties are multiplied by, from numbers of seen items (or users)."""
        return np.asarray(((counts + 1.0) / (fitted_on.mean() + 1.0)) ** self.scaling)


def _without_taste_as_average(model: FactorModel, has_taste: np.ndarray) -> FactorModel:
    """Return the model with users who have seen nothing, who are where they started, as the average of the others."""
    users = model.user_factors
    users[~has_taste] = users[has_taste].mean(axis=0)
    return model


for _loss, _summary, _reference, _strengths in (
    (
        "softmax",
        "each seen item as a draw from all items",
        "Podium, docs/methods/implicit.md",
        (3.0, 5.0, 7.0, 10.0, 14.0, 20.0),
    ),
    (
        "pmop",
        "ordered partitions, seen above unseen",
        "Podium, docs/methods/implicit.md",
        (3.0, 5.0, 7.0, 10.0, 14.0, 20.0),
    ),
    ("bpr", "pairs of a seen and an unseen item", "Rendle et al., UAI 2009", (0.1, 0.3, 1.0, 2.0, 4.0, 8.0)),
    (
        "warp",
        "pairs that violate the margin, weighted by rank",
        "Weston et al., IJCAI 2011",
        (5.0, 10.0, 20.0, 35.0, 60.0, 100.0),
    ),
):
    RATING_METHODS.add(
        f"implicit-{_loss}",
        partial(ImplicitFactors, _loss),
        f"what was seen above what was not: {_summary}",
        _reference,
        "factors",
        {"regularization": LogUniform(*_strengths)},
        stochastic=True,
        variant=True,
        kind="factors",
    )
