"""Exporting a model: the functions that users call."""

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from podium.core.atomic import atomic_write
from podium.export.portable import NotExportable
from podium.export.target import Target, feature_list, find, targets

__all__ = ["export", "export_formats", "export_refusals"]

FEATURES = "features.json"


def export(
    model: Any,
    path: str | os.PathLike[str],
    *,
    format: str,
    feature_names: Sequence[str] | None = None,
    **options: str,
) -> list[Path]:
    """Write a fitted ranker in the format of a search engine or another library.

    Parameters
    ----------
    model : fitted ranker
        What to write.
    path : path
        FILE, the model as its engine takes it. Where the engine needs more, FILE.README.md says how to use it and
        FILE.features.json holds the feature set, a template to fill in; one that is there already and lists the same
        features is kept as it is, but for the units of logarithms, which belong to the model.
    format : str
        One of ``podium.export_formats(model)``; ``podium export --list`` explains them.
    feature_names : (n_features,) strings, optional
        What the engine calls the features. By default the names the model was trained with, else ``feature_1``,
        ``feature_2`` and so on.
    **options : str
        Options of the format, such as ``name``, what the engine calls the model.

    Returns
    -------
    list of Path
        The files that were written.

    Raises
    ------
    NotExportable
        A ValueError that says why the format cannot express this model, and what to do instead.

    Examples
    --------
    >>> import podium, tempfile
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=2, random_state=0)
    >>> model = podium.ListNet().fit(queries)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = podium.export(model, f"{folder}/model.json", format="solr")
    >>> [file.name for file in files]
    ['model.json', 'model.json.README.md', 'model.json.features.json']
    """
    path, target = Path(path), find(format)
    checked = _checked(options, target, path)
    prepared = target.prepared(model, feature_names)
    files: dict[Path, str | bytes] = {path: target.write(prepared, checked)}
    for suffix, text in target.companions(prepared, path.name, checked).items():
        files[path.with_name(f"{path.name}.{suffix}")] = text
    written = []
    for file, content in files.items():
        if file.name.endswith(FEATURES) and _same_features(file, content):
            kept = file.read_text(encoding="utf-8")
            content = _refreshed(kept, content, target)
            if content == kept:
                continue
        written.append(file)
        with atomic_write(file, "wb" if isinstance(content, bytes) else "w") as handle:
            handle.write(content)
    return written


def export_formats(model: Any) -> list[str]:
    """Return the names of the formats that a fitted ranker can be exported to.

    Parameters
    ----------
    model : fitted ranker
        What is to be exported.

    Returns
    -------
    list of str
        What :func:`podium.export` takes as ``format``.

    Examples
    --------
    >>> import podium
    >>> queries = podium.make_queries(n_queries=20, n_documents=5, n_features=2, random_state=0)
    >>> "solr" in podium.export_formats(podium.ListNet().fit(queries))
    True
    """
    return [name for name, reason in export_refusals(model).items() if reason is None]


def export_refusals(model: Any) -> dict[str, str | None]:
    """Return for each format why a model cannot be exported to it.

    Parameters
    ----------
    model : ranker
        Fitted or not.

    Returns
    -------
    dict
        The reasons by format, None where it can be exported.

    Examples
    --------
    >>> import podium
    >>> podium.export_refusals(podium.ListNet())["solr"] is None
    True
    >>> print(podium.export_refusals(podium.StructRank())["solr"].partition(",")[0])
    this StructRank rescales features within each query (normalize='minmax')
    """
    reasons: dict[str, str | None] = {}
    for name, target in targets().items():
        try:
            target.prepared(model) if hasattr(model, "model_") else target.require(model)
            reasons[name] = None
        except NotExportable as error:
            reasons[name] = str(error)
    return reasons


def _checked(options: dict[str, str], target: Target, path: Path) -> dict[str, str]:
    for name in options:
        if name not in target.options:
            known = ", ".join(target.options) or "none"
            raise ValueError(f"the format {target.name!r} has no option {name!r}; its options: {known}")
    return {"name": path.name.partition(".")[0], **options} if "name" in target.options else dict(options)


def _same_features(file: Path, template: str | bytes) -> bool:
    """Return whether there is a feature set already, perhaps filled in, for the same features and the same engine."""
    try:
        there, wanted = (_described_features(json.loads(text)) for text in (file.read_text(encoding="utf-8"), template))
    except (OSError, ValueError, KeyError, TypeError, IndexError):
        return False
    same_form = there.outer == wanted.outer and len(there.inner & wanted.inner) > 1  # not the name alone
    return same_form and there.names == wanted.names


class _Features(NamedTuple):
    outer: set[str]
    """Keys around the list of features."""
    inner: set[str]
    """Keys of a feature."""
    names: list[str]


def _described_features(content: Any) -> _Features:
    """Return what a feature set says."""
    features, outer = feature_list(content), set[str]()
    while isinstance(content, dict):
        outer |= content.keys()
        content = content["features"] if "features" in content else content["featureset"]
    return _Features(outer, set(features[0]), [feature["name"] for feature in features])


def _refreshed(kept: str, template: str | bytes, target: Target) -> str:
    """Return a feature set that was filled in, with those numbers in it that belong to the model."""
    there = json.loads(kept)
    features, wanted = feature_list(there), feature_list(json.loads(template))
    new = [target.refreshed(*pair) for pair in zip(features, wanted, strict=True)]
    if new == features:
        return kept
    holder = there
    while isinstance(holder, dict):
        key = "features" if "features" in holder else "featureset"
        if isinstance(holder[key], list):
            holder[key] = new
            break
        holder = holder[key]
    return json.dumps(new if isinstance(there, list) else there, ensure_ascii=False, indent=1) + "\n"


class _Room(ModuleType):
    """The package ``podium.export``, which can be called: ``podium.export(model, path, format=…)``."""

    __call__ = staticmethod(export)


sys.modules["podium.export"].__class__ = _Room
