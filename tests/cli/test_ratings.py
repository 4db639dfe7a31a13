"""From a file of ratings to a file of recommendations, and what can go wrong on the way."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import polars
import pytest

import podium
from podium.core import atomic
from podium.ratings import recommendation_files


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> SimpleNamespace:
    """Ratings of invented users and items in a file, and a model of them."""
    folder = tmp_path_factory.mktemp("shop")
    ratings = podium.make_ratings(30, 40, 400, min_ratings=5, random_state=1)
    frame = polars.DataFrame({"user": ratings.users, "item": ratings.items, "rating": ratings.values})
    frame.write_csv(folder / "ratings.csv")
    ranker = podium.PMF(n_factors=2, random_state=0).fit(podium.read_ratings(folder / "ratings.csv"))
    ranker.save(folder / "pmf.podium")
    return SimpleNamespace(folder=folder, file=folder / "ratings.csv", model=folder / "pmf.podium", ranker=ranker)


def interrupted(*_, **__):
    """Do what Ctrl-C does."""
    raise KeyboardInterrupt


def test_three_commands(podium_command, shop, tmp_path, monkeypatch):
    """Compare, train what it picked, recommend: from a ratings file to a recommendations file."""
    monkeypatch.chdir(tmp_path)
    compared = podium_command(
        *("ratings", "compare", shop.file, "--methods", "pmf", "--n", "5", "--min-test", "2", "--replicates", "2"),
        *("--jobs", "1", "--out", "run", "--quiet"),
    )
    assert compared.code == 0, compared.err
    trained = podium_command("ratings", "train", "--from-run", "run/given-5", "--method", "pmf", "-o", "m.podium")
    assert trained.code == 0, trained.err
    assert "chosen among 6 settings on held-out ratings of 2 replicates: l2=" in trained.out
    done = podium_command("ratings", "recommend", "m.podium", "--users", "all", "-n", "3", "-o", "recs.csv")
    assert done.code == 0, done.err
    found = polars.read_csv("recs.csv")
    assert found.columns == ["user", "item", "score", "rank"]
    ranker = podium.load("m.podium")
    expected = [
        (user, item, score, rank)
        for user in ranker.user_ids_.tolist()
        for rank, (item, score) in enumerate(zip(*map(np.ndarray.tolist, ranker.recommend(user, 3)), strict=True), 1)
    ]
    assert found.rows() == expected
    # The stored trials decide: the setting with the highest mean over the held-out ratings of both replicates.
    comparison = podium.experiments.Comparison.load("run/given-5")
    trials = [t for r in comparison.results if r.method == "pmf" for t in r.trials]
    means = {v: np.nanmean(np.concatenate([t.validation_values for t in trials if t.parameters["l2"] == v]))
             for v in {t.parameters["l2"] for t in trials}}  # fmt: skip
    assert ranker.l2 == max(means, key=means.get)


def test_factors_of_ordered_partitions(podium_command, shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = podium_command("ratings", "train", shop.file, "--method", "pmop-factors", "-o", "m.podium")
    assert done.code == 0, done.err
    assert podium_command("ratings", "recommend", "m.podium", "--users", "all", "-n", "10", "-o", "recs.csv").code == 0
    assert Path("recs.csv").read_text().startswith("user,item,score,rank\n")
    assert "loss           PMOPLoss()" in podium_command("show", "m.podium").out


def test_train_is_the_fit_in_python(podium_command, shop, tmp_path):
    model = tmp_path / "m.podium"
    done = podium_command(
        *("ratings", "train", shop.file, "--method", "pmf", "--set", "n_factors=2", "--seed", "0", "-o", model)
    )
    assert done.code == 0, done.err
    assert f"To recommend: podium ratings recommend {model}" in done.out
    n_items = shop.ranker.seen_.n_items
    assert f"400 ratings, 30 users, {n_items} items" in done.out
    loaded = podium.load(model)
    np.testing.assert_array_equal(loaded.model_.user_factors, shop.ranker.model_.user_factors)
    facts = loaded.provenance_["data"]["training"]
    assert (facts["ratings"], facts["users"], facts["items"]) == (400, 30, n_items)
    shown = podium_command("show", model)
    assert shown.code == 0, shown.err
    for words in (
        "pmf",
        "users          30",
        f"items          {n_items}",
        "ratings        400",
        "factors        3",
        "400 ratings",
    ):
        assert words in shown.out
    content = json.loads(podium_command("show", model, "--json").out)
    assert (content["biases"], content["loss"], content["unknown users"]) == ("of items", None, "the average user")


def test_train_with_columns_validation_and_json(podium_command, shop, tmp_path):
    frame = polars.read_csv(shop.file)
    named = frame.select(stars="rating", film="item", who="user")
    named[:300].write_csv(tmp_path / "a.csv")
    named[300:].write_csv(tmp_path / "b.csv")
    done = podium_command(
        *("ratings", "train", tmp_path / "a.csv", "--columns", "who,film,stars", "--valid", tmp_path / "b.csv"),
        *("--method", "pmf", "-o", tmp_path / "m.podium", "--json"),
    )
    assert done.code == 0, done.err
    summary = json.loads(done.out)
    ranker = podium.load(tmp_path / "m.podium")
    held_out = podium.read_ratings(tmp_path / "b.csv", columns=["who", "film", "stars"])
    assert summary["validation"]["ndcg@10"] == pytest.approx(podium.evaluate_ratings(ranker, held_out).mean["ndcg@10"])
    assert ranker.convergence_.best_iter is not None  # the validation ratings chose it


def test_tune(podium_command, shop, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tune = ["ratings", "train", shop.file, "--method", "pmf", "--tune", "--set", "n_factors=2", "--jobs", "1"]
    other = podium_command(*tune, "--convention", "letor", "--metrics", "ndcg@5", "--trials", "t", "-o", "m.podium")
    assert "ndcg@5 (letor) 0." in other.out.splitlines()[2], other.err
    done = podium_command(*tune, "-o", "m.podium")
    assert done.code == 0, done.err
    ranker = podium.load("m.podium")
    chosen = ranker.provenance_["tuning"]["parameters"]["l2"]
    assert f"chosen among 6 settings on held-out ratings: l2={chosen}" in done.out
    assert (ranker.l2, ranker.n_factors) == (chosen, 2)
    assert Path("podium-runs/ratings-pmf/run.sqlite").exists()
    # By hand, as the comparison's search holds out and judges.
    ratings = podium.read_ratings(shop.file)
    train, held_out = podium.ratings.splits.hold_out(ratings, 0.3, (0, 0, 1))
    values = {}
    for l2 in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0):
        tried = podium.PMF(n_factors=2, l2=l2, random_state=0).fit(train, eval_set=held_out)
        values[l2] = podium.evaluate_ratings(tried, held_out, metrics="ndcg@10").mean["ndcg@10"]
    assert chosen == max(values, key=values.get)
    assert ranker.provenance_["tuning"]["value"] == pytest.approx(max(values.values()))


def test_all_formats_say_the_same(podium_command, shop, tmp_path):
    paths = [tmp_path / name for name in ("r.csv", "r.csv.gz", "r.parquet", "r.jsonl", "r.jsonl.gz")]
    for path in paths:
        done = podium_command("ratings", "recommend", shop.model, "-n", "4", "-o", path)
        assert done.code == 0, done.err
        assert "119 recommendations for 30 users" in done.err  # one user has rated all but three items
    printed = podium_command("ratings", "recommend", shop.model, "-n", "4", "--quiet")
    assert printed.out == paths[0].read_text() == gzip.decompress(paths[1].read_bytes()).decode()
    assert printed.err == ""
    expected = polars.read_csv(paths[0]).rows()
    assert polars.read_parquet(paths[2]).rows() == expected
    lines = paths[3].read_text()
    assert [tuple(json.loads(line).values()) for line in lines.splitlines()] == expected
    assert gzip.decompress(paths[4].read_bytes()).decode() == lines


def test_users_by_file(podium_command, shop, tmp_path, monkeypatch):
    monkeypatch.setattr("podium.ratings.recommending.BLOCK", 2)
    first, second = shop.ranker.user_ids_[[4, 1]].tolist()
    users = tmp_path / "users"
    for content in (f"{first}\n\n{second}\n{first}\n999\n", f'age,user\n3,{first}\n4,"{second}"\n5,999\n'):
        users.write_text(content)
        done = podium_command("ratings", "recommend", shop.model, "--users", users, "-n", "2", "--include-seen")
        assert done.code == 0, done.err
        rows = polars.read_csv(done.out.encode()).rows()
        assert [row[0] for row in rows] == [first, first, second, second, 999, 999]
        for user in (first, second, 999):
            best = shop.ranker.recommend(user, 2, exclude_seen=False)
            assert [row[1] for row in rows if row[0] == user] == best.items.tolist()
        assert "1 of 3 users were not in the training data" in done.err
        assert f"{users}:{4 if 'age' in content else 5}: user 999" in done.err
        assert ("names 1 id again" in done.err) == ("age" not in content)
    table = polars.DataFrame({"user": [first, second]})
    table.write_parquet(tmp_path / "users.parquet")
    done = podium_command("ratings", "recommend", shop.model, "--users", tmp_path / "users.parquet", "-n", "1")
    assert [row[0] for row in polars.read_csv(done.out.encode()).rows()] == [first, second]
    for content, error in (
        ("7\nseven\n", r":2: 'seven' is not a number, as the ids of the model's users are"),
        ("07\n", r":1: '07' is not a number"),
        ("user,age\n,3\n", r":2: the user is missing"),
        ("\n", "no users in"),
    ):
        users.write_text(content)
        done = podium_command("ratings", "recommend", shop.model, "--users", users)
        assert done.code == 2
        assert error in done.err
    table.rename({"user": "who"}).write_parquet(tmp_path / "users.parquet")
    done = podium_command("ratings", "recommend", shop.model, "--users", tmp_path / "users.parquet")
    assert "there is no column 'user'; there are who" in done.err


def test_users_that_are_texts(podium_command, tmp_path):
    mixed = np.array(["ann", 7, "bob"], dtype=object)
    podium.ItemMean().fit((mixed, ["a,b", "c", "c"], [5, 3, 2])).save(tmp_path / "m.podium")
    (tmp_path / "users").write_text("7\nann\n")
    done = podium_command("ratings", "recommend", tmp_path / "m.podium", "--users", tmp_path / "users")
    assert [line.rpartition(",")[0].rpartition(",")[0] for line in done.out.splitlines()[1:]] == ['7,"a,b"', "ann,c"]
    strict = podium.ItemMean()
    strict.cold = "error"
    strict.fit((["ann", "bob"], ["x", "y"], [5, 3])).save(tmp_path / "m.podium")
    (tmp_path / "users").write_text("bob\n\neve\n")
    done = podium_command("ratings", "recommend", tmp_path / "m.podium", "--users", tmp_path / "users")
    assert done.code == 2
    assert "users:3: user eve was not in the training data, as 1 of 2 users were not" in done.err


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        (["train", "{file}", "-o", "m"], "give --method NAME"),
        (["train", "--method", "pmf", "-o", "m"], "give the file of ratings"),
        (["train", "{file}", "--method", "pfm", "-o", "m"], "Did you mean pmf"),
        (["train", "{file}", "--method", "pmf", "--set", "l3=1", "-o", "m"], "pmf has no parameter 'l3'"),
        (["train", "{file}", "--method", "pmf", "--columns", "user,film,rating", "-o", "m"], "no column 'film'"),
        (["train", "{file}", "--method", "pmf", "--budget", "3", "-o", "m"], "go with --tune"),
        (["train", "{file}", "--method", "pmf", "--data", "x", "-o", "m"], "--data goes with --from-run"),
        (["train", "{file}", "--method", "pmf", "--tune", "--valid", "x", "-o", "m"], "leave out --valid"),
        (["train", "{file}", "--from-run", "x", "-o", "m"], "leave out FILE"),
        (["train", "--from-run", "x", "-o", "m"], "not the folder of a comparison"),
        (["recommend", "{model}", "-o", "recs.xlsx"], "recs.xlsx: recommendations are written to .csv"),
        (["recommend", "{model}", "-o", "recs.parquet.gz"], "recs.parquet.gz: recommendations are written to"),
        (["recommend", "{model}", "--users", "nobody.txt"], "nobody.txt: No such file"),
        (["export", "{model}", "-o", "."], "holds other files"),
    ],
)
def test_refused(podium_command, shop, tmp_path, monkeypatch, arguments, error):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "other").touch()
    known = {"{file}": shop.file, "{model}": shop.model}
    done = podium_command("ratings", *(known.get(argument, argument) for argument in arguments))
    assert done.code == 2
    assert error in done.err
    assert [path.name for path in tmp_path.iterdir()] == ["other"]


def test_models_of_the_other_kind(podium_command, files, shop, tmp_path):
    podium.ListNet().fit(files.queries).save(tmp_path / "m.podium")
    for command in ("recommend", "export"):
        done = podium_command("ratings", command, tmp_path / "m.podium", "-o", tmp_path / "recs.csv")
        assert done.code == 2
        assert "is a model of documents (ListNet): podium rank ranks them" in done.err
    done = podium_command("rank", shop.model, files.paths["txt"])
    assert done.code == 2
    assert "is a model of users' ratings (PMF)" in done.err


@pytest.mark.parametrize("name", ["recs.csv", "recs.parquet"])
def test_nothing_is_left_of_work_that_ends_early(podium_command, shop, tmp_path, monkeypatch, name):
    (tmp_path / name).write_text("before")
    monkeypatch.setattr(recommendation_files, "top_blocks", interrupted)
    done = podium_command("ratings", "recommend", shop.model, "-o", tmp_path / name)
    assert done.code == 130
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_text() == "before"


def test_a_folder_that_cannot_be_written_to_is_told_first(podium_command, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(atomic.os, "access", lambda *_: False)
    for arguments in (
        ["train", shop.file, "--method", "pmf"],
        ["recommend", shop.model],
        ["export", shop.model],
    ):
        done = podium_command("ratings", *arguments, "-o", tmp_path / "out.csv")
        assert done.code == 2
        assert "out.csv: Permission denied" in done.err


def test_interrupted_training_writes_nothing(podium_command, shop, tmp_path, monkeypatch):
    monkeypatch.setattr(podium.PMF, "_penalty", interrupted)
    done = podium_command("ratings", "train", shop.file, "--method", "pmf", "-o", tmp_path / "m.podium")
    assert done.code == 130
    assert not list(tmp_path.iterdir())


def test_progress_of_long_work_is_told(podium_command, shop, tmp_path, monkeypatch):
    monkeypatch.setattr("podium.ratings.recommending.top_blocks.__kwdefaults__", {"exclude_seen": True, "size": 6})
    monkeypatch.setattr("podium.cli.output.Counter._LONG", 0.0)
    done = podium_command("ratings", "recommend", shop.model, "-o", tmp_path / "r.csv")
    assert done.err.count("] recommending") == 5
    assert "[30/30] recommending" in done.err
