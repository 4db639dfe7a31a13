"""A run on disk: one SQLite file with every finished trial and result, so that nothing computed is lost.

    FOLDER/run.sqlite   study       the configuration of the last study, when and on what it ran, where its data are
                        trials      one row per fit: parameters, seed, validation value, seconds
                        scores      its scores of the validation and the test part; after the selection, only those of
                                    the selected trial stay
                        results     one row per method, fold and seed: the selected trial, its values on the test part
                        selections  the trials that each result was selected from
                        test_parts  the test queries that scores belong to
                        explanations  contributions of features to some scores of the chosen method

The key of a trial or result is a digest of all that determines it. So a run that was killed goes on where it was,
adding a method computes only that method, and a changed question (other data, seed, code …) never meets old answers.
Each trial is written in a transaction of its own. The rollback journal is kept rather than a write-ahead log: a run
stays one file, on network drives too, and writes are rare. Arrays are stored as ``.npz`` without pickle.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import sqlite3
import weakref
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from importlib import resources
from pathlib import Path
from typing import Any, Self

import numpy as np

from podium.experiments.plan.configuration import Configuration, plain_parameters
from podium.experiments.run.explaining import ExplainedPart
from podium.experiments.run.outcomes import ModelSummary, Result, ResultArrays, TestPart, Trial
from podium.experiments.run.seal import SealError
from podium.experiments.run.surroundings import surroundings

FILE = "run.sqlite"
_APPLICATION = 0x506F6469  # says in the file's header whose it is
_VERSION = 2
_SCORES = ("validation_scores", "test_scores")
_TRIAL = [field.name for field in fields(Trial) if field.name not in (*_SCORES, "model")]
_RESULT = ("method", "fold", "seed", "error", "traceback", "trial", "seconds", "search_seconds", "test_fingerprint")


class Store:
    """The trials and results of a run.

    Parameters
    ----------
    path : path
        The file, or ``:memory:``.
    configuration : Configuration, optional
        Whose trials and results are looked up; by default that of the last study in the file.
    create : bool
        Make the file if there is none.
    """

    def __init__(
        self, path: str | os.PathLike[str], configuration: Configuration | None = None, *, create: bool = False
    ) -> None:
        self.path = Path(path)
        self._parts: dict[str, TestPart] = {}
        if str(path) == ":memory:":
            self._database = sqlite3.connect(":memory:", check_same_thread=False)
            create = True
        else:
            if create:
                self.path.parent.mkdir(parents=True, exist_ok=True)
            uri = f"{self.path.absolute().as_uri()}?mode={'rwc' if create else 'rw'}"
            with self._errors():
                self._database = sqlite3.connect(uri, uri=True, timeout=60.0, check_same_thread=False)
        # The garbage may be collected in any thread, such as one of Dask's.
        self._database.row_factory = sqlite3.Row
        weakref.finalize(self, self._database.close)
        self._configuration = configuration
        self._check(create)

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Return the store of a run's folder, for its last study; raise ValueError if there is none."""
        path = Path(folder) / FILE
        if not path.is_file():
            raise ValueError(f"{folder} is not the folder of a comparison: there is no {FILE} in it")
        return cls(path)

    def in_memory(self, configuration: Configuration | None = None) -> Store:
        """Return a copy that needs no file, perhaps for another configuration."""
        copy = Store(":memory:", configuration or self._configuration)
        with self._errors():
            self._database.backup(copy._database)
        return copy

    def close(self) -> None:
        self._database.close()

    # ---- the study

    @property
    def configuration(self) -> Configuration:
        """Whose trials and results are looked up."""
        if self._configuration is None:
            last = self.last_study()
            if last is None:
                raise ValueError(f"{self.path} has no study in it")
            self._configuration = last[0]
        return self._configuration

    def last_study(self) -> tuple[Configuration, dict[str, Any]] | None:
        """Return the configuration and the facts that the last study in this file left, if there was one."""
        row = self._row("SELECT configuration, facts FROM study")
        if row is None:
            return None
        try:
            return Configuration.from_dict(json.loads(row[0])), json.loads(row[1])
        except (ValueError, KeyError, TypeError) as error:
            raise self._damaged(error) from None

    def describe(self, **facts: Any) -> None:
        """Store the configuration, what it runs on, and the given facts (status, times, where the data are)."""
        values = json.dumps(self.configuration.to_dict(), default=repr), json.dumps(facts | surroundings())
        with self._transaction() as database:
            database.execute("INSERT OR REPLACE INTO study VALUES (1, ?, ?)", values)

    # ---- trials

    def trial(self, key: str) -> Trial | None:
        """Return a stored trial without its scores; None if there is none."""
        row = self._row("SELECT * FROM trials WHERE key = ?", key)
        return None if row is None else _trial(row)

    def trial_with_scores(self, key: str) -> Trial | None:
        """Return a stored trial with its scores; None if there is none, or if the scores were dropped."""
        row = self._row("SELECT trials.*, arrays FROM trials JOIN scores ON trial = key WHERE key = ?", key)
        return None if row is None else _trial(row, self._unpack(row["arrays"]))

    def add_trial(self, key: str, trial: Trial) -> None:
        """Store a trial and its scores, in place of one that failed."""
        plain = {name: getattr(trial, name) for name in _TRIAL}
        plain["parameters"] = json.dumps(plain_parameters(trial.parameters))
        plain |= {name: json.dumps(plain[name]) for name in ("warnings", "carried")}
        values = trial.validation_values
        plain["validation_values"] = None if values is None else values.astype("<f8").tobytes()
        with self._transaction() as database:
            database.execute("DELETE FROM scores WHERE trial = ?", (key,))
            marks = _marks(len(plain) + 1)
            database.execute(f"INSERT OR REPLACE INTO trials VALUES ({marks})", (key, *plain.values()))
            scores = {name: getattr(trial, name) for name in _SCORES if getattr(trial, name) is not None}
            if scores:
                many_alike = any(np.isneginf(values).any() for values in scores.values())
                arrays = _pack(scores | _filled(trial.model), compress=many_alike)
                database.execute("INSERT INTO scores VALUES (?, ?)", (key, arrays))

    def drop_scores(self, keys: Iterable[str]) -> None:
        """Forget the scores of trials, except those that a result has selected."""
        with self._transaction() as database:
            database.executemany(
                "DELETE FROM scores WHERE trial = ?1 AND NOT EXISTS (SELECT 1 FROM results WHERE results.trial = ?1)",
                [(key,) for key in keys],
            )

    # ---- results

    def result(self, method: str, fold: str, seed: int) -> Result | None:
        """Return the stored result of a method under the configuration, failed or not."""
        key = self.configuration.result_key(method, fold, seed)
        row = self._row("SELECT * FROM results WHERE key = ?", key)
        if row is None:
            return None
        if row["error"] is not None:
            return Result(method, fold, seed, row["error"], row["traceback"])
        query = "SELECT trials.* FROM selections JOIN trials ON trial = key WHERE result = ? ORDER BY selections.number"
        trials = {tried["key"]: _trial(tried) for tried in self._rows(query, key)}
        chosen = trials[row["trial"]]
        values = self._unpack(row["metrics"])
        qids = values.pop("qid").tolist()
        return Result(
            *(method, fold, seed),
            parameters=chosen.parameters,
            validation=None if math.isnan(chosen.validation) else chosen.validation,
            trials=list(trials.values()),
            warnings=chosen.warnings,
            qids=qids,
            per_query={name: column.tolist() for name, column in values.items()},
            **{name: row[name] for name in ("trial", "seconds", "search_seconds", "test_fingerprint")},
        )

    def results(self) -> list[Result]:
        """Return the results of all methods, folds and seeds; one that is missing counts as failed."""
        configuration = self.configuration
        keys = [
            (m, f, s)
            for m in configuration.methods
            for f in configuration.data.folds
            for s in configuration.seeds_of(m)
        ]
        return [self.result(*key) or Result(*key, error="not finished") for key in keys]

    def add_failure(self, result: Result) -> None:
        """Store why a method failed."""
        key = self.configuration.result_key(*result.key)
        with self._transaction() as database:
            self._insert_result(database, key, result, None, None, None)

    def add_result(self, result: Result, trials: Iterable[str], part: TestPart, curve: np.ndarray) -> None:
        """Store a result, and the keys of the trials it was selected from. One that is there stays.

        Raises
        ------
        SealError
            If there is one: a test part is judged once.
        """
        key = self.configuration.result_key(*result.key)
        if self._row("SELECT 1 FROM results WHERE key = ? AND error IS NULL", key) is not None:
            raise SealError(f"{result.method}, {result.fold}, seed {result.seed}: judged already in {self.path}")
        arrays = _pack(_filled(part), compress=True)
        digest = hashlib.blake2b(arrays, digest_size=10).hexdigest()
        metrics = _pack(
            {"qid": np.array(result.qids, np.str_), **{m: np.array(v) for m, v in result.per_query.items()}}
        )
        with self._transaction() as database:
            database.execute("INSERT OR IGNORE INTO test_parts VALUES (?, ?)", (digest, arrays))
            self._insert_result(database, key, result, metrics, _pack({"curve": curve.astype(np.float32)}), digest)
            numbered = [(key, number, trial) for number, trial in enumerate(trials)]
            database.executemany(f"INSERT OR REPLACE INTO selections VALUES ({_marks(3)})", numbered)

    def arrays(self, result: Result) -> ResultArrays | None:
        """Return the arrays behind a result: read from the file each time, for all of them need not fit in memory."""
        row = self._row(
            "SELECT scores.arrays, curve, test_part FROM results JOIN scores ON scores.trial = results.trial "
            "WHERE key = ?",
            self.configuration.result_key(*result.key),
        )
        if row is None:
            return None
        trial = self._unpack(row[0])
        return ResultArrays(self._part(row[2]), trial["test_scores"], self._unpack(row[1])["curve"], _summary(trial))

    # ---- explanations: a table that files of earlier versions need not have

    def add_explanation(self, trial: str, part: ExplainedPart) -> None:
        """Store what explains the scores of a trial."""
        with self._transaction() as database:
            database.execute("CREATE TABLE IF NOT EXISTS explanations (trial TEXT PRIMARY KEY, arrays BLOB NOT NULL)")
            packed = _pack({f.name: np.asarray(getattr(part, f.name)) for f in fields(part)}, compress=True)
            database.execute("INSERT OR REPLACE INTO explanations VALUES (?, ?)", (trial, packed))

    def explanation(self, trial: str) -> ExplainedPart | None:
        """Return what explains the scores of a trial; None if that is not stored."""
        if self._row("SELECT 1 FROM sqlite_schema WHERE name = 'explanations'") is None:
            return None
        row = self._row("SELECT arrays FROM explanations WHERE trial = ?", trial)
        if row is None:
            return None
        arrays: dict[str, Any] = self._unpack(row[0])
        return ExplainedPart(**(arrays | {"how": str(arrays["how"])}))

    # ---- what these are made of

    def _part(self, digest: str) -> TestPart:
        if digest not in self._parts:
            (arrays,) = self._row("SELECT arrays FROM test_parts WHERE digest = ?", digest) or (b"",)
            self._parts[digest] = TestPart(**self._unpack(arrays))
        return self._parts[digest]

    def _insert_result(self, database: sqlite3.Connection, key: str, result: Result, *arrays: Any) -> None:
        values = (key, *(getattr(result, name) for name in _RESULT), *arrays)
        database.execute(f"INSERT OR REPLACE INTO results VALUES ({_marks(13)})", values)

    def _check(self, create: bool) -> None:
        """Make the tables of a new file; refuse a file that is not a run's."""
        with self._errors():
            ((application,), (version,), empty) = (
                self._database.execute("PRAGMA application_id").fetchone(),
                self._database.execute("PRAGMA user_version").fetchone(),
                self._database.execute("SELECT 1 FROM sqlite_schema").fetchone() is None,
            )
            if empty and not application and create:
                tables = resources.files("podium.experiments.run").joinpath("schema.sql").read_text("utf-8")
                header = f"PRAGMA application_id = {_APPLICATION}; PRAGMA user_version = {_VERSION};"
                self._database.executescript(f"BEGIN; {header} {tables} COMMIT;")
            elif application != _APPLICATION:
                raise ValueError(f"{self.path} is not a run of podium compare; choose another folder")
            elif version != _VERSION:
                raise ValueError(f"{self.path} was made by another version of Podium; choose another folder")

    def _row(self, query: str, *values: Any) -> Any:
        return next(iter(self._rows(query, *values)), None)

    def _rows(self, query: str, *values: Any) -> list[Any]:
        with self._errors():
            return self._database.execute(query, values).fetchall()

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        with self._errors(), self._database:
            yield self._database

    @contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn SQLite's errors into ones that name the file and say what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            raise OSError(f"{self.path}: {error}") from error
        except sqlite3.DatabaseError as error:
            raise self._damaged(error) from error

    def _damaged(self, error: Exception) -> ValueError:
        return ValueError(
            f"{self.path} is damaged, or not a run of podium compare ({error}); "
            "move it away to start again, or choose another folder"
        )

    def _unpack(self, arrays: bytes) -> dict[str, np.ndarray]:
        try:
            with np.load(io.BytesIO(arrays), allow_pickle=False) as stored:
                return dict(stored)
        except Exception as error:  # of NumPy's and of zipfile's many
            raise self._damaged(error) from error


def _trial(row: Any, arrays: dict[str, np.ndarray] | None = None) -> Trial:
    plain: dict[str, Any] = {name: row[name] for name in _TRIAL}
    plain |= {name: json.loads(plain[name]) for name in ("parameters", "warnings", "carried")}
    values = plain["validation_values"]
    plain["validation_values"] = None if values is None else np.frombuffer(values, "<f8")
    plain["validation"] = math.nan if plain["validation"] is None else plain["validation"]  # SQLite has no NaN
    if arrays is None:
        return Trial(**plain)
    plain |= {name: arrays[name] for name in _SCORES if name in arrays}
    return Trial(**plain, model=_summary(arrays))


def _summary(arrays: dict[str, np.ndarray]) -> ModelSummary:
    stored = {field.name: arrays[field.name] for field in fields(ModelSummary) if field.name in arrays}
    values: dict[str, Any] = {name: array if array.ndim else array.item() for name, array in stored.items()}
    return ModelSummary(**values)


def _filled(value: TestPart | ModelSummary) -> dict[str, np.ndarray]:
    """Return the fields that have a value, as arrays that need no pickling."""
    found = {f.name: np.asarray(item) for f in fields(value) if (item := getattr(value, f.name)) is not None}
    return {name: array.astype(np.str_) if array.dtype == object else array for name, array in found.items()}


def _pack(arrays: dict[str, Any], *, compress: bool = False) -> bytes:
    packed = io.BytesIO()
    (np.savez_compressed if compress else np.savez)(packed, **arrays)
    return packed.getvalue()


def _marks(n: int) -> str:
    return ", ".join("?" * n)
