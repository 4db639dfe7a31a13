"""Files and frames that workers read; what one process reads is the oracle."""

from __future__ import annotations

from pathlib import Path

import dask.dataframe
import fsspec
import numpy as np
import pandas
import pytest

import podium
from podium.dask import from_dataframe, from_queries, read_letor, read_table


@pytest.fixture(scope="module")
def queries() -> podium.Queries:
    made = podium.make_queries(n_queries=40, n_documents=12, n_features=5, random_state=3)
    return podium.Queries(made.features.astype(np.float32), made.labels, qid=np.repeat(made.qids + 100, made.sizes))


@pytest.fixture(scope="module")
def files(queries, tmp_path_factory) -> list[str]:
    """Three files of whole queries: the second lacks the last feature, the third is packed."""
    folder = tmp_path_factory.mktemp("letor")
    features = queries.features.copy()
    features[queries.offsets[10] : queries.offsets[25], -1] = 0
    whole = queries.with_features(features)
    names = ["a.txt", "b.txt", "c.txt.gz"]
    for name, (first, stop) in zip(names, [(0, 10), (10, 25), (25, 40)], strict=True):
        part = whole.between(first, stop)
        narrow = part.with_features(part.features[:, :4]) if name == "b.txt" else part
        podium.write_letor(narrow, folder / name)
    return [str(folder / name) for name in names]


def same(d, expected: podium.Queries) -> None:
    found = d.collect()
    for name in ("features", "labels", "offsets", "qids"):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)


def test_letor_files(client, files) -> None:
    expected = podium.read_letor(files)
    for paths in (files, [f"file://{path}" for path in files]):
        d = read_letor(paths, client=client)
        assert d.starts.tolist() == [0, 10, 25, 40]
        assert (d.n_features, d.dtype, d.has_labels) == (5, np.float32, True)
        same(d, expected)
    folder = files[0].removesuffix("a.txt")
    same(read_letor(f"file://{folder}*.txt*", client=client), expected)
    assert not read_letor(files[0], labeled=False, client=client).has_labels


def test_a_file_in_another_file_system(files) -> None:
    """fsspec's memory stands for a store: its files are copied; errors name the address."""
    from podium.dask.reading import local_file

    memory = fsspec.filesystem("memory")
    memory.put_file(files[0], "/store/a.txt")
    with local_file("memory://store/a.txt") as path:
        assert Path(path).read_text() == Path(files[0]).read_text()
    with (
        pytest.raises(ValueError, match=r"^memory://store/a\.txt:3: no good$"),
        local_file("memory://store/a.txt") as path,
    ):
        raise ValueError(f"{path}:3: no good")
    memory.rm("/store", recursive=True)


def test_files_that_are_wrong(client, files, tmp_path) -> None:
    with pytest.raises(FileNotFoundError, match=r"nothing\*: there is no such file"):
        read_letor(str(tmp_path / "nothing*"), client=client)
    (tmp_path / "bad.txt").write_text("1 qid:1 1:0.5\n1 qid:1 1:zero\n")
    with pytest.raises(ValueError, match=r"bad\.txt:2: the value of '1:zero' is not a number"):
        read_letor(str(tmp_path / "bad.txt"), client=client)


def test_ids_are_texts_if_one_of_them_is(client, tmp_path) -> None:
    (tmp_path / "1.txt").write_text("1 qid:1 1:0.5\n0 qid:1 1:0.25\n")
    (tmp_path / "2.txt").write_text("1 qid:x 1:0.5\n0 qid:1 1:0.75\n")
    paths = [str(tmp_path / "1.txt"), str(tmp_path / "2.txt")]
    same(read_letor(paths, cut="shuffle", client=client), podium.read_letor(paths))


def test_tables(client, queries, tmp_path) -> None:
    for number, (first, stop) in enumerate([(0, 15), (15, 40)]):
        podium.data.write_table(queries.between(first, stop), tmp_path / f"{number}.parquet")
    d = read_table(f"file://{tmp_path}/*.parquet", qid="qid", label="label", client=client)
    same(d, podium.read_table([tmp_path / "0.parquet", tmp_path / "1.parquet"]))
    assert d.feature_names == tuple(f"feature_{j}" for j in range(1, 6))


@pytest.fixture(scope="module")
def frame(queries) -> pandas.DataFrame:
    columns = {f"f{j}": queries.features[:, j] for j in range(5)}
    return pandas.DataFrame({"query": np.repeat(queries.qids, queries.sizes), "grade": queries.labels, **columns})


def test_a_query_that_is_cut_is_named(client, frame) -> None:
    cut = dask.dataframe.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match=r"query \d+ has documents in partition 0 and partition 1.*cut=.shuffle"):
        from_dataframe(cut, qid="query", label="grade", client=client)
    with pytest.raises(ValueError, match="cut must be"):
        from_dataframe(cut, qid="query", label="grade", cut="ignore", client=client)


@pytest.mark.parametrize("mixed", [False, True], ids=["cut", "mixed"])
def test_a_shuffle_brings_queries_together(client, frame, mixed) -> None:
    """Rows in their order, of which borders cut two queries; and in a random order, in which all queries are cut."""
    rows = frame.iloc[np.random.default_rng(0).permutation(len(frame))] if mixed else frame
    rows = rows.reset_index(drop=True)
    expected = podium.Queries.from_frame(rows, qid="query", label="grade")
    d = from_dataframe(
        dask.dataframe.from_pandas(rows, npartitions=3), qid="query", label="grade", cut="shuffle", client=client
    )
    if not mixed:  # queries are numbered by first appearance in both, as long as the order is the same
        same(d, expected)
    else:
        assert sorted(d.qids.tolist()) == sorted(expected.qids.tolist())
    ranker = podium.ListNet(max_iter=3, tolerance=1.0).fit(expected)
    np.testing.assert_allclose(ranker.predict(d).compute(), ranker.predict(expected), rtol=1e-12)
    ours = podium.evaluate(d, ranker.predict(d))
    theirs = podium.evaluate(expected, ranker.predict(expected))
    place = {qid: number for number, qid in enumerate(ours.qids.tolist())}
    order = [place[qid] for qid in theirs.qids.tolist()]
    np.testing.assert_allclose(ours.per_query["ndcg@5"][order], theirs.per_query["ndcg@5"], rtol=1e-12)


def test_repartitioned_at_the_borders_of_blocks(client, files, queries) -> None:
    d = read_letor(files, client=client).repartitioned(4)
    assert d.starts.tolist() == from_queries(podium.read_letor(files), 4, client=client).starts.tolist()
    same(d, podium.read_letor(files))


def test_splits_and_samples_are_those_of_one_process(client, queries) -> None:
    d = from_queries(queries, 4, client=client)
    for found, expected in zip(
        podium.train_test_split(d, random_state=1), podium.train_test_split(queries, random_state=1), strict=True
    ):
        same(found, expected)
    fold, local = (next(iter(podium.k_folds(q, 5, random_state=2))) for q in (d, queries))
    same(fold[2], local[2])
    sampled = d.sample(7, random_state=3)
    assert len(sampled) == 7
    same(sampled, queries.take(np.isin(queries.qids, sampled.qids)))
    with pytest.raises(ValueError, match="41 queries cannot be drawn from 40"):
        d.sample(41)
