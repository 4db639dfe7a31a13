"""Every figure that the official tools print for given rankings, per query and mean, to the last printed digit."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from podium.metrics import Evaluation, evaluate

GOLDEN = Path(__file__).parents[1] / "golden"
RANKS = range(1, 11)
PRINTED = {f"p@{k}": f"P@{k}" for k in RANKS} | {f"ndcg@{k}": f"NDCG@{k}" for k in RANKS}
PRINTED |= {"map": "MAP", "meanndcg": "MeanNDCG"}

Printed = dict[str, list[str | None]]
"""What a tool printed for each query, None where it printed nothing; the mean comes last."""


def read_ranking(path: Path) -> dict[str, list[str]]:
    text = gzip.decompress(path.read_bytes()).decode() if path.suffix == ".gz" else path.read_text()
    rows = [line.split("\t") for line in text.splitlines()]
    return {name: [row[i] for row in rows[1:]] for i, name in enumerate(rows[0])}


def read_columns(path: Path) -> Printed:
    """The tools of LETOR 4.0 and MSLR print two tables, each with a header and an average at its end."""
    printed: Printed = {}
    header: list[str] = []
    for line in path.read_text().splitlines():
        first, *cells = line.split("\t")
        if first == "qid":
            header = cells
        elif first:
            for name, cell in zip(header, cells, strict=True):
                printed.setdefault(name, []).append(cell)
    return printed


def read_rows(path: Path) -> Printed:
    """The tool of LETOR 3.0 prints a line for each query and figure, which ends where the list does."""
    printed: Printed = {}
    for line in path.read_text().splitlines():
        name, _, cells = line.partition(":")
        values = cells.split()
        if name.upper().startswith("MAP"):
            printed.setdefault("MAP", []).append(values[0])
        elif name.startswith(("precision", "NDCG")):
            figure = "NDCG" if name.startswith("NDCG") else "P"
            for k in RANKS:
                printed.setdefault(f"{figure}@{k}", []).append(values[k - 1] if k <= len(values) else None)
    return printed


def evaluate_as(convention: str, ranking: dict[str, list[str]]) -> Evaluation:
    labels, scores = (np.array(ranking[column], float) for column in ("label", "score"))
    return evaluate(labels, scores, qid=ranking["qid"], metrics=list(PRINTED), convention=convention)


def assert_printed(found: Evaluation, printed: Printed, digits: str) -> None:
    assert set(printed) <= set(PRINTED.values())
    for ours, theirs in PRINTED.items():
        if theirs not in printed:
            continue
        *per_query, mean = printed[theirs]
        values = found.per_query[ours]
        assert len(values) == len(per_query)
        wanted = ["0" if cell is None else cell for cell in per_query]  # not printed, and counted as 0 in the mean
        assert [format(value, digits) for value in values] == wanted, ours
        assert format(found.mean[ours], digits) == mean, ours


@pytest.mark.parametrize("convention", ["letor", "letor4", "mslr"])
def test_random_rankings(convention: str) -> None:
    found = evaluate_as(convention, read_ranking(GOLDEN / f"{convention}.rankings.tsv"))
    path = GOLDEN / f"{convention}.expected.txt"
    if convention == "letor":
        assert_printed(found, read_rows(path), ".15g")
    else:
        assert_printed(found, read_columns(path), ".4f")


def test_rankings_of_real_data(shared_data: Path) -> None:
    paths = sorted((shared_data / "golden").glob("*.tsv.gz"))
    if not paths:
        pytest.skip("the rankings of real data are not there")
    for path in paths:
        convention = path.name.partition("-")[0]
        found = evaluate_as(convention, read_ranking(path))
        text = path.with_name(path.name.removesuffix(".tsv.gz") + ".txt")
        if convention == "letor":
            assert_printed(found, read_rows(text), ".15g")
        else:
            assert_printed(found, read_columns(text), ".4f")


def test_trec_eval() -> None:
    golden = json.loads((GOLDEN / "trec.json").read_text())
    names = {"map": "map", "mrr": "recip_rank", "ndcg": "ndcg"}
    names |= {f"p@{k}": f"P_{k}" for k in (1, 5, 10)} | {f"r@{k}": f"recall_{k}" for k in (5, 10)}
    names |= {f"ndcg@{k}": f"ndcg_cut_{k}" for k in (1, 3, 5, 10)}
    rows = [
        (q, document, grade, golden["run"][q][document])
        for q, judged in golden["qrels"].items()
        for document, grade in judged.items()
    ]
    qid, documents, labels, scores = zip(*rows, strict=True)
    found = evaluate(labels, scores, qid=qid, metrics=list(names), convention="trec", document_ids=documents)
    assert {figure for one in golden["expected"].values() for figure in one} == set(names.values())
    for ours, theirs in names.items():
        wanted = [golden["expected"][q][theirs] for q in found.qids]
        np.testing.assert_allclose(found.per_query[ours], wanted, rtol=1e-14, atol=0, err_msg=ours)
