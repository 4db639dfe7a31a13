"""What a format says about itself, and the register of formats."""

import difflib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.portable import NotExportable, Portable, Trees, portable, portable_kind

Content = str | bytes
Options = Mapping[str, str]


@dataclass(frozen=True)
class Target:
    """A format that models are exported to. Its functions are pure: :func:`podium.export` writes the files."""

    name: str
    """As in ``format="solr"``."""
    title: str
    """A few words for lists of formats."""
    kinds: tuple[type[Portable], ...]
    """The classes of :mod:`podium.export.portable` that it takes."""
    write: Callable[[Any, Options], Content]
    """``write(model, options)``: the content of FILE."""
    companions: Callable[[Any, str, Options], dict[str, str]] = lambda model, file, options: {}
    """``companions(model, file, options)``: texts by suffix, such as ``README.md`` for FILE.README.md; ``file`` is the
    name of FILE without its folder. ``features.json`` is kept if it exists and lists the same features."""
    refreshed: Callable[[dict[str, Any], dict[str, Any]], dict[str, Any]] = lambda there, wanted: there
    """``refreshed(there, wanted)``: a feature of such a file, with what must be as in this model's template."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Options of :func:`podium.export` by name, each with a line of help. ``name``, what the engine calls the model, is
    that of the file by default."""
    runs: Mapping[str, Callable[[Path, np.ndarray], np.ndarray]] = field(default_factory=dict)
    """``run(path, X)`` by name of what runs: the scores of (n, n_features) rows, computed by the target itself. Raises
    ImportError if it is not installed."""
    emulate: Callable[[Path, np.ndarray], np.ndarray] | None = None
    """``emulate(path, X)``: FILE is read back, and the rows are scored in the engine's own arithmetic."""
    precision: type[np.floating[Any]] = np.float64
    """The type in which the target scores: differences within its rounding are no fault."""
    constant_omitted: bool = False
    """May its scores differ from the model's by a constant, because its linear models have no intercept?"""
    also_takes: tuple[str, ...] = ()
    """Other models that it takes, in words."""
    categorical: bool = False
    """Does it take splits on sets of categories?"""
    zero_is_missing: bool = False
    """Does it take splits that treat zero as missing (LightGBM's ``zero_as_missing``)?"""
    prepare: Callable[[Any, Sequence[str] | None], Any] = portable
    """``prepare(ranker, feature_names)``: what ``write`` is given. A target that takes other models than those of
    :func:`podium.export.portable.portable`, such as models of whole lists, has its own."""
    accepts: Callable[[Any], Any] = portable_kind
    """Like ``prepare`` for rankers that need not be fitted: raise NotExportable if they cannot be exported."""

    @property
    def takes(self) -> str:
        """The kinds of models that it takes, in words."""
        return ", ".join([*(kind.kind for kind in self.kinds), *self.also_takes])

    def prepared(self, ranker: Any, feature_names: Sequence[str] | None = None) -> Any:
        """Return what ``write`` takes; raise NotExportable if this target cannot express the model."""
        self.require(ranker)
        model = self.prepare(ranker, feature_names)
        trees = getattr(model, "body", model)  # ONNX has a class around it
        if isinstance(trees, Trees):
            self._require_splits(trees)
        return model

    def require(self, ranker: Any) -> None:
        """Raise NotExportable if no model of this ranker, which need not be fitted, could be exported."""
        kind = self.accepts(ranker)
        if kind in (*Portable.__args__,) and kind not in self.kinds:
            takes = " and ".join(kind.kind for kind in self.kinds)
            raise NotExportable(
                f"{self.title} takes {takes}; this {type(ranker).__name__} is of the kind {kind.kind!r}. Use another "
                "format, or train a model that learns its scores: "
                "podium.distill(model, queries, student=podium.LambdaMART())"
            )

    def _require_splits(self, model: Trees) -> None:
        forest = model.forest
        if forest.categorical.any() and not self.categorical:
            names = sorted({model.feature_names[j] for j in forest.feature[forest.categorical]})
            raise NotExportable(
                f"{self.title} has no splits on sets of categories, and this model splits on those of "
                f"{', '.join(names)}. Train it on one column per category (0 or 1), or export to "
                f"{' or '.join(name for name, target in targets().items() if target.categorical)}"
            )
        if (forest.missing == ZERO_IS_MISSING).any() and not self.zero_is_missing:
            raise NotExportable(
                f"{self.title} cannot treat zero as missing, as this model does: train it without zero_as_missing"
            )


def feature_list(content: Any) -> list[dict[str, Any]]:
    """Return the features in FILE.features.json: a list of objects with names, or an object with such a list inside."""
    while isinstance(content, dict):
        content = content["features"] if "features" in content else content["featureset"]
    return list(content)


def read_features(path: Path) -> list[dict[str, Any]]:
    """Return the features that are written beside the model in ``path``."""
    return feature_list(json.loads(path.with_name(f"{path.name}.features.json").read_text(encoding="utf-8")))


ZERO_IS_MISSING, NAN_IS_MISSING = 1, 2
"""Values of ``Forest.missing``."""

_OTHER_NAMES = {"sqlite": "sql", "duckdb": "sql", "postgresql": "sql", "onnxruntime": "onnx", "lgbm": "lightgbm"}
"""What users may call a format."""
_targets: dict[str, Target] = {}


def register(target: Target) -> None:
    """Make a format known to :func:`podium.export` and the command line."""
    _targets[target.name] = target


def targets() -> dict[str, Target]:
    """Return all targets by name, in alphabetical order."""
    from podium.export import targets as modules  # noqa: F401  they register themselves when they are imported

    return dict(sorted(_targets.items()))


def find(name: str) -> Target:
    """Return the target of this name; raise ValueError, listing the names there are, if there is none."""
    known = targets()
    if name not in known:
        near = difflib.get_close_matches(name.lower(), [*known, *_OTHER_NAMES], n=1, cutoff=0.5)
        meant = f". Did you mean {_OTHER_NAMES.get(near[0], near[0])}?" if near else ""
        raise ValueError(f"no format named {name!r}; there are {', '.join(known)}{meant}")
    return known[name]
