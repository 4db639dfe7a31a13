"""The trial of a run that was made elsewhere: its scores of the test part are looked up."""

from podium.data.io.run_scores import ListedDocuments, scores_in
from podium.data.io.trec import Run
from podium.experiments.plan.methods import Setting
from podium.experiments.run.outcomes import Trial


def look_up(name: str, fold: str, setting: Setting, run: Run, documents: ListedDocuments) -> Trial:
    """Return the trial of a run on a fold; what did not fit is among its warnings.

    Raises
    ------
    ValueError
        If it has no document of a query: a mean over other queries could not be compared.
    """
    found = scores_in(run, documents)
    if missing := found.missing_queries:
        n, total = len(missing), len(documents.qids)
        named = ", ".join(missing[:3]) + ", …" * (n > 3)
        hint = " (documents without ids are called d1, d2, … in each query)" * (documents.document_ids is None)
        raise ValueError(f"the run has no document of {n} of the {total} test queries of {fold}: {named}{hint}")
    return Trial.of(name, fold, setting, warnings=found.notes(), test_scores=found.scores)
