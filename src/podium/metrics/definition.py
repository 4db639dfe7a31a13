"""A metric is a value: a family, a cutoff and a convention."""

from __future__ import annotations

import difflib
import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from podium.metrics.conventions import Convention, NoRelevant, convention

if TYPE_CHECKING:
    import numpy as np

Cutoff = Literal["optional", "required", "none"]


@dataclass(frozen=True)
class Family:
    """A kind of metric."""

    name: str
    summary: str
    cutoff: Cutoff = "optional"
    aliases: tuple[str, ...] = ()
    name_with_cutoff: str = ""
    """Where it is not ``name``."""

    def named(self, cutoff: int | str | None) -> str:
        return self.name if cutoff is None else f"{self.name_with_cutoff or self.name}@{cutoff}"


FAMILIES = {
    family.name: family
    for family in (
        Family("ndcg", "normalised discounted cumulative gain"),
        Family("dcg", "discounted cumulative gain"),
        Family("meanndcg", "mean of NDCG@1 … NDCG@n", "none", ("mean-ndcg", "mean_ndcg")),
        Family("map", "average precision", "optional", ("ap",), "ap"),
        Family("p", "precision: share of relevant documents among the first k", "required", ("precision", "prec")),
        Family("r", "recall: share of the relevant documents that are among the first k", "required", ("recall",)),
        Family("mrr", "reciprocal rank of the first relevant document", "optional", ("rr",)),
        Family("err", "expected reciprocal rank"),
        Family("tau", "Kendall's τ-b", "none", ("kendall", "kendalltau", "tau-b")),
        Family(
            "accuracy", "share of pairs in the right order; a pair with tied scores counts ½", "none", ("pairwise",)
        ),
    )
}
_BY_ALIAS = {alias: f for f in FAMILIES.values() for alias in (f.name, *f.aliases, f.name_with_cutoff) if alias}


@dataclass(frozen=True)
class Metric:
    """What :func:`metric` makes; equal if family, cutoff and all facts of the convention are."""

    family: str
    cutoff: int | None
    rules: Convention
    """The convention with all its facts."""

    @property
    def name(self) -> str:
        """``ndcg@10``, ``map``, …"""
        return FAMILIES[self.family].named(self.cutoff)

    @property
    def convention(self) -> str:
        """Name of the convention."""
        return self.rules.name

    def __str__(self) -> str:
        return f"{self.name} ({self.convention})"

    def __repr__(self) -> str:
        return f"metric({str(self)!r})"

    def per_query(
        self, scores: Any, labels: Any, offsets: Any, document_ids: Any = None, collapse: Any = None
    ) -> np.ndarray:
        """The metric of each query, (n_queries,) float64; NaN for a query that has no value.

        Parameters
        ----------
        scores, labels : (n_documents,)
            Query q owns the slice ``offsets[q]:offsets[q + 1]`` of both. Scores of −∞ mark documents that were not
            retrieved: they count among what there is to find but never as found.
        offsets : (n_queries + 1,) integers, from 0 to n_documents
        document_ids : (n_documents,), optional
            Break ties between scores where the convention says so.
        collapse : (group ids, limit), optional
            At most ``limit`` documents of a group are shown in a list; see :func:`podium.evaluate`.
        """
        from podium.metrics.measuring import measure

        if collapse is not None:
            from podium.metrics.collapse import as_collapse

            collapse = as_collapse(collapse, len(labels))
        return measure([self], scores, labels, offsets, document_ids, collapse=collapse)[:, 0]


def metric(
    name: str | Metric,
    convention: str | Convention | None = None,
    *,
    no_relevant: NoRelevant | None = None,
    max_grade: float | None = None,
) -> Metric:
    """The metric of this name.

    Parameters
    ----------
    name : str
        ``ndcg ndcg@k dcg dcg@k meanndcg map ap@k p@k r@k mrr mrr@k err err@k tau accuracy``, in any case; also what a
        metric prints as, ``"ndcg@10 (letor)"``.
    convention : str or Convention
        The rules; ``standard`` if neither this nor the name says.
    no_relevant : {"zero", "half", "one", "skip"}, optional
        Replaces the convention's rule for queries that have nothing to find.
    max_grade : float, optional
        The highest grade there is, for ERR; by default the convention's, or else the highest among the documents
        evaluated.

    Examples
    --------
    >>> m = metric("NDCG@10", convention="letor")
    >>> m.name, m.convention, str(m)
    ('ndcg@10', 'letor', 'ndcg@10 (letor)')
    >>> metric(str(m)) == m, metric("recall@5") == metric("r@5")
    (True, True)
    >>> m.per_query([3.0, 2.0, 1.0], [0, 2, 1], [0, 3]).round(4).tolist()  # three documents, NDCG@10: 0 by LETOR's rule
    [0.0]
    """
    if isinstance(name, Metric):
        family, cutoff, rules = name.family, name.cutoff, name.rules
        if convention is not None:
            rules = _convention(convention)
    else:
        text, in_name = _split(name)
        family, cutoff = _parse(text)
        if in_name is not None and convention is not None and _convention(in_name) != _convention(convention):
            raise ValueError(f"{name!r} names one convention and convention={str(convention)!r} another")
        rules = _convention(in_name if in_name is not None else "standard" if convention is None else convention)
    if no_relevant is not None:
        rules = rules.with_no_relevant(no_relevant)
    if max_grade is not None:
        rules = replace(rules, max_grade=float(max_grade))
    return Metric(family, cutoff, rules)


_convention = convention  # the parameter of the same name hides it


def names_its_convention(name: str | Metric) -> bool:
    """Does the metric say by itself under which convention it is meant?"""
    return isinstance(name, Metric) or _split(name)[1] is not None


def _split(name: str) -> tuple[str, str | None]:
    """``"ndcg@10 (letor)"`` in its two parts."""
    match = re.fullmatch(r"\s*(.*?)\s*(?:\((.*)\))?\s*", name)
    assert match is not None  # matches everything
    return match[1], match[2]


def _parse(text: str) -> tuple[str, int | None]:
    alias, at, cutoff = text.lower().partition("@")
    family = _BY_ALIAS.get(alias)
    if family is None:
        raise ValueError(_unknown(text, alias))
    if not at:
        if family.cutoff == "required":
            raise ValueError(f"{text!r} needs a cutoff, as in {family.name}@10")
        return family.name, None
    if family.cutoff == "none":
        raise ValueError(f"{family.name} looks at the whole list: {text!r} cannot have a cutoff")
    if not re.fullmatch(r"0*[1-9]\d{0,8}", cutoff):
        raise ValueError(f"the cutoff of {text!r} must be a whole number from 1 on")
    return family.name, int(cutoff)


def _unknown(text: str, alias: str) -> str:
    near = difflib.get_close_matches(alias, _BY_ALIAS, n=3)
    forms = [f.named(None) for f in FAMILIES.values() if f.cutoff != "required"]
    forms += [f.named("k") for f in FAMILIES.values() if f.cutoff != "none"]
    meant = f" Did you mean {' or '.join(near)}?" if near else ""
    return f"no metric is called {text!r}; there are {', '.join(forms)}.{meant}"
