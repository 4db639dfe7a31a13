"""Parameters of rankers as JSON, and back.

An object with parameters is stored as its class and their values. Podium's own classes are stored by name and found in
the register. A class or function of the user's is stored as ``module:name``, and only the caller can supply it again:
reading a file imports nothing.
"""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import podium
from podium.core.registry import is_registered, registered
from podium.core.user_objects import is_user_object, user_object_name
from podium.core.wording import advice
from podium.files.archive import require_plain
from podium.metrics import Metric, metric
from podium.version import __version__

_ROOMS = ("losses", "scorers", "training", "rankers", "models", "ratings")
"""Packages whose import registers classes, tried in this order."""


def encode(value: Any, name: str) -> Any:
    """Return a parameter as JSON. Raise ValueError, saying what to do, if it cannot be stored."""
    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None  # a generator has moved on since training; it could not repeat it anyway
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple | list):
        items = [encode(item, name) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[encode(k, name), encode(v, name)] for k, v in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, Metric):
        return {"metric": str(value), "own": value.kind.is_own}
    if hasattr(value, "get_params") and not isinstance(value, type):
        return encode_object(value, name)
    if callable(value):
        return {"part": _part_name(value, name)}
    raise ValueError(f"the parameter {name} is {value!r}, which a model file cannot hold")


def encode_object(value: Any, name: str = "") -> dict[str, Any]:
    """Return an object's class and parameters as JSON; raise if it has a reason why it is ``unsavable``."""
    if reason := getattr(value, "unsavable", None):
        raise ValueError(reason)
    code = getattr(value, "supplied_when_loading", ())
    parameters = {
        key: {"supplied": key} if key in code else encode(inner, f"{name}.{key}" if name else key)
        for key, inner in value.get_params(deep=False).items()
    }
    cls = type(value)
    return {"class": cls.__name__ if is_registered(cls) else _part_name(cls, name), "parameters": parameters}


def _part_name(value: Any, name: str) -> str:
    try:
        return user_object_name(value)
    except ValueError as error:
        raise ValueError(f"{f'the parameter {name}' if name else 'this ranker'} cannot be saved: {error}") from None


def part_names(encoded: Any) -> Iterator[str]:
    """Yield the ``module:name`` of every class and function that the caller has to supply."""
    pairs = encoded.items() if isinstance(encoded, dict) else enumerate(encoded) if isinstance(encoded, list) else ()
    for key, value in pairs:
        if key in ("class", "part") and isinstance(value, str) and is_user_object(value):
            yield value
        yield from part_names(value)


def is_all_ours(encoded: Any) -> bool:
    """Return whether an object and its parts are of Podium's own classes, and none is code that the caller supplies."""
    if isinstance(encoded, list):
        return all(map(is_all_ours, encoded))
    if not isinstance(encoded, dict):
        return True
    ours = "supplied" not in encoded and not is_user_object(encoded.get("class", ""))
    return ours and all(map(is_all_ours, encoded.values()))


@dataclass
class Decoder:
    """Reads parameters with what the caller supplies."""

    parts: Mapping[str, Any]
    """The user's classes and functions by ``module:name``."""
    supplied: Mapping[str, Any]
    """Parameters that are code, such as a PyTorch module, by name."""
    used: set[str] = field(default_factory=set)
    """Names of those among ``supplied`` that were needed."""

    def object(self, encoded: Mapping[str, Any]) -> Any:
        """Return a new object of the class and parameters given."""
        parameters = {name: self.value(value) for name, value in encoded["parameters"].items()}
        return self._class(encoded["class"])(**parameters)

    def value(self, encoded: Any) -> Any:
        """Return the parameter that ``encode`` was given."""
        if isinstance(encoded, list):
            return [self.value(item) for item in encoded]
        if not isinstance(encoded, dict):
            return encoded
        if "class" in encoded:
            return self.object(encoded)
        if "tuple" in encoded:
            return tuple(self.value(encoded["tuple"]))
        if "dict" in encoded:
            return {self.value(k): self.value(v) for k, v in encoded["dict"]}
        if "array" in encoded:
            return np.array(encoded["array"], dtype=require_plain(np.dtype(encoded["dtype"])))
        if "metric" in encoded:
            return _metric(encoded["metric"], own=bool(encoded.get("own")))
        if "part" in encoded:
            return self.parts[encoded["part"]]
        if "float" in encoded and encoded["float"] in ("inf", "-inf", "nan"):
            return float(encoded["float"])
        if "supplied" in encoded:
            return self._supplied(encoded["supplied"])
        raise ValueError(f"a parameter is of an unknown kind: {', '.join(map(repr, encoded))}")

    def _supplied(self, name: str) -> Any:
        if name not in self.supplied:
            how = advice(f"load(path, {name}=...)", f"--{name} FILE:NAME names it, where NAME in FILE.py makes it")
            raise ValueError(f"its {name} is code, which a model file does not hold: {how}")
        self.used.add(name)
        return self.supplied[name]

    def _class(self, name: Any) -> Any:
        if isinstance(name, str):
            if name in self.parts:
                return self.parts[name]
            for room in ("core", *_ROOMS):
                getattr(podium, room, None)  # imports the room, which registers its classes
                if (found := registered(name)) is not None:
                    return found
        raise ValueError(f"it names the class {name!r}, which this version of Podium ({__version__}) does not have")


def _metric(name: Any, own: bool) -> Metric:
    try:
        return metric(name)
    except ValueError as error:
        what = f"its metric {name} is not Podium's: define it before loading (podium.metrics.define)"
        raise ValueError(what if own else str(error)) from None
