"""Queries that carry the log they were clicked in, so that a ranker can be taught by clicks wherever its data go."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from podium.data.clicks import Clicks
from podium.data.queries import Queries

PER_ROW = ("row", "position", "clicks", "impressions")


@dataclass(frozen=True)
class Answers:
    """What a bias says of the documents of one log, as a :class:`~podium.data.bias.KnownBias` of exactly that log."""

    of_documents: np.ndarray
    """Their attractiveness."""
    of_clicks: np.ndarray
    """What their clicks are worth."""

    def attractiveness(self, clicks: Clicks) -> np.ndarray:
        """Return how likely each document is clicked if it is looked at."""
        return self.of_documents

    def weights(self, clicks: Clicks) -> np.ndarray:
        """Return the sum over each document's impressions of (click − β) / α."""
        return self.of_clicks


class ClickedQueries(Queries):
    """The documents of a log; their labels are their attractiveness.

    Some of these queries, or some of their documents, are plain queries: parts of a log are taken from the log.
    """

    columns: dict[str, np.ndarray]
    """The rows of the log (see ``PER_ROW``), with their ``session`` if it has sessions; ``n_sessions`` of each query;
    ``worth`` of the clicks of each document."""

    @classmethod
    def made(cls, queries: Queries, columns: Mapping[str, np.ndarray]) -> Self:
        """Return queries with these columns."""
        made = object.__new__(cls)
        made.__dict__.update(queries.__dict__)
        made.columns = dict(columns)
        return made

    @classmethod
    def of_log(cls, clicks: Clicks, attractiveness: np.ndarray, worth: np.ndarray) -> Self:
        """Return the documents of a log with what its bias says of them."""
        columns = {name: getattr(clicks, name) for name in PER_ROW}
        columns |= {"n_sessions": clicks.n_sessions, "worth": worth}
        columns |= {} if clicks.session is None else {"session": clicks.session}
        return cls.made(clicks.queries.with_labels(attractiveness), columns)

    def log(self) -> tuple[Clicks, Answers]:
        """Return the log and its bias."""
        row, position, clicked, impressions = (self.columns[name] for name in PER_ROW)
        rows = row, position, clicked, impressions, self.columns.get("session")
        clicks = Clicks.of_rows(self._plain().without_labels(), *rows)
        clicks.__dict__["n_sessions"] = self.columns["n_sessions"]
        return clicks, Answers(self.labels, self.columns["worth"])

    def _selected(self, rows: Any, offsets: np.ndarray, qids: np.ndarray) -> Any:
        return self._plain()._selected(rows, offsets, qids)

    def _plain(self) -> Queries:
        plain = object.__new__(Queries)
        plain.__dict__.update({name: value for name, value in self.__dict__.items() if name != "columns"})
        return plain
