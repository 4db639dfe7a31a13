"""Rankers, losses and scorers named on the command line: Podium's by name, the user's own as ``module:name``."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from podium.rankers.methods import MethodTable
    from podium.rankers.ranker import Ranker


def method(
    name: str, general: Mapping[str, Any], settings: Mapping[str, Any], methods: MethodTable | None = None
) -> Any:
    """Return an unfitted ranker of the named method, of documents unless other ``methods`` are given.

    ``general`` holds settings that every method gets if it has such a parameter, ``settings`` those that the user set.
    A ranker object of the user's own is taken as it is configured, apart from ``settings``.
    """
    from podium.core.user_objects import import_user_object, is_user_object
    from podium.rankers.methods import METHODS

    if not is_user_object(name):
        return _made(name, (METHODS if methods is None else methods).find(name).build, general, settings)
    found = import_user_object(name)
    if isinstance(found, type) or not hasattr(found, "fit"):
        if not callable(found):
            raise ValueError(f"{name} is {found!r}; expected a ranker, its class, or a function that returns one")
        found = _made(name, found, general, settings)
    elif settings:
        found.set_params(**settings)
    for needed in ("fit", "predict", "save"):
        if not hasattr(found, needed):
            raise ValueError(f"{name} is no ranker that can be trained and saved: it has no method {needed}")
    return found


def _made(name: str, build: Callable[..., Any], general: Mapping[str, Any], settings: Mapping[str, Any]) -> Any:
    from podium.rankers.methods import accepted

    for unknown in settings.keys() - accepted(build, settings).keys():
        listed = ", ".join(inspect.signature(build).parameters)
        raise ValueError(f"{name} has no parameter {unknown!r}; it has {listed}")
    return build(**(accepted(build, general) | dict(settings)))


def ranker(loss: str, scorer: str, general: Mapping[str, Any], settings: Mapping[str, Any]) -> Ranker:
    """Return an unfitted ranker of the named loss on the named scorer.

    A setting names a parameter of the loss or the scorer (``n_trees``), or where it is (``trainer__epochs``).
    """
    import podium
    from podium.losses import Loss
    from podium.rankers.ranker import Ranker
    from podium.scorers import Scorer

    made = Ranker(
        loss=_part(loss, "loss", podium.losses, Loss, podium.losses.FunctionLoss),
        scorer=_part(scorer, "scorer", podium.scorers, Scorer),
        **general,
    )
    made.set_params(**{_place(made, name): value for name, value in settings.items()})
    return made


def _part(
    name: str, what: str, room: ModuleType, base: type, from_function: Callable[[Callable[..., Any]], Any] | None = None
) -> Any:
    from podium.core.user_objects import import_user_object, is_user_object

    if is_user_object(name):
        found = import_user_object(name)
    else:
        classes = [getattr(room, public) for public in room.__all__]
        known = {c.__name__: c for c in classes if isinstance(c, type) and issubclass(c, base) and c is not base}
        found = next((cls for known_name, cls in known.items() if known_name.lower() == name.lower()), None)
        if found is None:
            raise ValueError(f"no {what} named {name!r}; there are {', '.join(known)}, and module:name for your own")
    try:
        made = found() if isinstance(found, type) else found
    except TypeError as error:
        raise ValueError(f"{name} cannot be made without arguments ({error}): name an object, module:name") from None
    if not isinstance(made, base) and from_function is not None and callable(made):
        return from_function(made)
    if not isinstance(made, base):
        raise ValueError(f"{name} is {made!r}, not a {base.__name__}")
    return made


def _place(made: Ranker, name: str) -> str:
    """Return where a setting belongs: ``n_trees`` is ``scorer__n_trees`` if only the scorer has one."""
    known = made.get_params()
    places = [place for place in (f"loss__{name}", f"scorer__{name}") if place in known]
    if len(places) > 1:
        raise ValueError(f"both the loss and the scorer have a parameter {name!r}: set {' or '.join(places)}")
    if not places and name not in known and not name.startswith("trainer__"):
        listed = ", ".join(key.removeprefix("loss__").removeprefix("scorer__") for key in known if "__" in key)
        raise ValueError(f"neither the loss nor the scorer has a parameter {name!r}; they have {listed}")
    return places[0] if places else name
