"""What a feature is called, wherever one is shown: its name, or its number as files count them, from 1."""

from collections.abc import Sequence
from typing import Any


def feature_name(column: int, names: Sequence[Any] | Any | None = None) -> str:
    """Return what to call the feature in a column (from 0): its name if there are names, else ``feature 1``, ….

    >>> feature_name(0), feature_name(1, ["bm25", "age"])
    ('feature 1', 'age')
    """
    return f"feature {column + 1}" if names is None else str(names[column])


def term_name(column: int, names: Sequence[Any] | Any | None, log_scale: Sequence[float] | Any | None) -> str:
    """Return what to call the term of a score that a feature makes: its name, or its logarithm if it has a unit.

    >>> term_name(0, ["clicks", "age"], [0.5, 0.0]), term_name(1, ["clicks", "age"], [0.5, 0.0])
    ('log(clicks)', 'age')
    """
    name = feature_name(column, names)
    return name if log_scale is None or log_scale[column] == 0 else f"log({name})"


def feature_identifier(column: int, names: Sequence[Any] | Any | None = None) -> str:
    """Return the same as one word, for columns of tables and for other programs: ``feature_1``, ….

    >>> feature_identifier(0), feature_identifier(1, ["bm25", "age"])
    ('feature_1', 'age')
    """
    return f"feature_{column + 1}" if names is None else str(names[column])
