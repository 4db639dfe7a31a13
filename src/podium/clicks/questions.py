"""What raters are asked, as :func:`podium.clicks.ask` returns it: documents, why these, and a file to fill in."""

from __future__ import annotations

import csv
import os
from dataclasses import dataclass

import numpy as np

from podium.core.atomic import atomic_write

__all__ = ["Questions"]

_SHOWN = 10


@dataclass(frozen=True, eq=False, repr=False)
class Questions:
    """Documents to be judged, the most telling first; printing it gives a table.

    Parameters
    ----------
    qids, documents : (n,) array
        The pairs to be judged.
    ranks : (n, 1) or (n, 2) array
        Where the ranking, or each of the two, has them; 1 is the top.
    relevance, deviation : (n,) array
        Attractiveness as it is known by now, and its standard deviation.
    worth : (n,) array
        Share that a judgment takes off the variance of what is to be found out.
    metric : str
        The metric that is meant.
    mean : float
        Its value, or the difference of the two rankings, as far as it is known.
    error, error_after : float
        How uncertain that is for not knowing documents' relevance, now and once all these are judged (standard
        deviations); the bias and the queries are taken as they are.
    n_judged : int
        How many of the ranked documents were judged before.

    Examples
    --------
    >>> import podium, tempfile
    >>> from pathlib import Path
    >>> log = podium.Clicks(None, [1, 0, 0, 1], qid=[7] * 4, position=[1, 2, 1, 2], document=["x", "y", "y", "x"])
    >>> questions = podium.clicks.ask([2.0, 1.0], log, against=[1.0, 2.0], bias=[1.0, 0.5], metric="p@1")
    >>> sorted(questions.documents.tolist()), sorted(questions.ranks.tolist())
    (['x', 'y'], [[1, 2], [2, 1]])
    >>> path = Path(tempfile.mkdtemp(), "pairs.csv")
    >>> questions.save(path)
    >>> path.read_text().splitlines()[0]
    'query,document,label,rank,rank_against,relevance_by_clicks,deviation,worth'
    """

    qids: np.ndarray
    documents: np.ndarray
    ranks: np.ndarray
    relevance: np.ndarray
    deviation: np.ndarray
    worth: np.ndarray
    metric: str
    mean: float
    error: float
    error_after: float
    n_judged: int = 0

    @property
    def probability(self) -> float:
        """The probability that the metric, or its difference, is above 0: that the first ranking is the better one."""
        from scipy.special import ndtr

        if self.error == 0.0:
            return 0.5 if self.mean == 0.0 else float(self.mean > 0.0)
        return float(ndtr(self.mean / self.error))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a CSV file for raters, whole or not at all: a row per document, with an empty column ``label``.

        Parameters
        ----------
        path : path
            The file. Filled in, it is a table of judgments as :func:`podium.join_judgments` takes them; rows whose
            label stays empty are left out there. Columns behind the label say why a document is asked for: hide them
            from raters.
        """
        ranks = ["rank", "rank_against"][: self.ranks.shape[1]]
        with atomic_write(path) as file:
            writer = csv.writer(file, lineterminator="\n")
            writer.writerow(["query", "document", "label", *ranks, "relevance_by_clicks", "deviation", "worth"])
            for i, (query, document) in enumerate(self._pairs()):
                figures = (f"{values[i]:.4g}" for values in (self.relevance, self.deviation, self.worth))
                writer.writerow([query, document, "", *self.ranks[i].tolist(), *figures])

    def _pairs(self) -> list[tuple[object, object]]:
        return list(zip(self.qids.tolist(), self.documents.tolist(), strict=True))

    def __len__(self) -> int:
        return len(self.worth)

    def __repr__(self) -> str:
        return f"Questions({len(self)} documents of {len(set(self.qids.tolist()))} queries, for {self.metric})"

    def __str__(self) -> str:
        two = self.ranks.shape[1] == 2
        what = f"difference of {self.metric}" if two else self.metric
        known = f"{self.mean:+.4f}" if two else f"{self.mean:.4f}"
        better = f"; the first ranking is better with probability {self.probability:.2f}" if two else ""
        lines = [
            f"{what}, by clicks{' and judgments' if self.n_judged else ''}: {known} ± {self.error:.4f}{better}",
            f"with {len(self)} more judgments: ± {self.error_after:.4f}",
        ]
        header = ["query", "document", *(["rank", "against"] if two else ["rank"]), "relevance", "worth"]
        rows = [
            [str(query), str(document), *map(str, self.ranks[i].tolist()),
             f"{self.relevance[i]:.2f} ± {self.deviation[i]:.2f}", f"{100 * self.worth[i]:.2f} %"]
            for i, (query, document) in enumerate(self._pairs()[:_SHOWN])
        ]  # fmt: skip
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines += ["  ".join(map(str.ljust, row, widths)).rstrip() for row in [header, *rows]]
        return "\n".join(lines + ([f"… {len(self) - _SHOWN} more"] if len(self) > _SHOWN else []))
