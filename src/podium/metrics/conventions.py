"""Named conventions: the rules under which a metric is computed.

The same ranking scores differently under different tools, and by more than methods differ. A :class:`Convention` is
the list of facts that make the difference; every metric carries one and prints its name.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args, get_origin, get_type_hints

from podium.core.wording import did_you_mean

__all__ = ["CONVENTIONS", "Convention", "convention"]

NoRelevant = Literal["zero", "half", "one", "skip"]
CONVENTIONS: dict[str, Convention] = {}
"""The built-in conventions by name."""


@dataclass(frozen=True)
class Convention:
    """Facts that decide the value of a metric.

    Make your own with :func:`dataclasses.replace`. One that keeps the name of a built-in convention but not its facts
    says so in its name.

    Parameters
    ----------
    name : str
        What the convention is called.
    gain : {"exponential", "linear"}
        DCG: a document of grade y is worth 2^y − 1, or y.
    discount : {"log", "letor"}
        DCG: rank i counts 1/log2(1 + i); or 1, 1, then 1/log2(i).
    no_relevant : {"zero", "half", "one", "skip"}
        A query with nothing to find: its normalized metrics (NDCG, AP, recall, R-precision, bpref) are 0, ½ or 1 and
        its other metrics 0; or, with ``skip``, it has no value (NaN) and is left out of the mean.
    no_relevant_ap : {None, "zero", "half", "one", "skip"}
        The same for AP, where it differs.
    short_ndcg : {"pad", "zero"}
        NDCG@k of a list shorter than k: as if documents worth nothing followed; or 0.
    short_precision : {"pad", "zero", "clip"}
        P@k of a list of n < k documents: hits / k; or 0; or hits / n.
    relevant_from : float
        Metrics that distinguish only relevant and not relevant documents: relevant is this grade and above.
    ap_cutoff : {"relevant", "min"}
        AP@k divides by the number of relevant documents; or by k where there are more of them.
    ties : {"average", "row", "document_id", "worst"}
        Documents of equal score: the expectation over their orders; row order; document ids, descending (row order
        where there are none); or lowest grade first.
    score_precision : {"given", "single"}
        Scores are compared as given; or rounded to single precision first, which makes ties.
    negative : {"error", "zero"}
        Grades below 0 in metrics made of gains: refused; or worth nothing.
    stop : {"graded", "label"}
        ERR: the user stops at a document with probability (2^(y − min_grade) − 1) / 2^(max_grade − min_grade); or the
        label is that probability.
    max_grade : float, optional
        ERR: the highest grade there is; None takes the highest among all documents evaluated.
    min_grade : float
        ERR: the lowest grade there is. For one to five stars it is 1: nobody stops at a document of one star.

    Examples
    --------
    >>> from dataclasses import replace
    >>> from podium.metrics import convention
    >>> replace(convention("letor"), relevant_from=2.0).name
    'letor+relevant_from=2'
    >>> convention("letor+relevant_from=2") == replace(convention("letor"), relevant_from=2.0)
    True
    """

    name: str
    gain: Literal["exponential", "linear"] = "exponential"
    discount: Literal["log", "letor"] = "log"
    no_relevant: NoRelevant = "zero"
    no_relevant_ap: Literal[NoRelevant, None] = None
    short_ndcg: Literal["pad", "zero"] = "pad"
    short_precision: Literal["pad", "zero", "clip"] = "pad"
    relevant_from: float = 1.0
    ap_cutoff: Literal["relevant", "min"] = "relevant"
    ties: Literal["average", "row", "document_id", "worst"] = "average"
    score_precision: Literal["given", "single"] = "given"
    negative: Literal["error", "zero"] = "error"
    stop: Literal["graded", "label"] = "graded"
    max_grade: float | None = None
    min_grade: float = 0.0

    def __post_init__(self) -> None:
        for fact, options in _OPTIONS.items():
            if getattr(self, fact) not in options:
                listed = ", ".join(repr(option) for option in options if option is not None)
                raise ValueError(f"{fact} must be one of {listed}; got {getattr(self, fact)!r}")
        base = CONVENTIONS.get(self.name.partition("+")[0])
        if base is not None:
            facts = {fact: getattr(self, fact) for fact in _FACTS}
            changes = [f"+{fact}={_format(is_now)}" for fact, is_now in facts.items() if is_now != getattr(base, fact)]
            object.__setattr__(self, "name", base.name + "".join(changes))

    def __str__(self) -> str:
        return self.name

    def with_no_relevant(self, rule: NoRelevant) -> Convention:
        """Return the convention with another rule for queries that have nothing to find."""
        return replace(self, no_relevant=rule, no_relevant_ap=None)


_FACTS = {fact: hint for fact, hint in get_type_hints(Convention).items() if fact != "name"}
_OPTIONS = {fact: get_args(hint) for fact, hint in _FACTS.items() if get_origin(hint) is Literal}


def convention(name: str | Convention) -> Convention:
    """Return the convention of this name.

    Parameters
    ----------
    name : str or Convention
        One of :data:`podium.metrics.CONVENTIONS`; ``"letor+ties=average"`` is ``letor`` with that fact changed.

    Returns
    -------
    Convention
        The rules; what is a convention already is returned as it is.

    Examples
    --------
    >>> from podium.metrics import CONVENTIONS, convention
    >>> "letor" in CONVENTIONS, "trec" in CONVENTIONS
    (True, True)
    >>> convention("letor").short_ndcg, convention("standard").short_ndcg
    ('zero', 'pad')
    """
    if isinstance(name, Convention):
        return name
    base, *changes = (part.strip() for part in name.split("+"))
    if base.lower() not in CONVENTIONS:
        meant = did_you_mean(base.lower(), CONVENTIONS)
        raise ValueError(f"no convention is called {base!r}; there are {', '.join(CONVENTIONS)}.{meant}")
    return replace(CONVENTIONS[base.lower()], **dict(_parse_change(change) for change in changes))


def _parse_change(change: str) -> tuple[str, Any]:
    fact, equals, value = (part.strip() for part in change.partition("="))
    if not equals or fact not in _FACTS:
        raise ValueError(
            f"{change!r} is not a change of a convention; write fact=value with one of {', '.join(_FACTS)}"
        )
    if value == "none":
        return fact, None
    return fact, value if fact in _OPTIONS else float(value)


def _format(value: Any) -> str:
    if value is None:
        return "none"
    return f"{value:.12g}" if isinstance(value, float | int) else str(value)


_CLIPPED: dict[str, Any] = {"no_relevant": "one", "short_precision": "clip", "ap_cutoff": "min"}

for _built_in in (
    Convention("standard"),
    Convention("letor", discount="letor", short_ndcg="zero", short_precision="zero", ties="row"),
    Convention("letor4", discount="letor", short_ndcg="zero", ties="row"),
    Convention("mslr", discount="letor", short_ndcg="zero", relevant_from=2.0, ties="row"),
    # The challenge's own script gives a query with nothing to find an NDCG of ½: "yahoo+no_relevant=half".
    Convention("yahoo", ties="row", max_grade=4.0),
    Convention("trec", gain="linear", ties="document_id", score_precision="single", negative="zero"),
    Convention("sklearn", gain="linear"),
    Convention("lightgbm", no_relevant="one", ap_cutoff="min", ties="row"),
    Convention("xgboost", **_CLIPPED, ties="row", score_precision="single"),
    Convention("catboost", **_CLIPPED, gain="linear", no_relevant_ap="zero", ties="worst", stop="label"),
):
    CONVENTIONS[_built_in.name] = _built_in
