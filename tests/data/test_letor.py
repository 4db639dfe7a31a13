"""Reading LETOR files."""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

from podium.data.io import files
from podium.data.io.letor.reader import read_letor
from podium.data.io.parsing import lines

from .letor_oracle import SIMPLE, as_matrix, read_in_plain_python, same_bits

# ---- what lines say


def test_simple_file(file) -> None:
    q = read_letor(file(SIMPLE))
    assert q.features.dtype == np.float32
    assert q.features.tolist() == [[0.5, 1], [-3.25, 0], [0, 7]]
    assert q.labels.tolist() == [2, 0, 1]
    assert q.qids.dtype == np.int64
    assert (q.qids.tolist(), q.offsets.tolist()) == ([1, 2], [0, 2, 3])
    assert q.document_ids.tolist() == ["a", "b", "c"]


def test_paths_as_text_and_in_lists(file) -> None:
    path = file(SIMPLE)
    for q in (read_letor(str(path)), read_letor([path]), read_letor([str(path)])):
        assert q.n_documents == 3


class FullDisk(io.BytesIO):
    def write(self, content: object) -> int:
        raise OSError(28, "No space left on device")


def test_a_large_gzip_file_is_unpacked_to_a_temporary_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("podium.data.io.files._IN_MEMORY", 20)
    text = b"\xef\xbb\xbf" + SIMPLE.encode()
    (tmp_path / "data.gz").write_bytes(gzip.compress(text[:30]) + gzip.compress(text[30:]))
    (tmp_path / "data.txt").write_text(SIMPLE)
    packed, plain = read_letor(tmp_path / "data.gz"), read_letor(tmp_path / "data.txt")
    np.testing.assert_array_equal(packed.features, plain.features)
    assert packed.qids.tolist() == plain.qids.tolist()
    source = files.TextSource(tmp_path / "data.gz")
    assert source._unpacked is None
    assert source.span(source.start, source.stop).tobytes() == SIMPLE.encode()
    (tmp_path / "bad.gz").write_bytes(gzip.compress(SIMPLE.encode() + b"x qid:1 1:1\n"))
    with pytest.raises(ValueError, match=r"bad.gz:\d+: the grade 'x' is not a number"):
        read_letor(tmp_path / "bad.gz")
    monkeypatch.setattr(tempfile, "TemporaryFile", FullDisk)
    with pytest.raises(OSError, match=r"data.gz: its text cannot be unpacked .* set TMPDIR"):
        read_letor(tmp_path / "data.gz")


@pytest.mark.parametrize("name", ["data.txt.gz", "data.TXT.GZ", "data"])
def test_packed_files(file, name: str) -> None:
    assert read_letor(file(SIMPLE, name)).document_ids.tolist() == ["a", "b", "c"]


def test_gzip_is_found_by_content(tmp_path: Path) -> None:
    (tmp_path / "data.txt").write_bytes(gzip.compress(SIMPLE[:30].encode()) + gzip.compress(SIMPLE[30:].encode()))
    assert read_letor(tmp_path / "data.txt").n_documents == 3
    (tmp_path / "data.txt.gz").write_text(SIMPLE)
    assert read_letor(tmp_path / "data.txt.gz").n_documents == 3


@pytest.mark.parametrize(
    "text",
    [
        SIMPLE.replace("\n", "\r\n"),
        SIMPLE.rstrip("\n"),
        SIMPLE.rstrip("\n") + "\r",
        SIMPLE.replace(" ", "\t"),
        SIMPLE.replace(" ", "  \t ").replace("\n", " \n"),
        "\ufeff" + SIMPLE,
        "\n\n  \n# a comment\n   # another\n" + SIMPLE.replace("\n", "\n\n \t\r\n#\n"),
        SIMPLE.replace(" #", "#"),
        SIMPLE.replace("\n", "   \n"),
        "  " + SIMPLE.replace("\n", "\n  "),
    ],
    ids=[
        "crlf",
        "no last line end",
        "no last line end but cr",
        "tabs",
        "many blanks",
        "byte order mark",
        "blank lines and comments",
        "no blank before comments",
        "blanks at the end",
        "blanks at the start",
    ],
)
def test_layout_makes_no_difference(file, text: str) -> None:
    q = read_letor(file(text))
    assert q.features.tolist() == [[0.5, 1], [-3.25, 0], [0, 7]]
    assert q.labels.tolist() == [2, 0, 1]
    assert q.qids.tolist() == [1, 2]
    assert q.document_ids.tolist() == ["a", "b", "c"]


def test_lines_of_every_length_to_the_end_of_the_file(file) -> None:
    """The fast path looks ahead many bytes; the last lines are where that must not happen."""
    for n in range(70):
        padding = "#" + "x" * n + "\n"
        for tail in ("1 qid:7 1:0.25 12:-123.456789", "3 qid:7", "1 qid:7 9:1 #docid = z"):
            q = read_letor(file(padding + tail), n_features=12)
            expected = {1: 0.25, 12: np.float32(-123.456789)} if "12:" in tail else {9: 1.0} if "9:" in tail else {}
            assert {j + 1: q.features[0, j] for j in np.flatnonzero(q.features[0])} == expected


def test_numbers_of_every_kind(file) -> None:
    texts = [
        "nan",
        "inf",
        "-inf",
        "1e5",
        "-3.2E-4",
        "+1",
        "-0",
        ".5",
        "5.",
        "12345678901234567890",
        "1e-50",
        "1e60",
        "0001",
    ]
    line = " ".join(f"{j}:{text}" for j, text in enumerate(texts, 1))
    for dtype in (np.float32, np.float64):
        q = read_letor(file(f"-1.5 qid:1 {line}\n"), dtype=dtype)
        with np.errstate(over="ignore"):
            assert same_bits(q.features[0], np.array([float(text) for text in texts]).astype(dtype))
        assert q.labels.tolist() == [-1.5]


def test_features_in_any_order(file) -> None:
    """The largest index need not be a line's last: the first guess of the width is then too small."""
    text = "1 qid:1 3:3 1:1 9:9 2:2\n0 qid:1 4:4\n"
    expected = [[1, 2, 3, 0, 0, 0, 0, 0, 9], [0, 0, 0, 4, 0, 0, 0, 0, 0]]
    assert read_letor(file(text)).features.tolist() == expected
    q = read_letor(file(text), sparse=True)
    assert q.features.toarray().tolist() == expected
    assert q.features.has_sorted_indices


def test_sparse_and_dense_agree(file) -> None:
    path = file("1 qid:1 2:0.1 5:7\n0 qid:1\n2 qid:1 1:0 3:1e-40\n")
    for dtype in (np.float32, np.float64):
        dense, matrix = (read_letor(path, sparse=s, dtype=dtype).features for s in (False, True))
        assert sparse.issparse(matrix)
        assert matrix.format == "csr"
        assert matrix.nnz == 4  # the zero that was written is kept
        assert same_bits(matrix.toarray(), dense)


def test_number_of_features(file) -> None:
    path = file(SIMPLE)
    for s in (False, True):
        assert read_letor(path, n_features=5, sparse=s).n_features == 5
        with pytest.raises(ValueError, match=r"data.txt:1: the index of '2:1' is beyond n_features=1"):
            read_letor(path, n_features=1, sparse=s)
        assert read_letor(file("1 qid:1\n0 qid:1\n", "none"), sparse=s).features.shape == (2, 0)


def test_zero_based(file) -> None:
    path = file("1 qid:1 0:5 2:6\n")
    for s in (False, True):
        q = read_letor(path, zero_based=True, sparse=s)
        assert (q.features.toarray() if s else q.features).tolist() == [[5, 0, 6]]
        with pytest.raises(ValueError, match=r"data.txt:1: '0:5' has index 0; pass zero_based=True"):
            read_letor(path, sparse=s)


# ---- query and document ids


@pytest.mark.parametrize(
    ("ids", "expected"),
    [
        (["10", "-3", "0"], [10, -3, 0]),
        (["10", "x7", "1"], ["10", "x7", "1"]),
        (["7", "007", "0"], ["7", "007", "0"]),
        (["-0", "0", "1"], ["-0", "0", "1"]),
        (["123456789012345678", "1", "2"], [123456789012345678, 1, 2]),
        (["12345678901234567890", "1", "2"], ["12345678901234567890", "1", "2"]),
        (["a:b", "ünï", "1.0"], ["a:b", "ünï", "1.0"]),
    ],
)
def test_query_ids(file, ids: list[str], expected: list) -> None:
    q = read_letor(file("".join(f"1 qid:{qid} 1:1\n" for qid in ids)))
    assert q.qids.tolist() == expected


def test_documents_of_a_query_need_not_stand_together(file) -> None:
    q = read_letor(file("1 qid:b 1:1\n2 qid:a 1:2\n3 qid:b 1:3\n"))
    assert (q.qids.tolist(), q.labels.tolist(), q.features.ravel().tolist()) == (["b", "a"], [1, 3, 2], [1, 3, 2])


@pytest.mark.parametrize(
    ("comment", "expected"),
    [
        ("#docid = GX008-86-4444840 inc = 1 prob = 0.08", "GX008-86-4444840"),
        ("#docid=7", "7"),
        ("# docid  =  7  ", "7"),
        ("#docid = a#b", "a#b"),
        ("# any other: comment 1:2 ", "any other: comment 1:2"),
        ("#docid", "docid"),
        ("#docid =", "docid ="),
        ("#docids = 3", "docids = 3"),
        ("#", ""),
        ("", ""),
        ("# sm\u00f8rrebr\u00f8d \u2713", "sm\u00f8rrebr\u00f8d \u2713"),
    ],
)
def test_comments_are_document_ids(file, comment: str, expected: str) -> None:
    q = read_letor(file(f"1 qid:1 1:1 {comment}\n0 qid:1 1:2 #docid = other\n"))
    assert q.document_ids.tolist() == [expected, "other"]
    assert q.features.tolist() == [[1], [2]]


def test_no_comments_no_document_ids(file) -> None:
    assert read_letor(file("1 qid:1 1:1\n0 qid:1 1:2 #\n")).document_ids is None


@pytest.mark.parametrize("text", [b"1 qid:1 1:1 #docid = caf\xe9\n", b"1 qid:caf\xe9 1:1\n"])
def test_ids_that_are_not_utf8_are_errors(file, text) -> None:
    with pytest.raises(ValueError, match=r":2: not UTF-8 text \(byte 0xe9\); convert the file"):
        read_letor(file(b"1 qid:caf\\xe9 1:1 #docid = caf\\xe9\n" + text))


def test_a_zero_at_the_end_of_an_id_makes_another(file) -> None:
    q = read_letor(file(b"1 qid:a 1:1 #docid = x\n1 qid:a\0 1:1 #docid = x\0\n"))
    assert q.qids.tolist() == ["a", "a\0"]
    assert q.document_ids.tolist() == ["x", "x\0"]


def test_one_long_comment_does_not_make_all_ids_long(file) -> None:
    text = "".join(f"1 qid:1 1:1 #docid = {i}\n" for i in range(1000)) + f"1 qid:1 1:1 #{'y' * 9_000}\n"
    ids = read_letor(file(text)).document_ids
    assert ids.dtype == object
    assert ids[999] == "999"
    assert len(ids[1000]) == 9_000


# ---- several files, files without query ids


def test_several_files(file) -> None:
    a = file("1 qid:1 1:1\n2 qid:2 3:1\n", "a")
    b = file("3 qid:2 1:5 #docid = x\n4 qid:z 2:1", "b.gz")
    q = read_letor(a, b)
    assert q.qids.tolist() == ["1", "2", "z"]
    assert q.labels.tolist() == [1, 2, 3, 4]
    assert q.features.tolist() == [[1, 0, 0], [0, 0, 1], [5, 0, 0], [0, 1, 0]]
    assert q.document_ids.tolist() == ["", "", "x", ""]
    s = read_letor([a, b], sparse=True)
    assert s.features.toarray().tolist() == q.features.tolist()


def test_an_empty_file_among_others_is_fine(file) -> None:
    assert read_letor(file("", "a"), file(SIMPLE, "b")).n_documents == 3


def test_sizes_in_place_of_query_ids(file, tmp_path: Path) -> None:
    path = file("1 1:1\n2 1:2\n3 1:3\n", "rank.gz")
    for group in ([2, 1], np.array([2, 1]), file("2\r\n1\n\n", "sizes"), [str(tmp_path / "sizes")]):
        q = read_letor(path, group=group)
        assert (q.offsets.tolist(), q.labels.tolist()) == ([0, 2, 3], [1, 2, 3])
    file("1\n2\n", "rank.query")
    assert read_letor(path).offsets.tolist() == [0, 1, 3]
    plain = file("4 1:4\n", "more")
    file("1\n", "more.query")
    assert read_letor(path, plain).offsets.tolist() == [0, 1, 3, 4]


def test_errors_about_sizes(file) -> None:
    path = file("1 1:1\n2 1:2\n", "rank")
    with pytest.raises(ValueError, match=r"rank has no query ids .* there is no .*rank\.query; pass group="):
        read_letor(path)
    with pytest.raises(ValueError, match=r"sizes: the sizes add up to 3, but .*rank has 2 documents"):
        read_letor(path, group=file("3\n", "sizes"))
    with pytest.raises(ValueError, match=r"sizes:2: 'x' is not a number of documents"):
        read_letor(path, group=file("1\nx\n", "sizes"))
    with pytest.raises(ValueError, match="sizes add up to 3, but there are 2 documents"):
        read_letor(path, group=[3])
    with pytest.raises(ValueError, match="names 1 files for 2 data files"):
        read_letor(path, path, group="sizes")
    with pytest.raises(ValueError, match="has query ids"):
        read_letor(file(SIMPLE), group=[3])


# ---- chunks and threads, random files, real files


def random_text(rng: np.random.Generator, n: int, n_features: int) -> str:
    """Lines with numbers of many shapes."""
    formats = ["{:.6f}", "{:.8f}", "{!r}", "{:.18e}", "{:.3g}", "{:.0f}", "{:.25f}"]
    rows = []
    for i in range(n):
        present = np.flatnonzero(rng.random(n_features) < 0.7) + 1
        values = rng.normal(size=len(present)) * 10.0 ** rng.integers(-6, 6, len(present))
        if rng.random() < 0.1:
            rng.shuffle(present)
        texts = [formats[k].format(float(v)) for k, v in zip(rng.integers(0, 7, len(values)), values, strict=True)]
        features = " ".join(f"{j}:{text}" for j, text in zip(present, texts, strict=True))
        rows.append(f"{rng.integers(0, 5)} qid:{i // 7} {features} #docid = d{i}")
    return "\n".join(rows)


@pytest.mark.parametrize("chunk_bytes", [1, 100, 5000, 1 << 21])
def test_random_file_in_chunks_of_any_size(file, monkeypatch, chunk_bytes: int) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", chunk_bytes)
    n = 12 if chunk_bytes == 1 else 300
    path = file(random_text(np.random.default_rng(chunk_bytes), n, 20))
    labels, qids, features = read_in_plain_python(path)
    for dtype in (np.float32, np.float64):
        expected = as_matrix(features, 20, dtype)
        for s in (False, True):
            q = read_letor(path, dtype=dtype, sparse=s, n_features=20)
            # Making a CSR matrix dense adds its entries to zeros, and 0 + -0 is 0.
            assert same_bits(q.features.toarray() if s else q.features, expected + 0 if s else expected)
            assert q.labels.tolist() == labels
            assert np.repeat(q.qids, q.sizes).astype(str).tolist() == qids
            assert q.document_ids.tolist() == [f"d{i}" for i in range(n)]


def test_the_first_of_several_errors_is_reported(file, monkeypatch) -> None:
    monkeypatch.setattr(lines, "CHUNK_BYTES", 40)
    text = "".join(f"1 qid:1 1:{'bad' if i in (70, 90) else i}\n" for i in range(200))
    with pytest.raises(ValueError, match=r":71: the value of '1:bad'"):
        read_letor(file(text))


def test_letor_files(shared_data: Path) -> None:
    path = shared_data / "ohsumed" / "Fold1" / "testset.txt.gz"
    labels, qids, features = read_in_plain_python(path)
    q = read_letor(path, dtype=np.float64)
    assert same_bits(q.features, as_matrix(features, 25, np.float64))
    assert q.labels.tolist() == labels
    assert np.repeat(q.qids, q.sizes).astype(str).tolist() == qids
    assert q.document_ids[:2].tolist() == ["7612", "7710"]  # as the file's first lines say


def test_mslr_files(shared_data: Path) -> None:
    path = shared_data / "mslr-sample" / "train.txt.gz"
    labels, _, features = read_in_plain_python(path)
    q = read_letor(path)
    assert (len(q), q.features.shape, q.document_ids) == (43, (5000, 136), None)
    assert same_bits(q.features, as_matrix(features, 136, np.float32))
    assert q.labels.tolist() == labels


def test_lightgbm_files(shared_data: Path) -> None:
    folder = shared_data / "lightgbm-rank"
    for part, n_queries in (("train", 201), ("test", 50)):
        q = read_letor(folder / f"rank.{part}.gz", n_features=300, sparse=True)
        sizes = (folder / f"rank.{part}.query").read_text().split()
        assert q.sizes.tolist() == [int(size) for size in sizes]
        assert len(q) == n_queries
        from sklearn.datasets import load_svmlight_file

        X, y = load_svmlight_file(str(folder / f"rank.{part}.gz"), n_features=300, dtype=np.float32, zero_based=False)
        assert np.array_equal(q.labels, y)
        assert (q.features != X).nnz == 0


def test_lines_without_grades(file) -> None:
    text = "qid:7 1:0.5 2:1.00000000000000000000000001 #docid = a\nqid:7 2:3\n"
    queries = read_letor(file(text), labeled=False)
    np.testing.assert_array_equal(queries.features, [[0.5, 1.0], [0.0, 3.0]])
    assert not queries.has_labels
    assert queries.qids.tolist() == [7]
    graded = read_letor(file("2 qid:7 1:0.5\nqid:7 1:3\n"), labeled=False)  # a grade is read over
    np.testing.assert_array_equal(graded.features, [[0.5], [3.0]])
    with pytest.raises(ValueError, match=r":1: the grade 'qid:7' is not a number"):
        read_letor(file(text))
