"""A score as an SQL expression, of standard SQL that SQLite, DuckDB, PostgreSQL and others take.

Missing values are NULL. Two limits shape the text. SQLite's parser gives up on about twenty nested CASEs, so trees are
nested ten deep and written as a list of leaves below; and SQLite and DuckDB refuse expressions more than 1000 deep, so
long sums are sums of sums.
"""

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from podium.export.companions import row_model_companions
from podium.export.missing import goes_left_if_missing
from podium.export.notes import usage
from podium.export.portable import Linear, Trees
from podium.export.requirements import require_package
from podium.export.target import Options, Target, register
from podium.numerics.trees.forest import NEVER, Forest

_NESTED = 10
_DIRECTLY_ADDED = 32


def number(value: float) -> str:
    """Return a literal that databases read as this float64, to the last bit.

    The exponent makes it a floating-point number, not a decimal one. SQLite misreads one number in ten thousand that
    has 16 digits; with 17 it reads all.

    >>> number(0.5), number(0.1 + 0.2), number(-3)
    ('5e-1', '3.0000000000000004e-01', '-3e0')
    """
    short = f"{value:.14e}"
    if float(short) != value:
        return f"{value:.16e}"
    mantissa, _, exponent = short.partition("e")
    return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"


def quoted(name: str) -> str:
    """Return a name of a column or a table as SQL quotes it.

    >>> quoted('rank "old"')
    '"rank ""old\"""'
    """
    return '"' + name.replace('"', '""') + '"'


def linear_expression(weights: np.ndarray, intercept: float, columns: Sequence[str]) -> str:
    """Return the weighted sum; features of weight 0 are left out. ``columns`` are the features, quoted.

    >>> linear_expression(np.array([1.5, 0.0, -2.0]), 0.25, ["a", "b", "c"])
    '1.5e0 * a +\\n-2e0 * c +\\n2.5e-1'
    """
    terms = [f"{number(weights[j])} * {columns[j]}" for j in np.flatnonzero(weights).tolist()]
    if intercept != 0 or not terms:
        terms.append(number(intercept))
    return _joined(terms, " +\n")


def logarithm_expression(unit: float, column: str) -> str:
    """Return sign(x) log(1 + |x| / unit); of NULL it is NULL.

    >>> logarithm_expression(0.5, "a")
    'CASE WHEN a < 0 THEN -LN(1e0 - a / 5e-1) ELSE LN(1e0 + a / 5e-1) END'
    """
    ratio = f"{column} / {number(unit)}"
    return f"CASE WHEN {column} < 0 THEN -LN(1e0 - {ratio}) ELSE LN(1e0 + {ratio}) END"


def forest_expression(forest: Forest, columns: Sequence[str]) -> str:
    """Return the sum of the trees, each a CASE."""
    missing_left = goes_left_if_missing(forest)
    terms = []
    for t in range(forest.n_trees):
        nodes = slice(forest.node_offsets[t], forest.node_offsets[t + 1])
        leaves = forest.leaf_value[forest.leaf_offsets[t] : forest.leaf_offsets[t + 1]]
        conditions = [_condition(forest, i, bool(missing_left[i]), columns) for i in range(nodes.start, nodes.stop)]
        tree = _Tree(conditions, forest.left[nodes].tolist(), forest.right[nodes].tolist(), leaves.tolist())
        terms.append(tree.expression(0 if conditions else ~0, _NESTED))
    return _joined(terms or ["0e0"], " +\n")


def _condition(forest: Forest, node: int, missing_left: bool, columns: Sequence[str]) -> str:
    """Return the condition under which a document goes left; NULL, which does not go left, makes it false or NULL."""
    column = columns[forest.feature[node]]
    if forest.categorical[node]:
        intervals = _intervals(forest.category_sets[int(forest.threshold[node])])
        return f"({' OR '.join(f'{column} {above} AND {column} < {stop}e0' for above, stop in intervals)})"
    if np.isposinf(forest.threshold[node]):  # all values there are go left; only missing ones may not
        return "1 = 1" if missing_left else f"{column} IS NOT NULL"
    at_most = f"{column} <= {number(forest.threshold[node])}"
    return f"({at_most} OR {column} IS NULL)" if missing_left else at_most


def _intervals(categories: np.ndarray) -> Iterator[tuple[str, int]]:
    """Yield runs of consecutive categories, as a comparison with the lowest value and the first value after the run.

    A value counts as its whole part, and so does one between -1 and 0.

    >>> list(_intervals(np.array([0, 1, 4])))
    [('> -1e0', 2), ('>= 4e0', 5)]
    """
    breaks = np.flatnonzero(np.diff(categories) != 1) + 1
    for run in np.split(categories, breaks):
        first, last = int(run[0]), int(run[-1])
        yield (f">= {first}e0" if first > 0 else "> -1e0"), last + 1


class _Tree:
    def __init__(self, conditions: list[str], left: list[int], right: list[int], leaves: list[float]) -> None:
        self.conditions, self.left, self.right = conditions, left, right
        self.leaves = [number(value) for value in leaves]

    def expression(self, node: int, nested: int) -> str:
        if node < 0:
            return self.leaves[~node]
        if nested == 0:
            return self._flat(node)
        then, otherwise = (self.expression(child, nested - 1) for child in (self.left[node], self.right[node]))
        return f"CASE WHEN {self.conditions[node]} THEN {then} ELSE {otherwise} END"

    def _flat(self, root: int) -> str:
        """Return a CASE with one line per leaf, from left to right.

        A document that reaches no leaf further left needs to pass only the conditions that lead left to be in a leaf.
        """
        cases: list[tuple[list[str], str]] = []
        waiting: list[tuple[int, list[str]]] = [(root, [])]
        while waiting:
            node, passed = waiting.pop()
            if node >= 0:
                waiting += [(self.right[node], passed), (self.left[node], [*passed, self.conditions[node]])]
            else:
                cases.append((passed, self.leaves[~node]))
        *others, (_, last) = cases
        lines = (f"WHEN {_joined(passed, ' AND ')} THEN {leaf}" for passed, leaf in others)
        return f"CASE {' '.join(lines)} ELSE {last} END"


def _joined(terms: Sequence[str], operator: str) -> str:
    """Join terms; many of them in groups, so that the expression does not become deep."""
    if len(terms) <= _DIRECTLY_ADDED:
        return operator.join(terms)
    size = math.isqrt(len(terms))
    groups = (operator.join(terms[k : k + size]) for k in range(0, len(terms), size))
    return operator.join(f"({group})" for group in groups)


_ALIAS = "d"
_SQLITE_COLUMNS = 1999
_TITLE = "SQL"
_NULLS = "NULL is a missing value, which the model's trees send to the side chosen in training. NaN is not NULL."
_AS_ZERO = "The model was trained without missing values: NULL counts as 0. NaN is not NULL."
_NO_SCORE = "The model knows no missing values: where a feature is NULL, so is the score."
_LN = (
    "Features with heavy tails are taken as logarithms, LN(x). SQLite has this function if it was compiled with "
    "`SQLITE_ENABLE_MATH_FUNCTIONS`, as the command line's usually is; else register one (Python: "
    '`connection.create_function("LN", 1, math.log, deterministic=True)`).'
)
_QUOTES = (
    "The columns must exist and be numbers. SQLite takes a quoted name that is no column for a text, without an error; "
    "in the form of a query (option `table`) names are bound to the table, and a missing column is an error."
)


def write(model: Linear | Trees, options: Options) -> str:
    table = options.get("table")
    columns = [f"{_ALIAS}.{quoted(name)}" if table else quoted(name) for name in model.feature_names]
    if isinstance(model, Linear):
        if model.logarithms is not None:
            pairs = zip(model.logarithms.tolist(), columns, strict=True)
            columns = [logarithm_expression(unit, column) if unit else column for unit, column in pairs]
        expression = linear_expression(model.weights, model.intercept, columns)
    else:
        expression = forest_expression(model.forest, columns)
    if table:
        return f"SELECT {_ALIAS}.*,\n{expression}\nAS score\nFROM {quoted(table)} AS {_ALIAS}\n"
    return f"{expression}\n"


def companions(model: Linear | Trees, file: str, options: Options) -> dict[str, str]:
    how = usage("sql_query" if "table" in options else "sql_expression", file=file)
    nulls = _NO_SCORE
    if isinstance(model, Trees):
        nulls = _NULLS if (model.forest.missing != NEVER).any() else _AS_ZERO
    notes = [nulls, _QUOTES, *([_LN] if isinstance(model, Linear) and model.logarithms is not None else [])]
    return row_model_companions(model.feature_names, file, "a ranking model for SQL", how, notes)


def run_sqlite(path: Path, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows by SQLite."""
    import sqlite3

    names, query = _question(path)
    if len(names) > _SQLITE_COLUMNS:
        raise ValueError(f"{path} uses {len(names)} features, and a table of SQLite has at most 2000 columns")
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute(f"CREATE TABLE documents (number INTEGER{''.join(f', {name} REAL' for name in names)})")
        places = ", ".join("?" * (len(names) + 1))
        rows = ([None if x != x else x for x in row] for row in X[:, list(names.values())].tolist())
        numbered = ([i, *row] for i, row in enumerate(rows))
        connection.executemany(f"INSERT INTO documents VALUES ({places})", numbered)
        if "LN(" in query:
            _require_ln(connection)
        return _in_order(connection.execute(query).fetchall())


def _require_ln(connection: Any) -> None:
    """Register LN where this SQLite was compiled without mathematical functions."""
    known = connection.execute("SELECT 1 FROM pragma_function_list WHERE name = 'ln'").fetchone()
    if known is None:
        connection.create_function("LN", 1, lambda x: None if x is None else math.log(x), deterministic=True)


def run_duckdb(path: Path, X: np.ndarray) -> np.ndarray:
    """Return the scores of rows by DuckDB."""
    names, query = _question(path)
    with closing(require_package("duckdb", "duckdb").connect()) as connection:
        given = {"number": np.arange(len(X)), **{f"x{j}": np.ascontiguousarray(X[:, j]) for j in names.values()}}
        connection.register("given", given)
        columns = ", ".join(f"CASE WHEN isnan(x{j}) THEN NULL ELSE x{j} END AS {name}" for name, j in names.items())
        connection.execute(f"CREATE TABLE documents AS SELECT number{', ' * bool(columns)}{columns} FROM given")
        return _in_order(connection.execute(query).fetchall())


def _question(path: Path) -> tuple[dict[str, int], str]:
    """Return the columns that FILE uses, by quoted name, and a query for the number and the score of each document."""
    text = path.read_text(encoding="utf-8")
    features = json.loads(path.with_name(f"{path.name}.features.json").read_text(encoding="utf-8"))
    names = {quoted(feature["name"]): column for column, feature in enumerate(features)}
    used = {name: column for name, column in names.items() if name in text}
    if text.startswith("SELECT "):
        head, _, _ = text.rpartition("\nFROM ")
        return used, f"SELECT number, score FROM ({head}\nFROM documents AS {_ALIAS})"
    return used, f"SELECT number, ({text}) FROM documents"


def _in_order(rows: Sequence[tuple[int, Any]]) -> np.ndarray:
    scores = np.full(len(rows), np.nan)
    for number, score in rows:
        scores[number] = np.nan if score is None else score
    return scores


register(
    Target(
        name="sql",
        title=_TITLE,
        kinds=(Linear, Trees),
        write=write,
        companions=companions,
        options={"table": "write a query for all rows of this table, not an expression"},
        runs={"SQLite": run_sqlite, "DuckDB": run_duckdb},
        categorical=True,
    )
)
