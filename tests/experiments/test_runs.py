"""Scores of the test parts as TREC runs, and runs that were made elsewhere as rows of a comparison."""

from __future__ import annotations

import json

import numpy as np
import pytest

import podium
from podium import Queries
from podium.cli.main import main
from podium.data.io.run_scores import ListedDocuments, file_names, scores_in, write_scores
from podium.data.io.trec import read_run
from podium.experiments import Comparison
from podium.experiments.plan.external import EXTERNAL
from podium.experiments.report.page_data import page_data

from ..feature_ranker import Feature

RANKERS = {"a": Feature(0), "b/../x": Feature(1)}


def run(queries, methods=None, **options):
    given = {"metrics": ["map", "ndcg@5"], "jobs": 1, "folds": 3}
    return podium.compare(queries, methods or RANKERS, **(given | options))


@pytest.fixture(scope="module")
def named(queries):
    """The same queries with document ids."""
    ids = [f"doc-{i}" for i in range(queries.n_documents)]
    return Queries(queries.features, queries.labels, sizes=queries.sizes, document_ids=ids)


@pytest.mark.parametrize("with_ids", [True, False])
def test_evaluating_a_written_run_gives_the_figures_of_the_table(queries, named, with_ids, tmp_path, capsys):
    from podium.cli.main import main

    data = named if with_ids else queries
    comparison = run(data, out=tmp_path / "run")
    written = sorted(path.name for path in (tmp_path / "run" / "runs").iterdir())
    assert written == ["a.run", "b_x.run", "best-feature.run", "random.run"]
    podium.write_letor(data, tmp_path / "data.txt")
    for method, name in (("a", "a"), ("b/../x", "b_x"), ("random", "random")):
        path = tmp_path / "run" / "runs" / f"{name}.run"
        assert main(["evaluate", str(tmp_path / "data.txt"), str(path), "--metrics", "map,ndcg@5", "--json"]) == 0
        found = json.loads(capsys.readouterr().out)["mean"]
        for metric in ("map", "ndcg@5"):
            assert found[metric] == pytest.approx(comparison.figure(method, metric), abs=1e-12)
        if with_ids:  # and by judgments, as trec_eval joins them
            lines = zip(data.query_of_document, data.document_ids, data.labels, strict=True)
            (tmp_path / "qrels").write_text("".join(f"{data.qids[q]} 0 {d} {g:g}\n" for q, d, g in lines))
            judged = podium.evaluate(
                podium.read_qrels(tmp_path / "qrels"), podium.read_run(path), metrics=["map", "ndcg@5"]
            )
            assert judged.mean["map"] == pytest.approx(comparison.figure(method, "map"), abs=1e-12)


def test_a_run_of_the_same_scores_is_a_row_with_the_same_figures(queries, tmp_path):
    first = run(queries, out=tmp_path / "first")
    path = tmp_path / "first" / "runs" / "a.run"
    for given in (path, podium.read_run(path)):
        found = run(queries, {"b": Feature(1)}, runs={"published": given})
        assert found.values("published", "map").tolist() == first.values("a", "map").tolist()
        row = next(row for row in found.rows if row.method == "published")
        assert row.method == found.best or row.p_value is not None
        assert found.pick != "published"
        assert found.configuration.methods["published"].family == EXTERNAL
        assert 'data-method="published"' in found.to_html()
        assert np.isnan(row.seconds)  # nobody knows, so it is not the fastest either
        assert page_data(found)["methods"][[r.method for r in found.rows].index("published")]["seconds"] is None
        json.dumps(found.to_dict(), allow_nan=False)
        assert "Runs that were made elsewhere, with nothing trained or chosen here: published." in str(found)


def test_it_takes_part_in_runs_that_are_stored_and_is_looked_up_again_if_it_changed(queries, tmp_path):
    run(queries, out=tmp_path / "first")
    path = tmp_path / "first" / "runs" / "a.run"
    published = podium.read_run(path)
    before = run(queries, {"b": Feature(1)}, runs={"theirs": published}, out=tmp_path / "second")
    loaded = Comparison.load(tmp_path / "second")
    assert loaded.values("theirs", "map").tolist() == before.values("theirs", "map").tolist()
    other = podium.Run(published.qids, published.document_ids, -published.scores)
    after = run(queries, {"b": Feature(1)}, runs={"theirs": other}, out=tmp_path / "second")
    assert after.values("theirs", "map").tolist() != before.values("theirs", "map").tolist()


def test_what_does_not_fit_is_counted_and_said(named, tmp_path):
    """By hand: two documents missing, one unknown, one unknown query; the missing ones rank last."""
    scores = np.arange(named.n_documents, dtype=float)
    documents = ListedDocuments(named.qids, named.offsets, named.document_ids)
    write_scores(tmp_path / "whole.run", documents, scores, "tag")
    lines = (tmp_path / "whole.run").read_text().splitlines(keepends=True)
    kept = [line for line in lines if line.split()[2] not in ("doc-0", "doc-1")]
    more = [f"{named.qids[0]} Q0 other 99 1e9 tag\n", "unheard-of Q0 x 1 1.0 tag\n"]
    (tmp_path / "part.run").write_text("".join([*kept, *more]))
    with pytest.warns(UserWarning, match="theirs: 1 query of the run is not among the test queries"):
        found = run(named, {"a": Feature(0)}, runs={"theirs": tmp_path / "part.run"}, out=tmp_path / "run")
    assert found.failed == []
    (said,) = [row.warnings for row in found.rows if row.method == "theirs"]
    assert list(said) == [
        "2 documents of the data are not in the run and rank last",
        "1 document of the run is not in the data and is left out",
    ]
    assert found.to_dict()["notes"] == ["theirs: 1 query of the run is not among the test queries and is left out"]
    assert Comparison.load(tmp_path / "run").notes == found.notes
    scores[:2] = -1.0  # last, and equal
    first = podium.evaluate(named, scores, metrics=["map"])
    assert dict(zip(found.qids, found.values("theirs", "map"), strict=True)) == dict(
        zip(map(str, first.qids), first.per_query["map"], strict=True)
    )


def test_a_query_that_is_missing_fails_the_row_and_nothing_else(named, tmp_path):
    documents = ListedDocuments(named.qids, named.offsets, named.document_ids)
    write_scores(tmp_path / "whole.run", documents, np.arange(named.n_documents, dtype=float), "tag")
    lines = (tmp_path / "whole.run").read_text().splitlines(keepends=True)
    (tmp_path / "less.run").write_text("".join(line for line in lines if line.split()[0] != str(named.qids[3])))
    found = run(named, {"a": Feature(0)}, runs={"theirs": tmp_path / "less.run"}, out=tmp_path / "run")
    assert found.failed == ["theirs"]
    assert "the run has no document of 1 of the 10 test queries of fold" in found.rows[-1].failures[0].error
    assert not (tmp_path / "run" / "runs" / "theirs.run").exists()
    with pytest.raises(ValueError, match="a method is called 'a' already"):
        run(named, {"a": Feature(0)}, runs={"a": tmp_path / "less.run"})


def test_seeds_and_repeated_tests_have_files_of_their_own(queries, tmp_path):
    run(queries, {"a": Feature(0)}, folds=None, protocol="holdout:2,0.5,0.2", seeds=2, out=tmp_path)
    names = {path.name for path in (tmp_path / "runs").iterdir()}
    assert {"a.repeat-1.run", "a.repeat-2.run", "random.seed-0.repeat-1.run", "random.seed-1.repeat-2.run"} <= names


def test_names_of_files_queries_and_documents_that_a_run_cannot_hold(tmp_path):
    assert file_names(["CON/x", "con x", "ü", ""]) == {"CON/x": "CON_x", "con x": "con_x-2", "ü": "_", "": "_-2"}
    documents = ListedDocuments(np.array(["red shoes", "b"]), np.array([0, 2, 4]), np.array(["x", "x", "y z", "u"]))
    write_scores(tmp_path / "odd.run", documents, np.array([1.0, 2.0, 1e-300, 0.1 + 0.2]), "tag")
    found = read_run(tmp_path / "odd.run")
    assert found.qids.tolist() == ["red%20shoes"] * 2 + ["b"] * 2
    assert found.document_ids.tolist() == ["d2", "d1", "d2", "d1"]
    assert scores_in(found, documents).scores.tolist() == [1.0, 2.0, 1e-300, 0.1 + 0.2]  # bit for bit


def test_the_command_takes_runs(queries, tmp_path, capsys):
    from podium.cli.main import main

    podium.write_letor(queries, tmp_path / "data.txt")
    run(queries, {"a": Feature(0)}, out=tmp_path / "first")
    argv = ["compare", str(tmp_path / "data.txt"), "--methods", "best-feature", "--folds", "3", "--jobs", "1"]
    argv += ["--quiet", "--out", str(tmp_path / "run"), "--run", f"theirs={tmp_path / 'first' / 'runs' / 'a.run'}"]
    assert main(argv) == 0
    assert "theirs" in capsys.readouterr().out
    assert main([*argv, "--run", "theirs=x"]) == 2
    assert "--run names 'theirs' twice" in capsys.readouterr().err


def test_runs_alone_are_compared_on_judgments(tmp_path, capsys):
    rng = np.random.default_rng(0)
    grades = rng.integers(0, 3, (20, 6))
    grades[:, 0] = 2
    lines = [f"{q} 0 x{d} {grades[q, d]}" for q in range(20) for d in range(6)]
    (tmp_path / "qrels.txt").write_text("\n".join(lines) + "\n")
    for name, noise in (("good", 0.1), ("bad", 5.0)):
        scores = grades + noise * rng.normal(size=grades.shape)
        lines = [f"{q} Q0 x{d} 1 {scores[q, d]} t" for q in range(20) for d in range(6)]
        (tmp_path / f"{name}.run").write_text("\n".join([*lines, "0 Q0 unjudged 1 -99 t"]) + "\n")
    files = [f"--run={name}={tmp_path / name}.run" for name in ("good", "bad")]
    qrels = str(tmp_path / "qrels.txt")
    assert main(["compare", "--qrels", qrels, *files, "--metrics", "map,ndcg@5", "--out", str(tmp_path / "out")]) == 0
    shown = capsys.readouterr().out
    assert "Hyper-parameters" not in shown  # nothing was chosen or trained
    assert "Features" not in shown
    found = Comparison.load(tmp_path / "out")
    assert [row.method for row in found.rows] == ["good", "bad"]
    assert found.rows[1].p_value < 0.01
    for row in found.rows:  # the same figures as evaluating each run by itself
        given = podium.read_qrels(qrels), podium.read_run(tmp_path / f"{row.method}.run")
        alone = podium.evaluate(*given, metrics=["map", "ndcg@5"], convention="standard")
        assert found.values(row.method, "map").mean() == pytest.approx(np.mean(alone.per_query["map"]), abs=1e-12)
        assert found.values(row.method, "ndcg@5").mean() == pytest.approx(np.mean(alone.per_query["ndcg@5"]), abs=1e-12)
    assert (tmp_path / "out" / "report.html").exists()
    with pytest.raises(ValueError, match="runs alone"):
        podium.compare(methods="listnet", qrels=qrels, runs={"good": tmp_path / "good.run"})
    with pytest.raises(ValueError, match="runs alone"):
        podium.compare(qrels=qrels)
