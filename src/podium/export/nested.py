"""Trees as nested objects, the form in which most systems read them."""

from collections.abc import Callable
from typing import Any

import numpy as np

from podium.numerics.trees.forest import Forest

Node = dict[str, Any]


def nested_trees(
    forest: Forest,
    split: Callable[[int, int, Node, Node], Node],
    leaf: Callable[[int, int], Node],
) -> list[Node]:
    """Return each tree's root.

    ``split(node, number, left, right)`` and ``leaf(leaf, number)`` make the objects; ``node`` and ``leaf`` are places
    in the forest's arrays, ``number`` those within the tree.
    """
    roots = []
    for tree in range(forest.n_trees):
        first, stop = forest.node_offsets[tree : tree + 2].tolist()
        leaves = int(forest.leaf_offsets[tree])
        made: dict[int, Node] = {}

        def child(number: int, leaves: int = leaves, made: dict[int, Node] = made) -> Node:
            return made.pop(number) if number >= 0 else leaf(leaves + ~number, ~number)

        for node in range(stop - 1, first - 1, -1):  # children come after their parents
            number = node - first
            made[number] = split(node, number, child(int(forest.left[node])), child(int(forest.right[node])))
        roots.append(made[0] if made else leaf(leaves, 0))
    return roots


def evaluate(
    root: Any,
    X: np.ndarray,
    goes_left: Callable[[Any, np.ndarray], np.ndarray],
    children: Callable[[Any], tuple[Any, Any] | None],
    value: Callable[[Any], Any],
) -> np.ndarray:
    """Return the value of the leaf that each of the (n, n_features) rows reaches.

    ``children`` returns the left and the right child, or None for a leaf; ``goes_left(node, rows)`` returns (n,) bool.
    """
    values = np.zeros(len(X), X.dtype)
    waiting = [(root, np.arange(len(X)))]
    while waiting:
        node, rows = waiting.pop()
        both = children(node)
        if both is None:
            values[rows] = value(node)
            continue
        left = goes_left(node, X[rows])
        waiting += [(both[0], rows[left]), (both[1], rows[~left])]
    return values
