"""Which methods take part in a study, and the domain they come from: documents of queries, or something else."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import Parameter, signature
from typing import Any

from podium.core.user_objects import import_user_object, is_user_object
from podium.experiments.plan.blending import BLEND, blend_of
from podium.experiments.plan.methods import CloneOf, StudyMethod
from podium.rankers.adapter import adapt
from podium.rankers.methods import METHODS, Method, MethodTable, accepted

QUICK = ("listnet", "pmop", "ranknet", "lambdarank", "regression")
"""What a demonstration shows: one or two of each family, quick to compile and to train."""
Methods = str | Iterable[str] | Mapping[str, Any]
"""Names, ``all``, ``module:name``; or a mapping from names to rankers, see :func:`podium.compare`."""


@dataclass(frozen=True, slots=True)
class Domain:
    """What is ranked, for a study: the words for it, its methods, and how they learn from queries.

    A study of something other than documents is this object and a :class:`~podium.experiments.plan.sources.Source` that
    gives it in the form of queries. Everything else (search, seal, store, workers, statistics, tables, report) is the
    same. So a comparison of another kind of ranker is::

        domain = Domain(MY_METHODS, floors=("item-mean",), unit="user", item="item", on_queries=Wrapper)
        study = Study(source, domain.study_methods(methods), metrics, primary, search, domain=domain, …)
        return run_study(study, out=out, jobs=jobs, progress=progress)
    """

    methods: MethodTable
    """What may be named, with what is searched for each."""
    floors: tuple[str, ...] = ()
    """Those that every table has: what a learned ranker must beat to be worth anything."""
    unit: str = "query"
    """What a list belongs to: the unit of tests and intervals."""
    item: str = "document"
    """What a list is of."""
    on_queries: Callable[[Any], Any] | None = None
    """Wraps a ranker so that it has ``fit(queries, eval_set=, eval_metric=)`` and ``predict(queries)``, as those of
    documents have. It is sent to worker processes: a class, or a ``partial`` of one."""
    leaves_out: bool = False
    """May a ranker leave documents out of a list, by a score of −∞?"""
    derived: Mapping[str, Callable[[Sequence[StudyMethod]], StudyMethod]] = field(default_factory=dict)
    """Methods that are made from the trials of the others named with them."""

    def study_methods(
        self,
        methods: Methods,
        options: Mapping[str, Any] | None = None,
        floor_options: Mapping[str, Any] | None = None,
        n_seeds: int = 1,
    ) -> list[StudyMethod]:
        """Return the methods that ``methods`` asks for, and the floors after them.

        Parameters
        ----------
        methods : names, or a mapping from names to rankers
        options : mapping, optional
            Parameters for those built-in methods that have them.
        floor_options : mapping, optional
            More of them, for floors.
        n_seeds : int
            With more than one, a user's ranker that has a ``random_state`` is repeated too.
        """
        options = options or {}
        own = dict(self._named(methods))
        derived = [name for name, ranker in own.items() if ranker is None and name in self.derived]
        given = {name: ranker for name, ranker in own.items() if name not in derived}
        entered = [self.study_method(name, ranker, options, n_seeds) for name, ranker in given.items()]
        floors = [self.study_method(name, None, {**options, **(floor_options or {})}) for name in self.floors]
        return [*entered, *(self.derived[name](entered) for name in derived), *floors]

    def study_method(
        self, name: str, ranker: Any = None, options: Mapping[str, Any] | None = None, n_seeds: int = 1
    ) -> StudyMethod:
        """Return one method: a built-in one by its name, or what the user gives, as in :meth:`study_methods`."""
        if ranker is None:
            return self._method(name, self.methods.find(name), options or {})
        return self._own(name, ranker, options or {}, n_seeds)

    def _named(self, methods: Methods) -> Iterator[tuple[str, Any]]:
        """Yield each name once, without the floors, with the user's object that it stands for or None."""
        if isinstance(methods, str):
            methods = [name.strip() for name in methods.split(",")]
        for name in dict.fromkeys(methods):
            if isinstance(methods, Mapping) and methods[name] is not None:
                if name in self.floors:
                    raise ValueError(f"{name!r} is in every comparison: give your own ranker another name")
                yield name, methods[name]
            elif name == "all":
                yield from ((known, None) for known, m in self.methods.items() if m.in_all and m.family != "floor")
            elif is_user_object(name):
                yield name, import_user_object(name)
            elif name not in self.floors:
                yield name, None

    def _method(self, name: str, method: Method, options: Mapping[str, Any]) -> StudyMethod:
        method.require_package()
        return StudyMethod(
            name,
            method.build,
            dict(method.grid),
            {k: v for k, v in accepted(method.build, options).items() if k not in method.grid},
            takes_seed=bool(accepted(method.build, {"random_state": 0})),
            **{fact: getattr(method, fact) for fact in ("stochastic", "family", "kind", "variant")},
            is_floor=name in self.floors,
            on_queries=self.on_queries,
        )

    def _own(self, name: str, value: Any, options: Mapping[str, Any], n_seeds: int) -> StudyMethod:
        """Return the method for a user's object: a ranker, its class, one of these and a search space, or a Method."""
        if isinstance(value, Method):
            return self._method(name, value, options)
        ranker, grid = value if isinstance(value, tuple) and len(value) == 2 else (value, {})
        if isinstance(ranker, type):
            ranker = ranker()
        missing = [part for part in ("fit", "predict") if not hasattr(ranker, part)]
        if missing:
            raise ValueError(f"method {name!r}: {ranker!r} has no {' and no '.join(missing)}, so it is no ranker")
        known: dict[str, Any] = getattr(ranker, "get_params", dict)()
        if unknown := [parameter for parameter in grid if parameter not in known]:
            raise ValueError(
                f"method {name!r}: {type(ranker).__name__} has no parameter {unknown[0]!r} to search; "
                f"it has {', '.join(known) or 'none'}"
            )
        several = n_seeds > 1 and "random_state" in known  # otherwise it keeps its own seed
        y = signature(ranker.fit).parameters.get("y")
        foreign = y is not None and y.default is Parameter.empty  # fit(X, y), as in scikit-learn
        return StudyMethod(
            name,
            CloneOf(ranker),
            {parameter: tuple(values) if isinstance(values, list) else values for parameter, values in grid.items()},
            takes_seed=several,
            stochastic=several,
            kind=f"own: {name}",
            on_queries=self.on_queries or (adapt if foreign else None),
        )


QUERIES = Domain(METHODS, ("best-feature", "random"), derived={BLEND: blend_of})
"""Documents of queries."""
