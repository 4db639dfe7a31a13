"""Ids of any type, numbered from 0."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from podium.core.texts import text_array

_NUMBERS, _TEXTS = "iufb", "US"


class Ids:
    """Distinct ids, in order, and the number of each.

    Examples
    --------
    >>> ids = Ids(np.array(["ann", "bob"]))
    >>> ids.numbers(["bob", "eve"]).tolist()
    [1, -1]
    """

    def __init__(self, ids: np.ndarray) -> None:
        self.ids = ids
        if ids.dtype == object:  # may hold types that do not compare with each other
            self._number = {x: number for number, x in enumerate(ids)}
        else:
            self._order = np.argsort(ids, kind="stable")
            self._sorted = ids[self._order]

    def __len__(self) -> int:
        return len(self.ids)

    def numbers(self, ids: Any, what: str = "ids") -> np.ndarray:
        """Return the number of each id, −1 for unknown ones, in the shape of ``ids``."""
        if self.ids.dtype == object:
            given = ids if isinstance(ids, np.ndarray) else _objects(ids)
            return np.array([self._number.get(x, -1) for x in given.ravel()], np.int64).reshape(given.shape)
        given = np.asarray(ids)
        if given.size and _kind(given) != _kind(self.ids):
            raise ValueError(
                f"{what} were of type {self.ids.dtype} when the ranker was fitted; these are of type {given.dtype}"
            )
        if len(self.ids) == 0:
            return np.full(given.shape, -1, np.int64)
        place = np.minimum(np.searchsorted(self._sorted, given), len(self.ids) - 1)
        return np.where(self._sorted[place] == given, self._order[place], -1)

    def to_stored(self) -> np.ndarray | str:
        """Return the ids as an array of numbers or as JSON, for a model file."""
        if self.ids.dtype.kind in _NUMBERS:
            return self.ids
        plain = self.ids.tolist()
        if not all(isinstance(x, str | int | float) for x in plain):
            raise ValueError("ids that are neither numbers nor texts cannot be stored in a model file")
        return json.dumps([self.ids.dtype.kind, plain], ensure_ascii=False)

    @classmethod
    def from_stored(cls, stored: np.ndarray | str) -> Ids:
        """Return the ids that :meth:`to_stored` wrote; raise ValueError if they cannot be."""
        if isinstance(stored, str):
            kind, plain = json.loads(stored)
            allowed = {"U": str, "O": str | int | float}.get(kind)
            if allowed is None or not isinstance(plain, list) or not all(isinstance(x, allowed) for x in plain):
                raise ValueError("the model's ids are not a list of texts or numbers")
            stored = text_array(plain) if kind == "U" else _objects(plain)
        if stored.ndim != 1 or len(set(stored.tolist())) != len(stored):
            raise ValueError("the model's ids are not distinct")
        return cls(stored)


def _kind(array: np.ndarray) -> str:
    """Return the kind of ids; ids of different kinds are never equal, so comparing them would silently find none."""
    kind = array.dtype.kind
    return "number" if kind in _NUMBERS else "text" if kind in _TEXTS else kind


def _objects(ids: Any) -> np.ndarray:
    """Return ids as an array of objects; a tuple or a text is one id, not several."""
    single = isinstance(ids, str | tuple) or not hasattr(ids, "__len__")
    given = [ids] if single else list(ids)
    array = np.empty(len(given), dtype=object)
    array[:] = given
    return array.reshape(()) if single else array
