"""Families of metrics: what each is called, what it needs, and the function that measures one ranked list.

A family is declared where it is computed, with :func:`family` (see :mod:`podium.metrics.families`), or by a user with
:func:`podium.metrics.define`. Nothing else lists the families.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

__all__ = ["FAMILIES", "Family"]

Function = Callable[..., float]


@dataclass(frozen=True)
class Family:
    """A kind of metric, such as NDCG at any cutoff.

    Parameters
    ----------
    name, summary : str
        What it is called, and what it is in a few words.
    function : callable
        What computes the value of one list. A built-in family's is compiled (see ``podium.metrics.ranked``), a
        user's is called as it is.
    cutoff : {"optional", "required", "none"}
        Whether its metrics have a cutoff.
    aliases : tuple of str
        Other names, in lower case.
    name_with_cutoff : str
        Its name in front of a cutoff, where it is not ``name``.
    seeks : {"gain", "relevant", "order"}
        What there must be to find in a query: a document with a grade above 0, a relevant one, or nothing special.
    normalized : bool
        Whether it is a share of what there is to find. Where that is nothing, the convention decides; else the value
        is 0.
    no_relevant : str
        The fact of the convention that decides then.
    prepared : {"", "gains", "hits", "scores"}
        What the loop over queries prepares for it: cumulative gains, cumulative hits, or scores in row order.
    needs_max_grade : bool
        Whether values depend on the highest grade there is.
    judged_only : bool
        Whether documents without a judgment are removed from the list before it is measured.
    bounded : bool
        Whether all values lie between −1 and 1.
    parameter : float, optional
        Default of the number written as in ``rbp.95``, for a family that has one.
    is_own : bool
        Whether it was defined by a user.
    takes_best : bool
        Whether a user's function also takes the grades of the best possible list.
    of_all_lists : bool
        Whether it has one value for all lists together, which has neither an interval over queries nor a test.

    Examples
    --------
    >>> from podium.metrics import FAMILIES
    >>> ndcg = FAMILIES["ndcg"]
    >>> ndcg.named(10), ndcg.cutoff, ndcg.normalized, ndcg.bounded
    ('ndcg@10', 'optional', True, True)
    """

    name: str
    summary: str
    function: Function
    cutoff: Literal["optional", "required", "none"] = "optional"
    aliases: tuple[str, ...] = ()
    name_with_cutoff: str = ""
    seeks: Literal["gain", "relevant", "order"] = "relevant"
    normalized: bool = False
    no_relevant: str = "no_relevant"
    prepared: Literal["", "gains", "hits", "scores"] = ""
    needs_max_grade: bool = False
    judged_only: bool = False
    bounded: bool = True
    parameter: float | None = None
    is_own: bool = False
    takes_best: bool = False
    of_all_lists: bool = False

    def named(self, cutoff: int | str | None, parameter: float | None = None) -> str:
        """Return the name of the family's metric with this cutoff and parameter."""
        name = self.name if cutoff is None else self.name_with_cutoff or self.name
        if parameter not in (None, self.parameter):
            name += f"{parameter:.12g}".removeprefix("0")
        return name if cutoff is None else f"{name}@{cutoff}"

    def __reduce__(self) -> Any:
        """Built-in families are looked up where they arrive; a user's take their function along, and are registered."""
        if not self.is_own:
            return find_family, (self.name,)
        return _arrive, ({key: getattr(self, key) for key in self.__dataclass_fields__},)


FAMILIES: dict[str, Family] = {}
"""The built-in families by name."""
BY_NAME: dict[str, Family] = {}
"""All families, by every name and alias in lower case."""


def family(name: str, summary: str, **facts: Any) -> Callable[[Function], Function]:
    """Declare a built-in family, computed by the decorated function ``(shown, cutoff, parameter) → value``."""

    def declare(function: Function) -> Function:
        register(Family(name, summary, function, **facts))
        return function

    return declare


def register(new: Family) -> None:
    """Make a family known by its names; a user's may replace an earlier one of the same name."""
    names = {new.name.lower(), *new.aliases, new.name_with_cutoff} - {""}
    for known in map(BY_NAME.get, names):
        if known is not None and not (known.is_own and new.is_own):
            raise ValueError(f"{new.name!r} is the name of a built-in metric ({known.summary}); choose another")
    BY_NAME.update(dict.fromkeys(names, new))
    if not new.is_own:
        FAMILIES[new.name] = new


def find_family(alias: str) -> Family | None:
    """Return the family of this name, in lower case, or None."""
    return BY_NAME.get(alias)


def _arrive(facts: dict[str, Any]) -> Family:
    arrived = Family(**facts)
    if find_family(arrived.name.lower()) != arrived:
        register(arrived)
    return arrived
