"""From data to model to scores to figures, in every format, and what is said when something is wrong."""

from __future__ import annotations

import hashlib
import io
import json
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import podium


@pytest.fixture(scope="module")
def model(files, tmp_path_factory):
    from podium.cli.main import main

    path = tmp_path_factory.mktemp("model") / "model.podium"
    assert main(["train", files.paths["txt"], "--method", "listnet", "--set", "l2=0.01", "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def expected(files):
    """What the Python interface gives."""
    ranker = podium.ListNet(l2=0.01, random_state=0).fit(podium.read_letor(files.paths["txt"]))
    return ranker.predict(podium.read_letor(files.paths["txt"]))


def test_scores_are_those_of_the_python_interface(podium_command, files, model, expected):
    result = podium_command("rank", model, files.paths["txt"])
    assert result.code == 0
    assert [float(line) for line in result.out.splitlines()] == expected.tolist()


def test_scores_keep_the_order_of_the_rows(podium_command, files, model, expected, tmp_path):
    lines = Path(files.paths["txt"]).read_text().splitlines()
    order = np.random.default_rng(0).permutation(len(lines))  # queries torn apart
    shuffled = tmp_path / "shuffled.txt"
    shuffled.write_text("\n".join(lines[i] for i in order) + "\n")
    result = podium_command("rank", model, shuffled, "-o", tmp_path / "scores.txt")
    assert result.out == ""
    assert np.loadtxt(tmp_path / "scores.txt").tolist() == expected[order].tolist()


@pytest.mark.parametrize("kind", ["txt.gz", "csv", "parquet"])
def test_formats_agree(podium_command, files, expected, tmp_path, kind):
    columns = [] if kind == "txt.gz" else files.columns
    out = tmp_path / "model.podium"
    trained = podium_command("train", files.paths[kind], "--method", "listnet", "--set", "l2=0.01", "-o", out, *columns)
    assert trained.code == 0, trained.err
    columns = [] if kind == "txt.gz" else columns[:2]  # ranking needs no grades
    ranked = podium_command("rank", out, files.paths[kind], *columns)
    assert ranked.code == 0, ranked.err
    # CSV and Parquet hold float32 features exactly; a column's type may still be float64
    np.testing.assert_allclose([float(line) for line in ranked.out.splitlines()], expected, rtol=1e-5, atol=1e-6)


def test_evaluate_prints_figures_with_their_convention(podium_command, files, model, expected, tmp_path):
    scores = tmp_path / "scores.txt"
    podium_command("rank", model, files.paths["txt"], "-o", scores)
    result = podium_command("evaluate", files.paths["txt"], scores, "--convention", "letor", "--metrics", "ndcg@3,map")
    figures = podium.evaluate(files.queries, expected, metrics=["ndcg@3", "map"], convention="letor").mean
    assert result.code == 0
    assert "letor" in result.out
    for name, value in figures.items():
        assert any(line.split()[:2] == [name, f"{value:.4f}"] for line in result.out.splitlines())


def test_evaluate_as_json_and_per_query(podium_command, files, tmp_path, monkeypatch, expected):
    monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(map(repr, expected.tolist()))))
    result = podium_command("evaluate", files.paths["txt"], "-", "--metrics", "map", "--json", "--per-query")
    content = json.loads(result.out)
    assert content["convention"] == "standard"
    assert content["n_queries"] == len(content["qids"]) == len(content["per_query"]["map"]) == 24
    assert content["mean"]["map"] == pytest.approx(np.mean(content["per_query"]["map"]))
    low, high = content["interval"]["map"]
    assert low < content["mean"]["map"] < high


def test_per_query_table(podium_command, files, expected, tmp_path):
    scores = tmp_path / "scores.txt"
    scores.write_text("\n".join(map(repr, expected.tolist())))
    result = podium_command("evaluate", files.paths["txt"], scores, "--metrics", "map", "--per-query")
    lines = result.out.splitlines()
    assert lines[0].split() == ["qid", "map"]
    assert len(lines) >= 24 + 3


def test_a_trec_run_and_its_evaluation(podium_command, files, model, expected, tmp_path):
    run, qrels = tmp_path / "run.trec", tmp_path / "qrels.txt"
    assert podium_command("rank", model, files.paths["txt"], "-o", run, "--tag", "mine").code == 0
    first = run.read_text().splitlines()[0].split()
    assert (first[1], first[3], first[5]) == ("Q0", "1", "mine")
    queries = podium.read_letor(files.paths["txt"])
    names = queries.document_ids if queries.document_ids is not None else np.arange(1, queries.n_documents + 1)
    qids = queries.qids[queries.query_of_document]
    rows = zip(qids, names, queries.labels.astype(int), strict=True)
    qrels.write_text("".join(f"{qid} 0 {name} {grade}\n" for qid, name, grade in rows))
    result = podium_command("evaluate", "--qrels", qrels, "--run", run, "--metrics", "ndcg@5", "--json")
    content = json.loads(result.out)
    assert content["convention"] == "trec"
    figures = podium.evaluate(queries, expected, metrics=["ndcg@5"], convention="trec").mean
    assert content["mean"]["ndcg@5"] == pytest.approx(figures["ndcg@5"])


def test_queries_missing_from_a_run_are_told(podium_command, tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "run").write_text("1 Q0 a 1 0.5 t\n3 Q0 c 1 0.5 t\n")
    arguments = ["evaluate", "--qrels", tmp_path / "qrels", "--run", tmp_path / "run", "--metrics", "map"]
    result = podium_command(*arguments, "--json")
    assert "1 queries of the run that have no judgments" in result.err
    assert "1 judged queries are not in the run" in result.err
    assert json.loads(result.out)["mean"]["map"] == 1.0
    assert json.loads(podium_command(*arguments, "--complete", "--json").out)["mean"]["map"] == 0.5


def test_train_reports_validation(podium_command, files, tmp_path):
    out = tmp_path / "m.podium"
    data = files.paths["txt"]
    result = podium_command("train", data, "--method", "listnet", "--valid", data, "-o", out, "--convention", "letor")
    assert "training: ndcg@10 (letor)" in result.out
    assert "validation: ndcg@10 (letor)" in result.out
    summary = json.loads(podium_command("train", data, "--method", "random", "-o", out, "--json").out)
    assert summary["method"] == "random"
    assert summary["convention"] == "standard"


def test_normalising_within_queries_is_part_of_the_model(podium_command, files, tmp_path):
    out = tmp_path / "m.podium"
    podium_command("train", files.paths["txt"], "--method", "listnet", "--normalize", "minmax", "-o", out)
    assert podium.load(out).normalize == "minmax"
    ranked = podium_command("rank", out, files.paths["txt"])
    assert len(ranked.out.splitlines()) == files.queries.n_documents


def test_features_taken_as_logarithms_are_named(podium_command, tmp_path):
    queries = podium.make_queries(n_queries=20, n_documents=10, n_features=3, random_state=0)
    features = np.random.default_rng(0).normal(size=queries.features.shape)
    features[:, 1] = np.exp(3 * features[:, 1])
    podium.write_letor(queries.with_features(features), tmp_path / "data.txt")
    train = ("train", tmp_path / "data.txt", "-o", tmp_path / "m.podium", "--method")
    line = "1 of 3 features have heavy tails and are taken as logarithms: feature 2"
    assert line not in podium_command(*train, "listnet", "--normalize", "standard").err
    assert line not in podium_command(*train, "gbdt", "--set", "n_trees=2").err
    result = podium_command(*train, "listnet")
    assert line in result.err
    assert line not in result.out
    shown = podium_command("show", tmp_path / "m.podium").out
    assert "log(feature 2)" in shown
    assert "after the logarithm of 1 feature;" in shown


def test_the_folder_of_one_fold(podium_command, files, tmp_path):
    fold = tmp_path / "Fold1"
    fold.mkdir()
    for name in ("train.txt", "vali.txt", "test.txt"):
        podium.write_letor(files.queries, fold / name)
    result = podium_command("train", fold, "--method", "regression", "-o", tmp_path / "m.podium")
    assert "validation:" in result.out
    (tmp_path / "Fold2").mkdir()
    for name in ("train.txt", "vali.txt", "test.txt"):
        podium.write_letor(files.queries, tmp_path / "Fold2" / name)
    result = podium_command("train", tmp_path, "--method", "regression", "-o", tmp_path / "m.podium")
    assert result.code == 2
    assert "several folds (Fold1, Fold2)" in result.err


def test_validation_data_that_mention_fewer_features(podium_command, files, tmp_path):
    narrow = tmp_path / "narrow.txt"
    narrow.write_text("1 qid:1 1:0.5\n0 qid:1 2:0.1\n")
    out = tmp_path / "m.podium"
    result = podium_command("train", files.paths["txt"], "--valid", narrow, "--method", "listnet", "-o", out)
    assert result.code == 0, result.err
    assert len(podium_command("rank", out, narrow).out.splitlines()) == 2


def test_an_interrupted_training_writes_nothing(podium_command, files, tmp_path, monkeypatch):
    from podium.rankers.presets.listnet import ListNet

    def fit(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(ListNet, "fit", fit)
    out = tmp_path / "m.podium"
    out.write_text("the model of yesterday")
    result = podium_command("train", files.paths["txt"], "--method", "listnet", "-o", out)
    assert result.code == 130
    assert result.err == "podium: interrupted\n"
    assert out.read_text() == "the model of yesterday"
    assert [path.name for path in tmp_path.iterdir()] == ["m.podium"]


@pytest.mark.parametrize("what", ["--method listnet", "--method lambdamart", "--method rankboost", "--scorer mlp"])
def test_ctrl_c_keeps_the_model_so_far(podium_command, files, tmp_path, monkeypatch, what):
    from podium.training.monitor import Watch

    record = Watch.record

    def interrupted_in_the_third(self, *values):
        if len(self.losses) == 2:
            raise KeyboardInterrupt
        return record(self, *values)

    monkeypatch.setattr(Watch, "record", interrupted_in_the_third)
    out = tmp_path / "m.podium"
    loss = ["--loss", "RankNetLoss"] if "--scorer" in what else []
    with pytest.warns(ConvergenceWarning):
        result = podium_command("train", files.paths["txt"], *what.split(), *loss, "-o", out)
    assert result.code == 130
    step = podium.load(out).convergence_.step
    assert f"interrupted after 2 {step}s; the model so far is in {out}" in result.err
    assert podium.load(out).convergence_.interrupted
    assert podium.load(out).n_iter_ == 2
    assert "trained" not in result.out


def test_an_interruption_before_the_first_iteration_keeps_the_file(podium_command, files, tmp_path, monkeypatch):
    from podium.training.objective import Objective

    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Objective, "__call__", interrupt)
    out = tmp_path / "m.podium"
    out.write_text("the model of yesterday")
    with pytest.warns(ConvergenceWarning):
        result = podium_command("train", files.paths["txt"], "--method", "listnet", "-o", out)
    assert result.code == 130
    assert "nothing was written" in result.err
    assert out.read_text() == "the model of yesterday"


def test_early_stopping_watches_the_first_metric(podium_command, files, tmp_path):
    out, data = tmp_path / "m.podium", files.paths["txt"]
    train = ["train", data, "--method", "lambdamart", "--set", "n_trees=5", "--valid", data, "-o", out]
    podium_command(*train, "--metrics", "p@2,map", "--convention", "letor")
    convergence = podium.load(out).convergence_
    assert convergence.metric == "p@2 (letor)"
    ranker = podium.load(out)
    best = podium.evaluate(files.queries, ranker.predict(files.queries), metrics=["p@2"], convention="letor").mean
    assert max(convergence.validation) == pytest.approx(best["p@2"])


def test_a_model_file_tells_where_it_comes_from(podium_command, files, tmp_path, monkeypatch):
    monkeypatch.chdir(files.folder)
    out = tmp_path / "m.podium"
    arguments = ["train", "data.txt", "--valid", "data.txt.gz", "--method", "gbdt", "--set", "n_trees=2", "-o", out]
    assert podium_command(*arguments).code == 0
    origin = podium.load(out).provenance_
    training, validation = origin["data"]["training"], origin["data"]["validation"]
    assert (training["file"], validation["file"]) == ("data.txt", "data.txt.gz")
    assert (training["rows"], training["queries"]) == (files.queries.n_documents, 24)
    assert training["sha256"] == hashlib.sha256(Path("data.txt").read_bytes()).hexdigest()
    assert origin["command"] == f"podium train data.txt --valid data.txt.gz --method gbdt --set n_trees=2 -o {out}"
    assert origin["podium"] == podium.__version__
    assert {"numpy", "scipy", "numba", "lightgbm", "scikit-learn"} < origin.keys()
    again = podium.load(out)
    again.save(tmp_path / "copy.podium")
    assert podium.load(tmp_path / "copy.podium").provenance_["data"] == origin["data"]
    again.fit(files.queries).save(tmp_path / "refitted.podium")
    assert "data" not in podium.load(tmp_path / "refitted.podium").provenance_


def test_distilling(podium_command, files, tmp_path):
    out = tmp_path / "m.podium"
    train = ["train", files.paths["txt"], "--method", "listnet", "--normalize", "minmax", "-o", out]
    result = podium_command(*train, "--distill", "gbdt", "--set-student", "n_trees=20", "--json", "--metrics", "map")
    assert result.code == 0, result.err
    student = podium.load(out)
    assert (type(student).__name__, student.n_trees, student.n_leaves) == ("GBDT", 20, 15)
    assert student.distillation_ == json.loads(result.out)["distillation"] == student.provenance_["distillation"]
    assert student.distillation_["metric"] == "map (standard)"
    assert 0.7 < student.distillation_["kept"] < 1.2
    shown = podium_command("show", out)
    assert "gbdt, distilled from listnet (GBDT)" in shown.out
    printed = podium_command(*train, "--distill", "regression")
    assert "distilled: ndcg@10 (standard): teacher 0." in printed.out
    assert "on 24 queries by cross-fitting in 5 folds, which neither was fitted on" in printed.out
    assert "--set-student goes with --distill" in podium_command(*train, "--set-student", "l2=1").err


def test_training_goes_on(podium_command, files, tmp_path):
    data, first, second = files.paths["txt"], tmp_path / "first.podium", tmp_path / "second.podium"
    assert podium_command("train", data, "--method", "gbdt", "--set", "n_trees=3", "-o", first).code == 0
    narrow = tmp_path / "narrow.txt"  # it does not mention the last features
    narrow.write_text("".join(f"{i % 3} qid:{i // 10} 1:{i * 7 % 10} 2:{i % 3}\n" for i in range(100)))
    result = podium_command("train", narrow, "--init", first, "--set", "n_trees=2", "-o", second, "--json")
    assert result.code == 0, result.err
    went_on = podium.load(second)
    assert (went_on.model_.forest.n_trees, went_on.n_iter_, went_on.n_trees) == (5, 2, 2)
    assert went_on.provenance_["init"]["sha256"] == hashlib.sha256(first.read_bytes()).hexdigest()
    assert json.loads(result.out)["method"] == "gbdt"
    for arguments, message in {
        ("--method", "listnet"): "the same kind of model",
        ("--set", "l3=1"): "has no parameter 'l3'",
        ("--method", "gbdt", "--tune"): "--init goes on with one setting",
    }.items():
        refused = podium_command("train", data, "--init", first, *arguments, "-o", second)
        assert refused.code == 2
        assert message in refused.err


BAD_REQUESTS = {
    "train {data} --loss NoLoss -o {out}": "no loss named 'NoLoss'; there are ApproxMRRLoss",
    "train {data} --loss ListNetLoss --scorer forest -o {out}": "no scorer named 'forest'; there are ",
    "train {data} --loss ListNetLoss --scorer torch -o {out}": "torch cannot be made without arguments",
    "train {data} --loss ListNetLoss --set ties=1 -o {out}": "neither the loss nor the scorer has a parameter 'ties'",
    "train {data} --method listnet --scorer trees -o {out}": "--scorer goes with --loss",
    "train no-such.txt --method pmop -o {out}": "no-such.txt: No such file",
    "train {data} --method lisnet -o {out}": "Did you mean listnet",
    "train {data} --method listnet --set l3=1 -o {out}": "listnet has no parameter 'l3'",
    "train {data} --method listnet --set l2=-1 -o {out}": "l2",
    "train {malformed} --method listnet -o {out}": "malformed.txt:2: ",
    "train {data} --qid-column q --method listnet -o {out}": "LETOR format",
    "train {csv} --method listnet -o {out}": "qid",
    "train {data} --method listnet --metrics ngcd -o {out}": "no metric is called 'ngcd'",
    "train {data} --method listnet --convention leter -o {out}": "no convention is called 'leter'",
    "rank {data} {data}": "data.txt",
    "rank no-such.podium {data}": "no-such.podium: No such file",
    "evaluate {data} {short}": "it has 1 scores for the",
    "evaluate {data} {words}": "words.txt:3: 'hello' is not a score",
    "evaluate": "either DATA and SCORES, or both --qrels and --run",
    "evaluate --qrels {data}": "either DATA and SCORES",
    "evaluate {data} {short} --qrels {data} --run {data}": "either DATA and SCORES",
    "compare {empty}": "no folds in",
    "compare {empty} --qid-column q": "naming columns is for CSV and Parquet",
    "compare {empty} --folds 3": "which has folds of its own",
    "compare no-such-folder": "no-such-folder: No such file",
}


@pytest.mark.parametrize("request_", BAD_REQUESTS)
def test_errors_are_messages(podium_command, files, tmp_path, monkeypatch, request_):
    monkeypatch.chdir(tmp_path)
    contents = {"malformed": "1 qid:1 1:0.5\n0 qid:1 1:x\n", "short": "1.0\n", "words": "1.0\n\nhello\n"}
    for name, text in contents.items():
        (tmp_path / f"{name}.txt").write_text(text)
    (tmp_path / "empty").mkdir()
    places = {name: tmp_path / f"{name}.txt" for name in contents}
    places |= {"data": files.paths["txt"], "csv": files.paths["csv"], "empty": tmp_path / "empty", "out": "m.podium"}
    argv = [word.format(**places) for word in request_.split()]
    result = podium_command(*argv)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("podium: error: ")
    assert BAD_REQUESTS[request_] in result.err
    assert "Traceback" not in result.err
    assert not (tmp_path / "m.podium").exists()
    assert "Traceback" in podium_command("--debug", *argv).err


def test_documents_without_grades_are_ranked(podium_command, files, model, expected, tmp_path):
    ungraded = tmp_path / "ungraded.txt"
    lines = Path(files.paths["txt"]).read_text().splitlines()
    ungraded.write_text("".join(f"{line.split(' ', 1)[1]}\n" for line in lines))
    result = podium_command("rank", model, ungraded)
    assert [float(line) for line in result.out.splitlines()] == expected.tolist()


def test_columns_of_text_are_left_out_with_a_line_in_train_and_rank(podium_command, tmp_path):
    table, saved = tmp_path / "table.csv", tmp_path / "model.podium"
    table.write_text("qid,label,title,x,y\n1,1,foo,0,2\n1,0,bar,1,1\n2,1,foo,0,1\n2,0,baz,1,3\n")
    trained = podium_command("train", table, "--method", "regression", "--valid", table, "-o", saved)
    assert trained.code == 0
    assert trained.err.count("table.csv: columns without numbers are left out: 'title'\n") == 1
    assert podium.load(saved).feature_names_in_.tolist() == ["x", "y"]
    ranked = podium_command("rank", saved, table)
    assert (ranked.code, ranked.err, len(ranked.out.splitlines())) == (0, "", 4)


def test_messages_name_the_options_of_the_command_line(podium_command, model, tmp_path):
    table, letor = tmp_path / "table.csv", tmp_path / "zero.txt"
    table.write_text("qid,label,x\n1,1,0.5\n1,0,foo\n")
    result = podium_command("train", table, "--method", "listnet", "-o", tmp_path / "no.podium")
    assert result.code == 2
    assert "--features" in result.err
    assert "--document-column" in result.err
    assert "features=" not in result.err
    letor.write_text("1 qid:1 0:1\n")
    result = podium_command("rank", model, letor)
    assert "features are numbered from 1" in result.err
    assert "zero_based" not in result.err
