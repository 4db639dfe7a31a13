"""Which of a user's ratings speak for an item: the item's score with each of them and without it."""

from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from podium.core.later import polars
from podium.core.parameters import require_count
from podium.core.showing.frames import as_kind
from podium.core.showing.html import output, page, remarks, signed, table
from podium.rankers.explaining.explanation import SHOWN, text_bar
from podium.ratings.data import Ratings
from podium.ratings.factors.model import FactorModel
from podium.ratings.ids import Ids

__all__ = ["RatingExplanation"]

AT_ONCE = 1 << 22
"""Ratings in the lists that are folded in together: a user with k ratings has k lists of k − 1."""
_REMARK = (
    "A contribution is the score with all ratings minus the score without this one, the user being folded in again "
    "each time. Contributions do not add up to the score: what ratings say together is lost only with all of them."
)


@dataclass(frozen=True, slots=True)
class Reason:
    """One of a user's ratings, and what it does for the score of another item."""

    item: Any
    """The id of the item rated."""
    rating: float
    contribution: float
    """The score with this rating minus the score without it: above 0, the rating speaks for the item explained."""


@dataclass(frozen=True, slots=True, repr=False)
class RatingExplanation:
    """The ratings of a user that speak for an item or against it.

    Printing it gives a table; :meth:`to_html` a picture, which notebooks show; :meth:`to_frame` and :meth:`to_dict`
    plain values.

    Parameters
    ----------
    user : str
        Whose ratings they are, in words.
    item : id
        The item explained.
    score : float
        Its score for the user, who is folded in with all ratings.
    n_ratings : int
        How many ratings the user has.
    reasons : tuple of Reason
        ``item``, ``rating`` and ``contribution`` of the user's ratings, the largest contributions first.

    Examples
    --------
    >>> import podium
    >>> ranker = podium.PMF(n_factors=2, random_state=0).fit(podium.make_ratings(40, 30, 800))
    >>> why = ranker.explain(3, ranker.recommend(3).items[0])
    >>> why.supporting[0].contribution > 0, why.to_frame().columns
    (True, ['item', 'rating', 'contribution'])
    """

    user: str
    item: Any
    score: float
    n_ratings: int
    reasons: tuple[Reason, ...]

    @property
    def supporting(self) -> tuple[Reason, ...]:
        """The reasons that speak for the item, the strongest first."""
        return tuple(reason for reason in self.reasons if reason.contribution > 0)

    @property
    def title(self) -> str:
        """What is explained, in words."""
        count = f"{self.n_ratings} rating{'s' * (self.n_ratings != 1)}"
        return f"Item {self.item} for {self.user}: score {self.score:.6g}, from {count}"

    def to_text(self, n: int | None = SHOWN) -> str:
        """Return a table of the n largest contributions, or of all, as several lines."""
        kept = self.reasons[:n]
        rows = [[str(r.item), f"{r.rating:g}", f"{r.contribution:+.4g}"] for r in kept]
        lines = [["item rated", "rating", "contribution"], *rows]
        widths = [max(len(row[i]) for row in lines) for i in range(3)]
        bars = ["", *(text_bar(r.contribution, kept[0].contribution) for r in kept)]
        shown = [
            "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:]), bar]).rstrip()
            for row, bar in zip(lines, bars, strict=True)
        ]
        left = len(self.reasons) - len(kept)
        return "\n".join([self.title, "", *shown, *([f"… and {left} smaller"] if left else []), "", _REMARK])

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"RatingExplanation({self.title})"

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain values, for JSON."""
        return asdict(self) | {"reasons": [asdict(reason) for reason in self.reasons]}

    def to_frame(self, kind: str = "polars") -> Any:
        """Return one row per reason, as a frame of polars, pandas or pyarrow."""
        columns = {name: [getattr(r, name) for r in self.reasons] for name in ("item", "rating", "contribution")}
        return as_kind(polars.DataFrame(columns, strict=False), kind)

    def to_html(self, n: int | None = SHOWN) -> str:
        """Return a complete page, without links to anything else, with a bar for each of the n largest reasons."""
        return page(self.title, self._figure(n))

    def _repr_html_(self) -> str:
        return self._figure(SHOWN)

    def _figure(self, n: int | None) -> str:
        kept = self.reasons[:n]
        largest = max((abs(r.contribution) for r in kept), default=0.0)
        rows = [
            (
                r.item,
                f"{r.rating:g}",
                f"{r.contribution:+.4g}",
                signed(r.contribution, largest, f"{r.contribution:+.4g}"),
            )
            for r in kept
        ]
        legend = "Bars to the right speak for the item, bars to the left against it."
        found = table(["item rated", "rating", "contribution", ""], rows, numbers=(1, 2))
        return output(self.title, found, remarks([legend, _REMARK]))


def explain(
    model: FactorModel,
    fold: Callable[[Ratings], np.ndarray],
    given: Ratings,
    item: int,
    n: int | None,
    names: tuple[str, Any],
) -> RatingExplanation:
    """Return what the ratings of the one user in ``given`` contribute to the score of an item.

    ``fold`` returns the factors of the users of any ratings; ``names`` are those of user and item.
    """
    if n is not None:
        require_count("n", n)
    scores = np.concatenate(
        [
            replace(model, user_factors=fold(lists)).pairs(np.arange(lists.n_users), np.full(lists.n_users, item))
            for lists in _left_out(given)
        ]
    )
    contributions = scores[0] - scores[1:]
    order = np.argsort(-np.abs(contributions), kind="stable")[:n]
    rated = np.where(given.item < 0, None, given.item_ids.astype(object)[given.item])
    reasons = zip(rated[order], given.values[order].tolist(), contributions[order].tolist(), strict=True)
    user, name = names
    return RatingExplanation(user, name, float(scores[0]), len(given), tuple(Reason(*reason) for reason in reasons))


def _left_out(given: Ratings) -> Iterator[Ratings]:
    """Yield users as many as there are ratings, and one: the first with all ratings, each other one without one."""
    k = len(given)
    for first in range(0, k + 1, max(1, AT_ONCE // max(k, 1))):
        missing = np.arange(first, min(first + max(1, AT_ONCE // max(k, 1)), k + 1)) - 1
        kept = np.arange(k) != missing[:, None]
        rows = np.broadcast_to(np.arange(k), kept.shape)[kept]
        yield given.replace(
            offsets=np.concatenate(([0], np.cumsum(kept.sum(axis=1)))),
            item=given.item[rows],
            values=given.values[rows],
            times=None,
            user_numbers=Ids(np.arange(len(missing))),
        )
