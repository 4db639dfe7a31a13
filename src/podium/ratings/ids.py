"""Ids of any type, numbered from 0: from ids to numbers and back."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

_NUMBERS, _TEXTS = "iufb", "US"


class Ids:
    """Distinct ids, in order; knows the number of each.

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
        """The number of each id, −1 where it is none of these; of the shape of ``ids``."""
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

    def state(self) -> np.ndarray | str:
        """The ids as an array of numbers or as JSON, for a file."""
        if self.ids.dtype.kind in _NUMBERS:
            return self.ids
        plain = self.ids.tolist()
        if not all(isinstance(x, str | int | float) for x in plain):
            raise ValueError("ids that are neither numbers nor texts cannot be stored in a model file")
        return json.dumps([self.ids.dtype.kind, plain], ensure_ascii=False)

    @classmethod
    def from_state(cls, state: Any) -> Ids:
        """Raises ValueError if no ids can have given this state."""
        if isinstance(state, str):
            kind, plain = json.loads(state)
            if kind not in ("U", "O") or not isinstance(plain, list):
                raise ValueError("the model's ids are not a list of texts or numbers")
            state = np.array(plain, dtype=object if kind == "O" else str)
        if state.ndim != 1 or len(set(state.tolist())) != len(state):
            raise ValueError("the model's ids are not distinct")
        return cls(state)


def _kind(array: np.ndarray) -> str:
    """Ids of different kinds are never equal; comparing them would silently find none."""
    kind = array.dtype.kind
    return "number" if kind in _NUMBERS else "text" if kind in _TEXTS else kind


def _objects(ids: Any) -> np.ndarray:
    """Ids as an array of objects; a tuple or a text is one id, not several."""
    one = isinstance(ids, str | tuple) or not hasattr(ids, "__len__")
    given = [ids] if one else list(ids)
    array = np.empty(len(given), dtype=object)
    array[:] = given
    return array[0:1].reshape(()) if one else array
