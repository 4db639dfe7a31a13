"""Saved models: one file of JSON and plain arrays. Loading a stranger's file runs no code.

The file (see :mod:`podium.files.archive`) holds the ranker's class, its parameters and the result of fitting.
"""

import os
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from podium.core.arrays import Arrays, require_moderate
from podium.files.archive import ModelFileError, malformed, read_archive, write_archive
from podium.files.header import FORMAT, FORMAT_VERSION, check_header
from podium.files.parameters import Decoder, encode_object, is_all_ours, part_names
from podium.files.provenance import origin

__all__ = ["MissingPartsError", "ModelFileError", "load", "save"]


class Savable(Protocol):
    """The protocol of objects that can be saved: their parameters, and the result of fitting."""

    def get_params(self, deep: bool = True) -> dict[str, Any]: ...

    def _require_fitted(self) -> None: ...

    def _stored_fit(self) -> tuple[dict[str, Any], Arrays]:
        """Return the result of fitting: JSON, and arrays and texts by name."""
        ...

    def _restore_fit(self, fitted: dict[str, Any], arrays: Arrays) -> None:
        """Become the ranker that :meth:`_stored_fit` describes."""
        ...


class MissingPartsError(ModelFileError):
    """The file names classes or functions of the user's that were not supplied."""

    def __init__(self, message: str, names: list[str]) -> None:
        super().__init__(message)
        self.names = names


def save(
    ranker: Savable,
    path: str | os.PathLike[str],
    *,
    dataset: str | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> None:
    """Write a fitted ranker to one file, whole or not at all.

    Classes and functions of the user's own are named in the file as ``module:name``; :func:`load` has to be given them.

    Parameters
    ----------
    ranker : a fitted ranker
    path : path
    dataset : str, optional
        A name, a version or a fingerprint of the training data, kept with the other facts of its origin.
    provenance : mapping, optional
        Further facts of its origin, as plain values that JSON can hold.

    Raises
    ------
    ValueError
        If a part could not be named: a lambda, a local function, a class defined in a notebook. Or if a parameter is
        not finite, or larger in size than 1e100: such a file could not be loaded.
    """
    ranker._require_fitted()
    described = encode_object(ranker)
    fitted, content = ranker._stored_fit()
    if is_all_ours(described):  # other classes may store what they like
        _require_moderate(content)
    header = {
        "format": FORMAT,
        "version": FORMAT_VERSION,
        **described,
        "fitted": fitted,
        "provenance": origin(getattr(ranker, "provenance_", None), dataset, provenance),
    }
    write_archive(path, header, content)


def _require_moderate(content: Arrays) -> None:
    try:
        for name, value in content.items():
            if isinstance(value, np.ndarray) and value.dtype == np.float64:
                require_moderate(name, value)
    except ValueError as error:
        raise ValueError(
            f"the model cannot be saved, since no file like it is loaded: {error}. Features of moderate size, such as "
            "those that are standardized, lead to moderate parameters"
        ) from None


def require_savable(ranker: Savable) -> None:
    """Raise ValueError, saying why and what to do, if a ranker could not be saved once it is fitted."""
    encode_object(ranker)


def load(path: str | os.PathLike[str], *, parts: Mapping[str, Any] | None = None, **supplied: Any) -> Any:
    """Return the fitted ranker in a file that ``save`` wrote; its predictions are the same to the last bit.

    The file's facts about its origin are in the ranker's ``provenance_``. Nothing is imported on the file's behalf.

    Parameters
    ----------
    path : path
        The file.
    parts : mapping, optional
        The classes and functions of your own that the file names: ``{"mine:Loss": Loss}``.
    **supplied : Any
        Code that has no name: ``module=``, the PyTorch module of the ``Torch`` scorer, of the same architecture as the
        one that was trained. Its weights come from the file; the module given is left as it is.

    Returns
    -------
    ranker
        Fitted, as it was saved.

    Raises
    ------
    ModelFileError
        A ValueError that names the file and says what is wrong with it.

    Examples
    --------
    >>> import podium, tempfile
    >>> queries, path = podium.make_queries(n_queries=20, n_documents=5, n_features=3), f"{tempfile.mkdtemp()}/model"
    >>> ranker = podium.ListNet(l2=0.1).fit(queries)
    >>> ranker.save(path, dataset="20 queries")
    >>> loaded = podium.load(path)
    >>> (loaded.predict(queries) == ranker.predict(queries)).all(), loaded.l2, loaded.provenance_["dataset"]
    (np.True_, 0.1, '20 queries')
    """
    header, content = read_archive(path)
    try:
        check_header(header)
        _require_parts(header, parts or {})
        decoder = Decoder(parts or {}, supplied)
        ranker = decoder.object(header)
        if unused := supplied.keys() - decoder.used:
            raise ValueError(f"it has no use for {', '.join(sorted(unused))}")
        ranker._restore_fit(header["fitted"], content)
    except MissingPartsError as error:
        raise MissingPartsError(f"{path}: {error}", error.names) from None
    except Exception as error:  # whatever a damaged file leads to: there is one error for it
        raise malformed(path, error) from error
    ranker.provenance_ = header.get("provenance", {})
    return ranker


def _require_parts(header: dict[str, Any], parts: Mapping[str, Any]) -> None:
    named = part_names({"class": header["class"], "parameters": header["parameters"]})
    missing = [name for name in dict.fromkeys(named) if name not in parts]
    if missing:
        imports = "; ".join("from {} import {}".format(*name.partition(":")[::2]) for name in missing)
        wanted = ", ".join(f"{name!r}: {name.rpartition(':')[2]}" for name in missing)
        raise MissingPartsError(
            f"it names code that is not Podium's, and load imports nothing: {imports}, "
            f"then podium.load(path, parts={{{wanted}}})",
            missing,
        )
