"""A sum of trees as flat arrays, for evaluating and exporting them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from podium.numerics.trees.lightgbm_text import Tree, parse_trees

NEVER, ZERO, NAN = range(3)
"""Which values of a feature a node takes for missing."""
_CATEGORICAL, _DEFAULT_LEFT, _MISSING_BITS = 1, 2, 2  # of LightGBM's decision_type


@dataclass(frozen=True, eq=False)
class Forest:
    """A sum of binary trees, their nodes and leaves one after another.

    A document starts at a tree's node 0 and goes left if its value of the node's feature, as float64, is at most the
    threshold. NaN counts as 0 at a node that does not take it for missing, as in LightGBM. The score is the sum of one
    leaf per tree, in the order of the trees. Within a tree, nodes come after their parents.
    """

    n_features: int
    n_trees: int
    node_offsets: np.ndarray
    """(n_trees + 1,) int64: the nodes of tree t are ``node_offsets[t]:node_offsets[t + 1]`` in the arrays below."""
    leaf_offsets: np.ndarray
    """(n_trees + 1,) int64"""
    feature: np.ndarray
    """(n_nodes,) int32"""
    threshold: np.ndarray
    """(n_nodes,) float64; at a categorical node the number of its set in :attr:`category_sets`."""
    left: np.ndarray
    """(n_nodes,) int32: the number of a node within the tree, or ``~`` that of a leaf."""
    right: np.ndarray
    missing: np.ndarray
    """(n_nodes,) uint8: :data:`NEVER`, :data:`ZERO` (within 1e-35) or :data:`NAN` is missing."""
    default_left: np.ndarray
    """(n_nodes,) bool: where missing values go."""
    categorical: np.ndarray
    """(n_nodes,) bool: a whole number in the node's set goes left, everything else right."""
    gain: np.ndarray
    """(n_nodes,) float64"""
    count: np.ndarray
    """(n_nodes,) int64: how many training documents came by."""
    leaf_value: np.ndarray
    """(n_leaves,) float64"""
    leaf_count: np.ndarray
    """(n_leaves,) int64"""
    category_sets: Sequence[np.ndarray] = field(default=())
    """Arrays of int64: the categories that go left."""

    @classmethod
    def of_steps(cls, feature: np.ndarray, threshold: np.ndarray, weight: np.ndarray, n_features: int) -> Forest:
        """Return ``Σ weight · [x[feature] > threshold]`` as trees of two leaves.

        >>> Forest.of_steps(np.array([2]), np.array([0.5]), np.array([1.5]), n_features=3).leaf_value
        array([0. , 1.5])
        """
        n = len(feature)
        return cls(
            n_features=n_features,
            n_trees=n,
            node_offsets=np.arange(n + 1),
            leaf_offsets=np.arange(0, 2 * n + 1, 2),
            feature=np.asarray(feature, np.int32),
            threshold=np.asarray(threshold, np.float64),
            left=np.full(n, ~0, np.int32),
            right=np.full(n, ~1, np.int32),
            missing=np.full(n, NEVER, np.uint8),
            default_left=np.zeros(n, bool),
            categorical=np.zeros(n, bool),
            gain=np.zeros(n),
            count=np.zeros(n, np.int64),
            leaf_value=np.column_stack((np.zeros(n), weight)).ravel(),
            leaf_count=np.zeros(2 * n, np.int64),
        )

    def is_deeper_than(self, depth: int) -> bool:
        """Return whether a tree has more than this many nodes on the way to a leaf."""
        of_node = np.repeat(self.node_offsets[:-1], np.diff(self.node_offsets))
        level = self.node_offsets[:-1][np.diff(self.node_offsets) > 0]
        for _ in range(depth):
            child = np.concatenate((self.left[level], self.right[level]))
            level = (child + np.tile(of_node[level], 2))[child >= 0]
            if not len(level):
                return False
        return len(level) > 0

    def tree(self, t: int) -> Forest:
        """Return one of the trees."""
        nodes, leaves = slice(*self.node_offsets[t : t + 2]), slice(*self.leaf_offsets[t : t + 2])
        by_node = ("feature", "threshold", "left", "right", "missing", "default_left", "categorical", "gain", "count")
        return replace(
            self,
            n_trees=1,
            node_offsets=self.node_offsets[t : t + 2] - self.node_offsets[t],
            leaf_offsets=self.leaf_offsets[t : t + 2] - self.leaf_offsets[t],
            leaf_value=self.leaf_value[leaves],
            leaf_count=self.leaf_count[leaves],
            **{name: getattr(self, name)[nodes] for name in by_node},
        )


def read_forest(text: str) -> Forest:
    """Return the trees in LightGBM's text, settings left out (:func:`podium.numerics.trees.lightgbm_text.bare_text`).

    Raises
    ------
    ValueError
        If the text is anything but a proper sum of trees. It may come from a stranger.
    """
    n_features, trees = parse_trees(text)
    return _forest(n_features, trees)


def _forest(n_features: int, trees: list[Tree]) -> Forest:
    def joined(name: str, dtype: type) -> np.ndarray:
        return np.concatenate([tree.values[name] for tree in trees]).astype(dtype)

    sizes = np.array([(len(tree.values["threshold"]), len(tree.values["leaf_value"])) for tree in trees])
    n_sets = np.array([len(tree.category_sets) for tree in trees])
    kind = joined("decision_type", np.uint8)
    threshold, categorical = joined("threshold", float), kind & _CATEGORICAL > 0
    threshold += np.where(categorical, np.repeat(np.cumsum(n_sets) - n_sets, sizes[:, 0]), 0)
    return Forest(
        n_features=n_features,
        n_trees=len(trees),
        node_offsets=np.concatenate(([0], np.cumsum(sizes[:, 0]))),
        leaf_offsets=np.concatenate(([0], np.cumsum(sizes[:, 1]))),
        feature=joined("split_feature", np.int32),
        threshold=threshold,
        left=joined("left_child", np.int32),
        right=joined("right_child", np.int32),
        missing=kind >> _MISSING_BITS,
        default_left=kind & _DEFAULT_LEFT > 0,
        categorical=categorical,
        gain=joined("split_gain", float),
        count=joined("internal_count", np.int64),
        leaf_value=joined("leaf_value", float),
        leaf_count=joined("leaf_count", np.int64),
        category_sets=[categories for tree in trees for categories in tree.category_sets],
    )
