"""A metric is a value: a family, a cutoff and a convention."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from podium.core.user_objects import import_user_object, is_user_object
from podium.core.wording import did_you_mean
from podium.data.remote import RemoteQueries
from podium.metrics import families  # noqa: F401  (registers the built-in families)
from podium.metrics.collapse import as_collapse
from podium.metrics.conventions import Convention, NoRelevant, convention
from podium.metrics.family import BY_NAME, FAMILIES, Family, Function, find_family, register
from podium.metrics.measuring import measure

__all__ = ["Metric", "define", "import_metrics", "metric"]


@dataclass(frozen=True)
class Metric:
    """What :func:`podium.metric` makes; equal if family, cutoff, parameter and all facts of the convention are.

    Parameters
    ----------
    kind : Family
        What is measured.
    cutoff : int, optional
        Ranks beyond it do not count; None if all do.
    rules : Convention
        The convention with all its facts.
    parameter : float, optional
        The number of a family that has one, as in ``rbp.95``.

    Examples
    --------
    >>> from podium.metrics import metric
    >>> m = metric("ndcg@10")
    >>> m.family, m.cutoff, m.convention, str(m)
    ('ndcg', 10, 'standard', 'ndcg@10 (standard)')
    >>> m.per_query([2.0, 1.0, 1.0, 2.0], [1, 0, 1, 0], [0, 2, 4]).round(4).tolist()
    [1.0, 0.6309]
    """

    kind: Family
    cutoff: int | None
    rules: Convention
    parameter: float | None = None

    @property
    def family(self) -> str:
        """Name of the family, such as ``ndcg`` or ``map``."""
        return self.kind.name

    @property
    def name(self) -> str:
        """Name with the cutoff, such as ``ndcg@10`` or ``map``."""
        return self.kind.named(self.cutoff, self.parameter)

    @property
    def convention(self) -> str:
        """Name of the convention."""
        return self.rules.name

    @property
    def needs_max_grade(self) -> bool:
        """Whether the value depends on the highest grade of the data, since the convention does not say it."""
        return self.kind.needs_max_grade and self.rules.max_grade is None and self.rules.stop == "graded"

    def for_parts_of(self, queries: Any) -> Self:
        """Return the metric with the highest grade of all queries as the highest there is, if data decide on that.

        A part of queries elsewhere knows its own grades only. For queries in this process nothing changes.
        """
        remote = isinstance(queries, RemoteQueries) and self.needs_max_grade
        return replace(self, rules=replace(self.rules, max_grade=queries.highest_grade())) if remote else self

    def __str__(self) -> str:
        return f"{self.name} ({self.convention})"

    def __repr__(self) -> str:
        return f"metric({str(self)!r})"

    def per_query(
        self, scores: Any, labels: Any, offsets: Any, document_ids: Any = None, collapse: Any = None, judged: Any = None
    ) -> np.ndarray:
        """Return the metric of each query, (n_queries,) float64; NaN for a query that has no value.

        Parameters
        ----------
        scores, labels : (n_documents,) array
            Query q owns the slice ``offsets[q]:offsets[q + 1]`` of both. Scores of −∞ mark documents that were not
            retrieved: they count among what there is to find but never as found.
        offsets : (n_queries + 1,) integers
            From 0 to n_documents.
        document_ids : (n_documents,) array, optional
            Break ties between scores where the convention says so.
        collapse : (group ids, limit), optional
            At most ``limit`` documents of a group are shown in a list; see :func:`podium.evaluate`.
        judged : (n_documents,) bool, optional
            Which documents were judged; see :func:`podium.evaluate`.

        Returns
        -------
        numpy.ndarray
            One value per query.
        """
        if collapse is not None:
            collapse = as_collapse(collapse, len(labels))
        return measure([self], scores, labels, offsets, document_ids, collapse=collapse, judged=judged)[:, 0]


def metric(
    name: str | Metric,
    convention: str | Convention | None = None,
    *,
    no_relevant: NoRelevant | None = None,
    max_grade: float | None = None,
) -> Metric:
    """Return the metric of this name.

    Parameters
    ----------
    name : str
        A family and, after ``@``, a cutoff, in any case: ``ndcg@10``, ``map``, ``p@5``, …; see
        :data:`podium.metrics.FAMILIES`. Also what a metric prints as, ``"ndcg@10 (letor)"``, and the names of metrics
        made with :func:`podium.metrics.define`.
    convention : str or Convention
        The rules; ``standard`` if neither this nor the name says.
    no_relevant : {"zero", "half", "one", "skip"}, optional
        Replaces the convention's rule for queries that have nothing to find.
    max_grade : float, optional
        The highest grade there is, for ERR; by default the convention's, or else the highest among the documents
        evaluated.

    Returns
    -------
    Metric
        A value that can be printed, compared and computed.

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
        found = name if convention is None else replace(name, rules=_convention(convention))
    else:
        text, in_name = _split(name)
        if in_name is not None and convention is not None and _convention(in_name) != _convention(convention):
            raise ValueError(f"{name!r} names one convention and convention={str(convention)!r} another")
        rules = _convention(in_name if in_name is not None else "standard" if convention is None else convention)
        found = _parse(text, rules)
    if no_relevant is not None:
        found = replace(found, rules=found.rules.with_no_relevant(no_relevant))
    if max_grade is not None:
        found = replace(found, rules=replace(found.rules, max_grade=float(max_grade)))
    return found


_convention = convention  # the parameter of the same name hides it


def define(
    name: str,
    function: Function,
    *,
    summary: str = "",
    binary: bool = False,
    normalized: bool = False,
    cutoff: bool = False,
    best: bool = False,
    judged_only: bool = False,
    bounded: bool = False,
    convention: str | Convention = "standard",
) -> Metric:
    """Define a metric of your own: a function of one list's labels in ranked order.

    The metric can be used wherever ``"ndcg@10"`` can, as the object returned or, from then on, by its name: in
    :func:`podium.evaluate`, :func:`podium.compare`, as ``eval_metric`` of ``fit``, and on the command line as
    ``--metrics module:name``.

    Parameters
    ----------
    name : str
        Letters, digits, ``_`` and ``-``. A later definition under the same name replaces this one.
    function : callable
        ``function(labels) → float`` in plain Python or compiled with ``numba.njit``; ``labels`` are the grades of the
        documents retrieved, best score first. NaN says that the list has no value: it is left out of the mean. An
        infinite value, something that is not a number and an exception are errors that name the query.
    summary : str, optional
        What it is in a few words, for help texts.
    binary : bool
        ``labels`` are 1 for relevant documents (see the convention) and 0 for others.
    normalized : bool
        The value is a share of what there is to find. For a query with nothing to find (no relevant document; without
        ``binary`` no grade above 0) the convention's value is then taken, as for NDCG. Otherwise the function is called
        for these too, unless they are to be skipped.
    cutoff : bool
        The metric may have a cutoff, as in ``name@5``: ``function(labels, k)``. ``labels`` is still the whole list, and
        without a cutoff k is its length.
    best : bool
        ``function(labels, best)`` (before ``k``): the grades of the best possible list, best first. They include those
        of documents that were not retrieved.
    judged_only : bool
        Documents that were not judged are removed from the list first; see ``judged`` of :func:`podium.evaluate`.
    bounded : bool
        All values lie between −1 and 1, as AdaRank needs it.
    convention : str or Convention
        The rules of the metric returned. Documents of equal score follow the convention too; where it averages over
        their orders, the mean is over all orders if there are at most 120, and otherwise over 120 random ones, always
        the same.

    Returns
    -------
    Metric
        The metric without a cutoff.

    Notes
    -----
    To be sent to worker processes, the function must be importable, as any function that is pickled: defined at the
    top of a module, not a lambda or a function within a function. Compiled functions are sent in any case.

    Examples
    --------
    >>> first_is_right = define("first_is_right", lambda labels: labels[0] == max(labels))
    >>> first_is_right.per_query([0.3, 0.9, 0.1, 0.7, 0.2], [0, 2, 1, 0, 1], [0, 3, 5]).tolist()
    [1.0, 0.0]
    >>> misses = define("misses", lambda labels, k: (labels[:k] == 0).sum(), binary=True, cutoff=True)
    >>> metric("misses@2").per_query([0.3, 0.9, 0.1, 0.7, 0.2], [0, 2, 1, 0, 1], [0, 3, 5]).tolist()
    [1.0, 1.0]
    """
    if not isinstance(name, str) or not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", name):
        raise ValueError(f"a metric's name is made of letters, digits, _ and -, a letter first; got {name!r}")
    if not callable(function):
        raise TypeError(f"{name} needs a function of a list's labels in ranked order; got {function!r}")
    kind = Family(
        name,
        summary or name,
        function,
        cutoff="optional" if cutoff else "none",
        seeks="relevant" if binary else "gain",
        normalized=normalized,
        judged_only=judged_only,
        bounded=bounded,
        is_own=True,
        takes_best=best,
    )
    register(kind)
    return Metric(kind, None, _convention(convention))


def import_metrics(names: Sequence[str]) -> list[str]:
    """Return names of metrics with each ``module:name`` imported, defined if need be, and replaced by its name.

    This runs the module's code, so it is for names that the user typed, never for names found in a file.

    Parameters
    ----------
    names : sequence of str
        Names of metrics, some of which may be ``module:name``, with or without a cutoff: what
        :func:`podium.metrics.define` returned, or a bare function of a list's labels.

    Returns
    -------
    list of str
        What :func:`podium.metric` takes.

    Examples
    --------
    >>> from podium.metrics import import_metrics, metric
    >>> import_metrics(["ndcg@10", "statistics:fmean"])
    ['ndcg@10', 'fmean']
    >>> metric("fmean").per_query([3.0, 2.0], [0, 1], [0, 2]).tolist()
    [0.5]
    """
    return [_import(name) if is_user_object(name.partition("@")[0].strip()) else name for name in names]


def _import(name: str) -> str:
    path, at, cutoff = name.strip().partition("@")
    found = import_user_object(path)
    if not isinstance(found, Metric):
        if not callable(found):
            raise ValueError(f"{path} is neither a metric nor a function but {found!r}; see podium.metrics.define")
        found = define(path.rpartition(":")[2].rpartition(".")[2], found)
    return f"{found.name}{at}{cutoff}"


def names_its_convention(name: str | Metric) -> bool:
    """Return whether the metric itself says under which convention it is meant."""
    return isinstance(name, Metric) or _split(name)[1] is not None


def _split(name: str) -> tuple[str, str | None]:
    """Return the two parts of ``"ndcg@10 (letor)"``."""
    match = re.fullmatch(r"\s*(.*?)\s*(?:\((.*)\))?\s*", name)
    assert match is not None  # matches everything
    return match[1], match[2]


def _parse(text: str, rules: Convention) -> Metric:
    alias, at, cutoff = text.lower().partition("@")
    kind, parameter = find_family(alias), None
    if kind is None and re.search(r"\.\d+$", alias):
        alias, _, digits = alias.rpartition(".")
        kind, parameter = find_family(alias), float(f"0.{digits}")
    if kind is None or (parameter is not None and kind.parameter is None):
        raise ValueError(_unknown(text, alias))
    if parameter == 0.0:
        raise ValueError(f"{text!r}: the number after the point must be above 0, as in {kind.name}.95")
    if not at and kind.cutoff == "required":
        raise ValueError(f"{text!r} needs a cutoff, as in {kind.name}@10")
    if at and kind.cutoff == "none":
        raise ValueError(f"{kind.name} looks at the whole list: {text!r} cannot have a cutoff")
    if at and not re.fullmatch(r"0*[1-9]\d{0,8}", cutoff):
        raise ValueError(f"the cutoff of {text!r} must be a whole number from 1 on")
    return Metric(kind, int(cutoff) if at else None, rules, kind.parameter if parameter is None else parameter)


def _unknown(text: str, alias: str) -> str:
    if is_user_object(alias):
        return f"{text!r} is taken as a metric of your own only on the command line; pass the metric itself instead"
    forms = [f.named(None) for f in FAMILIES.values() if f.cutoff != "required"]
    forms += [f.named("k") for f in FAMILIES.values() if f.cutoff != "none"]
    meant = did_you_mean(alias, BY_NAME)
    return (
        f"no metric is called {text!r}; there are {', '.join(forms)}, and those made with podium.metrics.define.{meant}"
    )
