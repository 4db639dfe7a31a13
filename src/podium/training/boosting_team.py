"""Boosting on a cluster: every worker grows the same trees on its own queries, the driver adds up what they return."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from podium.data.queries import Queries
from podium.data.remote import RemoteQueries
from podium.losses.base import Loss
from podium.metrics.definition import Metric
from podium.scorers.base import Model
from podium.scorers.growing import Growable, GrowthStart, Machines
from podium.training.boosted_lists import BoostedLists, BoostedLoss

_ATTEMPTS = 3
"""How often to look for free ports: another program may take one before LightGBM does."""


class BoostingTeam:
    """The :class:`~podium.training.boosted_lists.BoostedLists` of all workers, as if they were one."""

    def __init__(self, loss: Loss, queries: RemoteQueries, validation: Any, weights: np.ndarray, newton: bool) -> None:
        self._queries, self._validation = queries, validation
        remote = validation if isinstance(validation, RemoteQueries) else None
        self._team = queries.team(remote)
        numbers, own = queries.per_query(np.arange(len(queries))), queries.per_query(weights)
        per_member = [([numbers[part] for part in parts], [own[part] for part in parts]) for parts in self._team.parts]
        highest = queries.highest_grade()
        self._team.start(_member, per_member, loss, newton, highest)

    def slope(self, constant: float, parameters: np.ndarray) -> float:
        return float(sum(self._team.call("slope", constant, parameters)))

    def grow(self, validation: Sequence[Any], start: GrowthStart, scorer: Growable) -> None:
        scorer.require_remote()
        team = self._team
        here = [queries for queries in validation if isinstance(queries, Queries)]
        for attempt in range(_ATTEMPTS):
            machines = tuple(team.addresses())
            per_member = [
                (here if number == 0 else [], start._replace(network=Machines(machines, number, n_threads)))
                for number, n_threads in enumerate(team.n_threads)
            ]
            try:
                team.call("grow", scorer, per_member=per_member)
                return
            except ValueError as error:
                if "port" not in str(error) or attempt == _ATTEMPTS - 1:
                    raise

    def loss(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        found = self._team.call("loss", parameters)
        return sum(value for value, _ in found), np.sum([slopes for _, slopes in found], axis=0)

    def evaluate(self, bags: Sequence[np.ndarray] | None, epoch: int, parameters: np.ndarray) -> BoostedLoss:
        first, *others = self._team.call("evaluate", epoch, parameters, per_member=self._bags(bags))
        return sum(others, start=first)

    def step(
        self, bags: Sequence[np.ndarray] | None, scale: float, epoch: int, parameters: np.ndarray
    ) -> tuple[bool, BoostedLoss]:
        found = self._team.call("step", scale, epoch, parameters, per_member=self._bags(bags))
        (split, first), *others = found
        return split, sum((other for _, other in others), start=first)

    def _bags(self, bags: Sequence[np.ndarray] | None) -> list[tuple[Any, ...]]:
        """Return the bags of each member's parts, for :class:`BoostedLists`."""
        if bags is None:
            return [(None,)] * len(self._team.parts)
        (bag,), starts = bags, self._queries.starts
        edges = np.searchsorted(bag, starts)
        mine = [bag[a:b] - start for a, b, start in zip(edges[:-1], edges[1:], starts[:-1], strict=True)]
        return [([mine[part] for part in parts],) for parts in self._team.parts]

    def add_tree(self, scale: float) -> bool:
        return bool(self._team.call("add_tree", scale)[0])

    def judge(self, metric: Metric) -> list[np.ndarray]:
        """Return the metric of each query of each validation part, in the order of the parts."""
        found = self._team.call("judge", metric)
        if isinstance(self._validation, Queries):
            return list(found[0])
        by_part = {
            number: values
            for numbers, mine in zip(self._team.other_parts, found, strict=True)
            for number, values in zip(numbers, mine, strict=True)
        }
        return [by_part[number] for number in sorted(by_part)]

    def model(self, n_trees: int) -> Model:
        return self._team.call("model", n_trees, only=0)[0]

    def close(self) -> None:
        self._team.close()


def _member(
    parts: Sequence[Queries],
    others: Sequence[Queries],
    numbers: Sequence[np.ndarray],
    weights: Sequence[np.ndarray],
    loss: Loss,
    newton: bool,
    highest_grade: float,
) -> BoostedLists:
    """Return the state of a worker, made there: numbers and weights are those of its queries in the whole set."""
    bounds = [
        loss.bind(part.targets, part.offsets, query_numbers=own, highest_grade=highest_grade).weighted(factors)
        for part, own, factors in zip(parts, numbers, weights, strict=True)
    ]
    return BoostedLists(parts, bounds, newton, others)
