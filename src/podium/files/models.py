"""Saved models: one file of JSON and plain arrays. Loading a stranger's file runs no code.

The file (see :mod:`podium.files.archive`) says the class, its parameters and what fitting gave. Classes are looked up
among those that Podium exports, never imported by name.
"""

from __future__ import annotations

import math
import os
import platform
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.core.parameters import Parameterized
from podium.files.archive import ModelFileError, read_archive, require_plain, write_archive
from podium.version import __version__

if TYPE_CHECKING:
    from podium.rankers.estimator import BaseRanker
    from podium.ratings.estimator import RatingRanker

__all__ = ["ModelFileError", "load", "save"]

FORMAT, FORMAT_VERSION = "podium model", 1


def save(ranker: BaseRanker | RatingRanker, path: str | os.PathLike[str], *, dataset: str | None = None) -> None:
    """Write a fitted ranker to one file; whole or not at all.

    ``dataset`` (a name, a version, a fingerprint) is kept with the other facts of its making.

    Raises ValueError if it has parts that are not Podium's own, since no file could bring those back.
    """
    ranker._require_fitted()
    fitted, state = ranker._fitted_state()
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        "class": _registered_name(type(ranker)),
        "parameters": {name: _encode(value, name) for name, value in ranker.get_params(deep=False).items()},
        "fitted": fitted,
        "provenance": {
            "podium": __version__,
            "python": platform.python_version(),
            "numpy": np.__version__,
            "saved": datetime.now(UTC).isoformat(timespec="seconds"),
            "dataset": dataset,
        },
    }
    write_archive(path, header, state)


def load(path: str | os.PathLike[str], **supplied: Any) -> Any:
    """The fitted ranker in a file that ``save`` wrote. Its predictions are the same to the last bit.

    What the file says about its making is in the ranker's ``provenance_``.

    Parameters
    ----------
    path : path
    **supplied
        What is code and therefore not in the file: ``module=``, the PyTorch module of the ``Torch`` scorer, of the same
        architecture as the one that was trained. Its weights come from the file; the module given is left as it is.

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what is wrong with it.
    """
    header, state = read_archive(path)
    try:
        _check_header(header)
        ranker = _lookup(header["class"])(**{name: _decode(v, supplied) for name, v in header["parameters"].items()})
        if supplied:
            raise ValueError(f"it has no use for {', '.join(supplied)}")
        ranker._restore_fitted(header["fitted"], state)
    except KeyError as error:
        raise ModelFileError(f"{path}: model.json lacks {error}") from None
    except (ValueError, TypeError, AttributeError) as error:
        raise ModelFileError(f"{path}: {error}") from None
    ranker.provenance_ = header.get("provenance", {})
    return ranker


def _check_header(header: dict[str, Any]) -> None:
    if header.get("format") != FORMAT:
        raise ValueError("its model.json is not that of a Podium model")
    version = header.get("version")
    if not isinstance(version, int) or version < 1:
        raise ValueError(f"its format version is {version!r}")
    if version > FORMAT_VERSION:
        raise ValueError(
            f"made by a newer Podium (format {version}; this is Podium {__version__}, format {FORMAT_VERSION}): "
            "upgrade podium to load it"
        )
    for name in ("parameters", "fitted"):
        if not isinstance(header.get(name), dict):
            raise KeyError(name)


@cache
def _classes() -> dict[str, type]:
    """The classes a file may name: the rankers, losses, scorers and trainers that Podium exports."""
    from podium import losses, rankers, ratings, scorers, training
    from podium.losses.base import Loss
    from podium.rankers.estimator import BaseRanker
    from podium.ratings.estimator import RatingRanker
    from podium.scorers.base import Scorer
    from podium.training.base import Trainer

    bases = {
        losses: (Loss,),
        rankers: (BaseRanker,),
        ratings: (RatingRanker,),
        scorers: (Scorer,),
        training: (Trainer,),
    }
    return {
        name: value
        for module, family in bases.items()
        for name in module.__all__
        if isinstance(value := getattr(module, name), type) and issubclass(value, family) and value not in family
    }


def _registered_name(cls: type) -> str:
    if _classes().get(cls.__name__) is not cls:
        raise ValueError(
            f"{cls.__module__}.{cls.__qualname__} is not part of Podium, so a saved model could not be loaded again; "
            "keep its parameters and coef_ yourself"
        )
    return cls.__name__


def _lookup(name: Any) -> Any:
    if not isinstance(name, str) or name not in _classes():
        raise ValueError(f"it names the class {name!r}, which this version of Podium ({__version__}) does not have")
    return _classes()[name]


def _encode(value: Any, name: str) -> Any:
    """A parameter as JSON."""
    from podium.metrics import Metric
    from podium.ratings.estimator import RatingRanker

    if isinstance(value, np.random.Generator | np.random.RandomState):
        return None  # a generator has moved on since training; it could not repeat it anyway
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else {"float": repr(value)}
    if isinstance(value, tuple | list):
        items = [_encode(item, name) for item in value]
        return items if isinstance(value, list) else {"tuple": items}
    if isinstance(value, dict):
        return {"dict": [[_encode(k, name), _encode(v, name)] for k, v in value.items()]}
    if isinstance(value, np.ndarray) and value.dtype.kind in "iufb":
        return {"array": value.tolist(), "dtype": value.dtype.str}
    if isinstance(value, Metric):
        return {"metric": str(value)}
    if isinstance(value, Parameterized | RatingRanker):
        code = getattr(value, "supplied_when_loading", ())
        inner = {
            key: {"supplied": key} if key in code else _encode(v, f"{name}.{key}")
            for key, v in value.get_params(deep=False).items()
        }
        return {"class": _registered_name(type(value)), "parameters": inner}
    raise ValueError(f"the parameter {name} is {value!r}, which cannot be stored in a model file")


def _decode(value: Any, supplied: dict[str, Any]) -> Any:
    """A parameter from JSON; what is not in the file is taken out of ``supplied``."""
    if isinstance(value, list):
        return [_decode(item, supplied) for item in value]
    if not isinstance(value, dict):
        return value
    if "class" in value:
        return _lookup(value["class"])(**{key: _decode(v, supplied) for key, v in value["parameters"].items()})
    if "tuple" in value:
        return tuple(_decode(value["tuple"], supplied))
    if "dict" in value:
        return {_decode(k, supplied): _decode(v, supplied) for k, v in value["dict"]}
    if "array" in value:
        return np.array(value["array"], dtype=require_plain(np.dtype(value["dtype"])))
    if "metric" in value:
        from podium.metrics import metric

        return metric(value["metric"])
    if "float" in value and value["float"] in ("inf", "-inf", "nan"):
        return float(value["float"])
    if "supplied" in value:
        name = value["supplied"]
        if name not in supplied:
            raise ValueError(f"its {name} is code, which a model file does not hold: load(path, {name}=...)")
        return supplied.pop(name)
    raise ValueError(f"a parameter is of an unknown kind: {', '.join(map(repr, value))}")
