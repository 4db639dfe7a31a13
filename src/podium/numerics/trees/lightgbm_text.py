"""The text format of LightGBM's models, checked before anything evaluates it.

LightGBM trusts its files: a child or feature number out of range would make it, or compiled code of ours, read memory
outside the model. So text is parsed here first, and only numbers that form proper trees are accepted.
"""

import re
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from podium.core.arrays import require_moderate

END = "end of trees\n"
_HEADER = {"version": "v4", "num_class": "1", "num_tree_per_iteration": "1", "label_index": "0"}
_BY_NODE = ("split_feature", "split_gain", "threshold", "decision_type", "left_child", "right_child")
_BY_NODE_TOO = ("internal_value", "internal_weight", "internal_count")
_BY_LEAF = ("leaf_value", "leaf_weight", "leaf_count")
_WHOLE = {"split_feature", "decision_type", "left_child", "right_child", "leaf_count", "internal_count"}
# Possessive quantifiers never go back, so a hostile text costs no more time than another.
_REALS = re.compile(r"(?:-?(?:inf|\d++)(?:\.\d++)?+(?:[eE][+-]?\d++)?+(?: ++|$))*+", re.ASCII)
_WHOLES = re.compile(r"(?:-?\d{1,15}+(?: ++|$))*+", re.ASCII)
_CATEGORICAL = 1
"""The bit of ``decision_type`` that marks a set of categories; the others say where missing values go."""


class Tree(NamedTuple):
    """One tree as the text has it."""

    values: dict[str, np.ndarray]
    """Its arrays by LightGBM's names: ``split_feature``, ``threshold``, ``leaf_value`` and so on."""
    category_sets: list[np.ndarray]
    """The categories that go left, one array per set."""


def bare_text(text: str) -> str:
    """Return the trees alone, without the settings they were grown with and the sizes that only speed up reading."""
    head, end, _ = text.partition(END)
    return "".join(line for line in head.splitlines(keepends=True) if not line.startswith("tree_sizes=")) + end


def constant_text(n_features: int, value: float) -> str:
    """Return the text of a single tree with a single leaf."""
    header = {**_HEADER, "max_feature_idx": n_features - 1}
    header |= {"feature_names": " ".join(f"Column_{j}" for j in range(n_features))}
    header |= {"feature_infos": " ".join(["none"] * n_features)}
    tree = {"num_leaves": 1, "num_cat": 0, **dict.fromkeys((*_BY_NODE, *_BY_NODE_TOO), "")}
    tree |= {"leaf_value": repr(value), "leaf_weight": 0, "leaf_count": 0, "is_linear": 0, "shrinkage": 1}
    lines = ["tree", *(f"{k}={v}" for k, v in header.items()), "", "Tree=0", *(f"{k}={v}" for k, v in tree.items())]
    return "\n".join([*lines, "", "", END])


def joined_text(first: str, second: str) -> str:
    """Return the bare text of the sum of two models of the same features."""
    head, *trees = first.removesuffix(END).split("Tree=")
    trees += second.removesuffix(END).split("Tree=")[1:]
    numbered = (f"Tree={k}\n{tree.partition(chr(10))[2]}" for k, tree in enumerate(trees))
    return "".join([head, *numbered, END])


def mean_text(texts: Sequence[str]) -> str:
    """Return the bare text of the mean of several models of the same features: all trees, with smaller values."""
    return reduce(joined_text, [divided_text(text, len(texts)) for text in texts])


def divided_text(text: str, by: int) -> str:
    """Return the bare text of the same trees with values divided by a number."""
    return re.sub(_VALUES, lambda found: _divided(found, by), text)


_VALUES = re.compile(r"^(leaf_value|internal_value)=(.*)$", re.MULTILINE)


def _divided(found: re.Match[str], by: int) -> str:
    return f"{found[1]}={' '.join(repr(float(value) / by) for value in found[2].split())}"


def parse_trees(text: str) -> tuple[int, list[Tree]]:
    """Return the number of features and the trees in :func:`bare_text` of a model; raise ValueError for other text."""
    if not re.fullmatch(r"[\n\x20-\x7e]*", text):  # Python and C++ disagree on what else ends a line or a word
        raise ValueError("the model's trees hold characters that LightGBM does not write")
    body, end, rest = text.partition(END)
    if not end or rest:
        raise ValueError("the model's trees are cut off, or followed by something else")
    header, *trees = body.split("Tree=")
    facts = _pairs(header.removeprefix("tree\n"), "header")
    if not header.startswith("tree\n"):
        raise ValueError("the model's trees do not begin as LightGBM's do")
    for name, value in _HEADER.items():
        if facts.pop(name, None) != value:
            raise ValueError(f"the model's trees must have {name}={value}")
    n_features = _whole(facts.pop("max_feature_idx", ""), "max_feature_idx") + 1
    if n_features < 1 or not trees:
        raise ValueError("the model has no features, or no trees")
    for name in ("feature_names", "feature_infos"):
        if len(facts.pop(name, "").split()) != n_features:
            raise ValueError(f"the model's {name} are not {n_features}")
    if len(_numbers(facts.pop("monotone_constraints", "0 " * n_features), "monotone_constraints", True)) != n_features:
        raise ValueError(f"the model's monotone_constraints are not {n_features}")
    if facts:
        raise ValueError(f"the model's trees have an unknown {next(iter(facts))!r}")
    parsed = []
    for k, tree in enumerate(trees):
        number, _, fields = tree.partition("\n")
        if number != str(k):
            raise ValueError(f"tree {k} of the model is numbered {number!r}")
        parsed.append(_parse_tree(_pairs(fields, f"tree {k}"), n_features, f"tree {k} of the model"))
    return n_features, parsed


def _parse_tree(fields: dict[str, str], n_features: int, where: str) -> Tree:
    n_leaves = _whole(fields.pop("num_leaves", ""), f"{where}: num_leaves")
    n_sets = _whole(fields.pop("num_cat", ""), f"{where}: num_cat")
    if n_leaves < 1 or n_sets < 0 or fields.pop("is_linear", "0") != "0":
        raise ValueError(f"{where} is not one that Podium makes")
    _numbers(fields.pop("shrinkage", "1"), f"{where}: shrinkage", False)
    values: dict[str, np.ndarray] = {}
    for name in (*_BY_NODE, *_BY_NODE_TOO, *_BY_LEAF):
        values[name] = _numbers(fields.pop(name, ""), f"{where}: {name}", name in _WHOLE)
        expected = n_leaves if name in _BY_LEAF else n_leaves - 1
        # A split between missing values, or infinite ones, and all others has an infinite threshold.
        if name != "threshold" and not np.isfinite(values[name]).all():
            raise ValueError(f"{where}: {name} holds a number that is not finite")
        if name == "leaf_value":
            require_moderate(f"{where}: {name}", values[name])
        if n_leaves == 1 and name in ("leaf_weight", "leaf_count") and not len(values[name]):
            values[name] = np.zeros(1)  # LightGBM writes neither for a tree that is a constant
        if len(values[name]) != expected:
            raise ValueError(f"{where} has {len(values[name])} entries of {name}; {expected} are expected")
    sets = _parse_sets(fields, values, n_sets, where)
    if fields:
        raise ValueError(f"{where} has an unknown {next(iter(fields))!r}")
    features = values["split_feature"]
    if ((features < 0) | (features >= n_features)).any():
        raise ValueError(f"{where} splits on a feature that does not exist")
    _check_shape(values["left_child"], values["right_child"], n_leaves, where)
    return Tree(values, sets)


def _check_shape(left: np.ndarray, right: np.ndarray, n_leaves: int, where: str) -> None:
    """Check that every node but the root and every leaf (−1, −2, …) has one parent, before it in the list."""
    children = np.concatenate((left, right))
    expected = np.concatenate((-np.arange(n_leaves, 0, -1), np.arange(1, n_leaves - 1)))
    parents = np.tile(np.arange(n_leaves - 1), 2)
    if n_leaves > 1 and not (
        np.array_equal(np.sort(children), expected) and (children[children >= 0] > parents[children >= 0]).all()
    ):
        raise ValueError(f"{where} is not a tree")


def _parse_sets(fields: dict[str, str], values: dict[str, np.ndarray], n_sets: int, where: str) -> list[np.ndarray]:
    """Return the sets of categories: bits in words of 32, those of set c from ``bounds[c]`` to ``bounds[c + 1]``."""
    kinds, thresholds = values["decision_type"], values["threshold"]
    if ((kinds < 0) | (kinds >= 12)).any():
        raise ValueError(f"{where} has an unknown kind of split")
    chosen = thresholds[kinds & _CATEGORICAL == 1]
    if ((chosen < 0) | (chosen >= n_sets) | (chosen != np.floor(chosen))).any():
        raise ValueError(f"{where} splits on a set of categories that does not exist")
    if n_sets == 0:
        return []
    bounds = _numbers(fields.pop("cat_boundaries", ""), f"{where}: cat_boundaries", True)
    words = _numbers(fields.pop("cat_threshold", ""), f"{where}: cat_threshold", True)
    if len(bounds) != n_sets + 1 or bounds[0] != 0 or (np.diff(bounds) < 1).any() or bounds[-1] != len(words):
        raise ValueError(f"{where} has sets of categories that do not fit together")
    if ((words < 0) | (words >= 2**32)).any():
        raise ValueError(f"{where} has an invalid set of categories")
    bits = np.unpackbits(words.astype("<u4").view(np.uint8), bitorder="little")
    return [np.flatnonzero(bits[32 * first : 32 * stop]) for first, stop in pairwise(bounds.tolist())]


def _pairs(text: str, where: str) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for line in text.splitlines():
        name, equals, value = line.partition("=")
        if not line:
            continue
        if not equals or name in pairs:
            raise ValueError(f"the model's {where} has a line that LightGBM does not write: {line[:40]!r}")
        pairs[name] = value
    return pairs


def _whole(text: str, where: str) -> int:
    values = _numbers(text, where, True)
    if len(values) != 1:
        raise ValueError(f"{where} is not one whole number")
    return int(values[0])


def _numbers(text: str, where: str, whole: bool) -> np.ndarray:
    """Return numbers separated by spaces; raise ValueError for anything that Python and C++ may read differently."""
    text = text.rstrip(" ")
    if not (_WHOLES if whole else _REALS).fullmatch(text):
        raise ValueError(f"{where} holds something that is not a number")
    values = np.fromstring(text, sep=" ") if text else np.empty(0)
    return values.astype(np.int64) if whole else values
