"""Every method's scores of the test documents as TREC runs: out of fold, for other tools and for later comparisons."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from podium.data.io.run_scores import ListedDocuments, file_names, write_scores
from podium.experiments.run.outcomes import Result

if TYPE_CHECKING:
    from podium.experiments.result.comparison import Comparison


def write_runs(comparison: Comparison, folder: Path) -> None:
    """Write ``METHOD.run`` for each method: its scores of all test queries, each by the fold that tested it.

    A method that was run with several seeds has one file per seed, and where a query is tested several times there is
    one per fold: ``METHOD.seed-1.run``, ``METHOD.repeat-2.run``. Nothing is written for a method that failed.
    """
    names = file_names(comparison.methods)
    folds = file_names([fold.replace(" ", "-") for fold in comparison.folds])
    tested = {result.fold: result.qids for result in comparison.results if result.error is None}
    every = [qid for qids in tested.values() for qid in qids]
    apart = len(set(every)) < len(every)
    parts: dict[str, list[Result]] = {}
    for result in comparison.results:
        seeds = comparison.configuration.seeds_of(result.method)
        ending = f".seed-{result.seed}" * (len(seeds) > 1) + f".{folds[result.fold.replace(' ', '-')]}" * apart
        parts.setdefault(f"{names[result.method]}{ending}", []).append(result)
    folder.mkdir(parents=True, exist_ok=True)
    for name, results in parts.items():
        path = folder / f"{name}.run"
        found = [comparison.arrays(result) for result in results if result.error is None]
        known = [arrays for arrays in found if arrays is not None]
        if len(known) < len(results):
            path.unlink(missing_ok=True)  # of an earlier study, perhaps: it would pass for one of this
            continue
        offsets = [np.diff(arrays.part.offsets) for arrays in known]
        ids = [arrays.part.document_ids for arrays in known]
        documents = ListedDocuments(
            np.concatenate([arrays.part.qids for arrays in known]),
            np.concatenate(([0], np.cumsum(np.concatenate(offsets)))),
            None if any(own is None for own in ids) else np.concatenate([own for own in ids if own is not None]),
        )
        write_scores(path, documents, np.concatenate([arrays.scores for arrays in known]), names[results[0].method])
