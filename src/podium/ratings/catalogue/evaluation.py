"""``podium.evaluate_catalogue``: metrics over all items that a user has not rated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from podium.core.random_state import RandomState, as_generator
from podium.metrics import Convention, Evaluation, Metric, metric
from podium.metrics import convention as find_convention
from podium.metrics.conventions import CONVENTIONS
from podium.metrics.definition import names_its_convention
from podium.metrics.measuring import measure
from podium.ratings.catalogue.exposure import Exposure, Popularity, is_exposure, profile_means
from podium.ratings.catalogue.lists import Candidates, Graded, ScoresUsers, user_lists
from podium.ratings.data import Ratings

__all__ = ["evaluate_catalogue"]

CATALOGUE_METRICS = (
    "recall@10",
    "ndcg@10",
    "map@10",
    "hit@10",
    "p@10",
    "mrr@10",
    "coverage@10",
    "novelty@10",
    "lift@10",
)
"""What :func:`podium.evaluate_catalogue` computes if nothing else is asked for."""
RELEVANT = 4.0
"""The lowest rating that is worth finding, unless the caller says otherwise."""


def evaluate_catalogue(
    ranker: ScoresUsers,
    test: Ratings,
    *,
    given: Ratings | None = None,
    metrics: str | Metric | Sequence[str | Metric] = CATALOGUE_METRICS,
    convention: str | Convention = "standard",
    relevant: float | None = None,
    binary: bool = False,
    items: ArrayLike | None = None,
    seen: Ratings | None = None,
    random_state: RandomState = 0,
) -> Evaluation:
    """Evaluate what a fitted ranker recommends from the whole catalogue, user by user.

    Every item that a user has not rated in training is a candidate; none is sampled. To be found are the items that the
    user rated ``relevant`` or better in ``test``. Their grades are the ratings (or 1, with ``binary``); all other items
    have grade 0, those that the user tested and disliked too.

    Parameters
    ----------
    ranker : RatingRanker
        Or anything with ``score_matrix(users)``, one row of scores per user, one column per item; then ``seen`` is
        needed.
    test : Ratings
        Users without ratings are left out. For those without a relevant one, the convention's ``no_relevant`` decides.
        Items that are not in the catalogue count as not found.
    given : Ratings, optional
        Known ratings of test users that the ranker was fitted without: these users are folded in first.
    metrics : str or Metric, or several
        As for :func:`podium.evaluate`, and ``coverage@k``, ``novelty@k``, ``popularity@k`` and ``lift@k``. Lists are
        ranked completely only if a metric has no cutoff.
    convention : str or Convention
        The rules for metrics that name none. Where tied items go by the order of rows, that order is drawn at random.
    relevant : float, optional
        The lowest rating that is worth finding, above 0: by default what the convention says, if it says so
        (``"standard+relevant_from=3"``), and else 4.
    binary : bool
        Whether all relevant items are worth the same.
    items : array, optional
        Ids of the catalogue; by default those of the ranker (``item_ids_``).
    seen : Ratings, optional
        What users have rated already, and how popular items are; by default what the ranker was fitted on (``seen_``).
    random_state : int or numpy.random.Generator
        Draws the order of tied items, for conventions that go by rows.

    Returns
    -------
    Evaluation
        As returned by :func:`podium.evaluate`, the users' ids being the query ids.

    Examples
    --------
    >>> import podium
    >>> split = podium.random_split(podium.make_ratings(40, 50, 1200))
    >>> ranker = podium.ItemMean().fit(split.train)
    >>> evaluation = podium.evaluate_catalogue(ranker, split.test, metrics=["recall@5", "ndcg@5", "coverage@5"])
    >>> evaluation.convention, len(evaluation.per_query["recall@5"])
    ('standard+relevant_from=4', 40)
    >>> 0 < evaluation.mean["coverage@5"] < 1
    True
    """
    trained = seen if seen is not None else getattr(ranker, "seen_", None)
    if trained is None:
        raise ValueError(f"{type(ranker).__name__} does not say what users have seen: give seen=, the training ratings")
    if given is not None:
        ranker = ranker.with_users(given)  # type: ignore[attr-defined]
    known = trained if given is None else ranker.seen_  # type: ignore[attr-defined]
    test = test.take_users(test.sizes > 0)
    if not test.n_users:
        raise ValueError("there are no test ratings to evaluate")
    asked = metrics_of(metrics, convention, relevant, binary, max_grade=float(max(test.values.max(), 1.0)))
    candidates = Candidates.of(known, items, getattr(ranker, "item_ids_", None))
    graded = to_find(test, candidates, threshold(convention, relevant), binary)
    numbers = known.user_numbers.numbers(graded.user_ids, "users")
    popularity = Popularity.of(trained, candidates)
    profiles = profile_means(known, numbers, popularity.counts, candidates.number)
    exposure = Exposure([m for m in asked.values() if is_exposure(m)], popularity, profiles)
    ranked = {name: m for name, m in asked.items() if not is_exposure(m)}
    by_row = any(m.rules.ties in ("row", "worst") for m in asked.values())
    blocks = []
    for lists in user_lists(
        ranker,
        candidates,
        graded,
        depth_of(asked.values()),
        single=any(m.rules.score_precision == "single" for m in asked.values()),
        shuffle=as_generator(random_state) if by_row else None,
    ):
        exposure.add(lists)
        blocks.append(measure(list(ranked.values()), lists.scores, lists.grades, lists.offsets, lists.ids))
    values = dict(zip(ranked, np.concatenate(blocks).T, strict=True))
    values |= dict(zip((n for n, m in asked.items() if is_exposure(m)), exposure.per_user(), strict=True))
    notes = _notes(graded, candidates, numbers, asked)
    per_user = {name: np.ascontiguousarray(values[name]) for name in asked}
    return Evaluation(asked, per_user, graded.user_ids, tuple(notes))


def threshold(convention: str | Convention, relevant: float | None) -> float:
    """Return the lowest rating that is worth finding."""
    if relevant is None:
        rules = find_convention(convention)
        base = CONVENTIONS.get(rules.name.partition("+")[0])
        said = base is None or rules.relevant_from != base.relevant_from
        relevant = rules.relevant_from if said else RELEVANT
    if not 0 < relevant < np.inf:
        raise ValueError(f"relevant must be above 0, the grade of items that were not rated; got {relevant}")
    return float(relevant)


def metrics_of(
    metrics: str | Metric | Sequence[str | Metric],
    convention: str | Convention,
    relevant: float | None,
    binary: bool,
    max_grade: float,
) -> dict[str, Metric]:
    """Return the metrics by the names they were asked by, with what they must know about the ratings."""
    least = threshold(convention, relevant)
    found: dict[str, Metric] = {}
    for asked in [metrics] if isinstance(metrics, str | Metric) else metrics:
        parsed = metric(asked, None if names_its_convention(asked) else convention)
        if parsed.kind.judged_only:
            raise ValueError(f"{parsed.name} looks at judged items only: see podium.evaluate_ratings for rated items")
        rules = replace(parsed.rules, relevant_from=1.0 if binary else least)
        if parsed.needs_max_grade:
            rules = replace(rules, max_grade=1.0 if binary else max_grade)
        exact = replace(parsed, rules=rules)
        name = asked.strip() if isinstance(asked, str) else exact.name
        found[name if name not in found else str(exact)] = exact
    if not found:
        raise ValueError("name at least one metric")
    return found


def to_find(test: Ratings, candidates: Candidates, least: float, binary: bool) -> Graded:
    """Return the relevant ratings of all test users; raise ValueError if there is none at all."""
    wanted = test.values >= least
    if not wanted.any():
        raise ValueError(
            f"no test rating is {least:g} or more, the highest is {test.values.max():g}: set relevant= to the lowest "
            "rating that is worth finding"
        )
    item = candidates.numbers(test.item_ids)[test.item[wanted]]
    grades = np.ones(wanted.sum()) if binary else test.values[wanted]
    return Graded(test.user_ids, test.user[wanted], item, test.items[wanted], grades)


def depth_of(metrics: Any) -> int | None:
    """Return how many of the first items decide these metrics; None if all do."""
    cutoffs = [m.cutoff for m in metrics]
    return None if None in cutoffs else max(cutoffs)


def _notes(graded: Graded, candidates: Candidates, numbers: np.ndarray, asked: dict[str, Metric]) -> list[str]:
    """Return what the reader of the figures must know."""
    n_users = len(graded.user_ids)
    without = n_users - len(np.unique(graded.user))
    strangers = int((numbers < 0).sum())
    unknown = int((graded.item < 0).sum())
    repeated = candidates.n_seen(numbers[graded.user], graded.item)
    together = ", ".join(name for name, m in asked.items() if m.kind.of_all_lists)
    lines = {
        f"candidates: the {len(candidates):,} items of the catalogue that the user has not rated": True,
        f"{without:,} of the {n_users:,} users have no relevant test item": without,
        f"{strangers:,} users were not fitted on: scored as the ranker scores unknown users": strangers,
        f"{unknown:,} relevant test ratings are of items that are not in the catalogue: not found": unknown,
        f"{repeated:,} relevant test ratings are of items rated in training: no candidates, left out": repeated,
        f"{together}: one figure for all users together, without an interval": together,
    }
    return [line for line, is_so in lines.items() if is_so]
