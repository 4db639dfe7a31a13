"""Results in a run of MLflow, read back from its store."""

from __future__ import annotations

import doctest
import warnings

import pytest

import podium

mlflow = pytest.importorskip("mlflow", reason="mlflow-skinny, of the extra mlflow, is not installed")

pytestmark = pytest.mark.filterwarnings("ignore")  # of MLflow's own stores


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # mlflow-skinny has no database
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.end_run()


@pytest.fixture(scope="module")
def queries():
    return podium.make_queries(n_queries=30, n_documents=5, n_features=3, random_state=0)


def files(run, folder=None):
    return sorted(found.path for found in mlflow.MlflowClient().list_artifacts(run.info.run_id, folder))


def test_a_ranker_and_its_evaluation(store, queries, tmp_path):
    ranker = podium.RankNet(l2=0.5, max_iter=4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ranker.fit(queries, eval_set=queries, eval_metric="ndcg@5 (letor)")
    evaluation = podium.evaluate(queries, ranker.predict(queries), metrics=["ndcg@5", "map"], convention="letor")
    with mlflow.start_run() as active:
        podium.mlflow.log(ranker)
        podium.mlflow.log(evaluation, prefix="test_")
    client = mlflow.MlflowClient()
    run = client.get_run(active.info.run_id)
    assert (run.data.params["l2"], run.data.params["test_convention"]) == ("0.5", "letor")
    assert run.data.metrics["test_ndcg_at_5"] == evaluation.mean["ndcg@5"]
    curve = client.get_metric_history(active.info.run_id, "loss")
    assert [(point.step, point.value) for point in curve] == list(enumerate(ranker.convergence_.losses, 1))
    assert len(client.get_metric_history(active.info.run_id, "ndcg_at_5")) == ranker.n_iter_
    assert files(run) == ["model.podium"]
    kept = podium.load(client.download_artifacts(active.info.run_id, "model.podium", str(tmp_path)))
    assert kept.predict(queries).tolist() == ranker.predict(queries).tolist()


def test_a_comparison(store, queries):
    comparison = podium.compare(queries, ["regression"], folds=3, metrics=["ndcg@5"], jobs=1)
    podium.mlflow.log(comparison)  # starts a run
    run = mlflow.MlflowClient().get_run(mlflow.active_run().info.run_id)
    assert run.data.metrics["regression/ndcg_at_5"] == comparison.figure("regression", "ndcg@5")
    assert run.data.params["primary"] == "ndcg@5"
    assert "comparison/report.html" in files(run, "comparison")


def test_the_documented_example(store):
    documented = podium.mlflow.log.__doc__.replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(documented, {}, "podium.mlflow.log", None, 0)
    ran = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS).run(example)
    assert (ran.failed, ran.attempted) == (0, 6)


def test_other_things_are_refused(store):
    with pytest.raises(TypeError, match="not a RankNet"):
        podium.mlflow.log(podium.RankNet())
