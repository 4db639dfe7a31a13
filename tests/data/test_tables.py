"""Reading tables, and telling formats apart."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from podium.data.io.formats import is_table, read_queries
from podium.data.io.tables import read_table
from podium.ratings import read_ratings

CSV = "qid,label,f1,f2,id\n1,2,0.5,1,a\n1,0,-3.25,,b\n2,1,0,7,c\n"


@pytest.fixture
def table(file: Callable[..., Path]) -> Callable[..., Path]:
    """Return a function that writes text to a file, by default data.csv, and returns its path."""
    return lambda text, name="data.csv": file(text, name)


def check_simple(q) -> None:
    assert q.features.dtype == np.float64
    np.testing.assert_array_equal(q.features, [[0.5, 1], [-3.25, np.nan], [0, 7]])
    assert q.labels.tolist() == [2, 0, 1]
    assert (q.qids.tolist(), q.offsets.tolist()) == ([1, 2], [0, 2, 3])
    assert q.document_ids.tolist() == ["a", "b", "c"]
    assert q.feature_names == ("f1", "f2")


@pytest.mark.parametrize("name", ["data.csv", "data.CSV.GZ", "data.csv.gz", "data"])
@pytest.mark.parametrize("separator", [",", "\t", ";", "|"])
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_csv(table, name: str, separator: str, line_end: str) -> None:
    path = table(CSV.replace(",", separator).replace("\n", line_end), name)
    check_simple(read_table(path, document_id="id"))
    check_simple(read_queries(path, document_id="id"))


def test_byte_order_mark(table) -> None:
    check_simple(read_table(table("\ufeff" + CSV), document_id="id"))


def test_parquet(table, tmp_path: Path) -> None:
    frame = pl.read_csv(table(CSV))
    for name in ("data.parquet", "data"):
        frame.write_parquet(tmp_path / name)
        check_simple(read_table(tmp_path / name, document_id="id"))
        check_simple(read_queries(str(tmp_path / name), document_id="id"))
    frame.cast({"f1": pl.Float32, "f2": pl.Float32}).write_parquet(tmp_path / "narrow.parquet")
    assert read_table(tmp_path / "narrow.parquet", document_id="id").features.dtype == np.float32


def test_columns_by_name(table) -> None:
    path = table("a,b,c,query,grade\n1,2,3,x,0\n4,5,6,x,1\n")
    q = read_table(path, qid="query", label="grade")
    assert q.features.tolist() == [[1, 2, 3], [4, 5, 6]]
    q = read_table(path, qid="query", label="grade", features=["c", "a"])
    assert q.features.tolist() == [[3, 1], [6, 4]]
    assert q.feature_names == ("c", "a")
    q = read_table(path, qid="query", label=None, features=["b"])
    assert not q.has_labels


def test_ids_keep_their_leading_zeros(table) -> None:
    q = read_table(table("qid,label,f,id\n7,0,1,01\n007,1,2,1\n"), document_id="id")
    assert q.qids.tolist() == ["7", "007"]
    assert q.document_ids.tolist() == ["01", "1"]


def test_numbers_that_appear_late_in_a_column(table) -> None:
    """Types are found from whole columns: an integer column may turn out fractional in its last row."""
    q = read_table(table("qid,label,f\n" + "1,0,3\n" * 2000 + "1,1,0.5\n"))
    assert q.features[-1].tolist() == [0.5]


def test_several_tables(table) -> None:
    q = read_table(table("qid,label,f\n1,0,3\n", "a.csv"), table("label,f,qid\n1,2.5,x\n", "b.csv"))
    assert q.qids.tolist() == ["1", "x"]
    assert q.features.tolist() == [[3], [2.5]]
    with pytest.raises(ValueError, match=r"c\.csv and .*a\.csv differ in their columns 'f', 'g'"):
        read_table([table("qid,label,f\n1,0,3\n", "a.csv"), table("qid,label,g\n1,0,3\n", "c.csv")])


@pytest.mark.parametrize(
    ("text", "options", "message"),
    [
        (CSV, {"label": "lable"}, r"no column 'lable'; the columns are 'qid', .* Did you mean 'label'\?"),
        (CSV, {"qid": "query"}, "no column 'query'; the columns are 'qid', 'label'"),
        (CSV, {"document_id": "doc"}, "no column 'doc'"),
        (CSV, {"features": ["f1", "f3"]}, "no column 'f3'"),
        (CSV, {"features": ["f1", "id"]}, r"column 'id', row 0 .*: 'a' is not a number"),
        (
            CSV.replace("-3.25", "abc"),
            {"document_id": "id"},
            r"column 'f1', row 1 \(from 0\): 'abc' is not a number \(1 such values in 3 rows\)",
        ),
        (CSV.replace("1,0,-", "1,x,-"), {"document_id": "id"}, "column 'label', row 1 .*: 'x' is not a number"),
        (CSV.replace("1,0,", "1,,"), {"document_id": "id"}, "the label of row 1 is nan"),
        (CSV.replace("1,0,", ",0,"), {"document_id": "id"}, "the query id of row 1 is missing"),
        (CSV + "3,1,1,1,x,9,9\n", {"document_id": "id"}, None),
        ("qid,label,f\n", {}, "no documents in"),
        ("", {}, "the first line must name the columns"),
        ("qid,label\n1,2\n", {}, "no column of numbers is left for features besides 'qid', 'label'"),
    ],
)
def test_errors(table, text: str, options: dict, message: str | None) -> None:
    with pytest.raises(ValueError, match=message or r"data\.csv:5: 7 fields, but the header has 5") as error:
        read_table(table(text), **options)
    assert "data.csv" in str(error.value)


def test_broken_parquet(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"PAR1 and nothing else")
    with pytest.raises(ValueError, match=r"x\.parquet: broken Parquet file"):
        read_table(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="no documents in no files"):
        read_table()


def test_dates_are_no_features(tmp_path: Path) -> None:
    frame = pl.DataFrame({"qid": [1], "label": [1], "f": [0.5], "when": [None]}, schema_overrides={"when": pl.Date})
    frame.write_parquet(tmp_path / "x.parquet")
    with pytest.raises(ValueError, match="column 'when' holds Date, not numbers"):
        read_table(tmp_path / "x.parquet")


def test_formats_are_told_apart(table) -> None:
    letor = table("\n# comment, with commas\n1 qid:1 1:0.5 # a,b\n", "data.txt")
    assert not is_table(letor)
    assert read_queries(letor).features.tolist() == [[0.5]]
    assert read_queries([letor, str(letor)]).n_documents == 2
    assert read_queries(letor, n_features=3).n_features == 3
    assert not is_table(table("2 1:0.5\n", "rank.train.gz"))
    assert is_table(table("qid,label,f\n1,1,1\n", "data.txt"))
    assert is_table(table("whatever", "data.tsv"))
    with pytest.raises(ValueError, match=r"data: unknown format; .* the first line is 'hello world'"):
        is_table(table("hello world\n", "data"))
    with pytest.raises(ValueError, match="some are tables and some LETOR files"):
        read_queries(table("1 qid:1 1:1\n", "a.txt"), table("qid,label,f\n1,1,1\n", "b.csv"))
    with pytest.raises(ValueError, match="no documents in"):
        read_queries(table("", "empty"))
    with pytest.raises(FileNotFoundError):
        read_queries("does-not-exist.txt")


def test_real_files(shared_data: Path) -> None:
    assert read_queries(shared_data / "ohsumed" / "Fold1" / "testset.txt.gz").n_features == 25
    assert len(read_queries(shared_data / "lightgbm-rank" / "rank.test.gz")) == 50


def test_a_line_with_too_few_fields_is_an_error_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "short.csv"
    path.write_text("qid,label,x,y\n1,1,0.5,\n1,0,0.25,1\n2,1,3\n2,0,1,1\n")
    with pytest.raises(ValueError, match=r"short\.csv:4: 3 fields, but the header has 4"):
        read_table(path)
    path.write_text("qid,label,x,y\n1,1,0.5,\n1,0,0.25,1\n")  # an empty last field is fine
    np.testing.assert_array_equal(read_table(path).features, [[0.5, np.nan], [0.25, 1.0]])


def test_a_column_of_grades_is_no_feature_of_documents_without_labels(tmp_path: Path) -> None:
    path = tmp_path / "graded.csv"
    path.write_text("qid,label,x\n1,1,0.5\n1,0,0.25\n")
    with pytest.warns(
        UserWarning, match=r"graded\.csv: the column 'label' is taken for grades and left out; .* features="
    ):
        read = read_table(path, label=None)
    assert read.feature_names == ("x",)
    assert not read.has_labels
    assert read_table(path, label=None, features=["label"]).feature_names == ("label",)
    assert read_table(path, ignore=["x"], features=["x"]).feature_names == ("x",)


def test_columns_without_numbers_are_left_out_by_name(tmp_path: Path) -> None:
    path = tmp_path / "titles.csv"
    path.write_text("qid,label,title,x,empty\n1,1,foo,0.5,\n1,0,bar,0.25,\n")
    with pytest.warns(UserWarning, match=r"titles\.csv: columns without numbers are left out: 'title', 'empty'$"):
        assert read_table(path).feature_names == ("x",)
    path.write_text("qid,label,title\n1,1,foo\n1,0,bar\n")
    with pytest.warns(UserWarning, match="'title'"), pytest.raises(ValueError, match="no column of numbers is left"):
        read_table(path)
    path.write_text("qid,label,x\n1,1,foo\n1,0,2\n")  # a typing error among numbers is no column of text
    with pytest.raises(ValueError, match=r"'foo' is not a number .* features="):
        read_table(path)


@pytest.mark.parametrize(
    ("text", "line"), [("a\r,1,2\na,0,3\n", 2), ('"x\r",1,2\nx\r\r\n', 3), ("a,1,\r2\na,0,3\n", 2)]
)
def test_a_carriage_return_within_a_line_is_an_error(tmp_path: Path, text: str, line: int) -> None:
    """Polars drops it at the end of a field, so that ids would merge."""
    path = tmp_path / "t.csv"
    path.write_bytes(f"qid,label,x\n{text}".encode())
    with pytest.raises(ValueError, match=rf"t\.csv:{line}: a carriage return within the line"):
        read_table(path)
    with pytest.raises(ValueError, match=rf"t\.csv:{line}: a carriage return within the line"):
        read_ratings(path)


def test_carriage_returns_in_quotes_and_at_ends_of_lines_are_none(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes(b'qid,label,x\r\n"a\r",1,2\r\na,0,3\r')
    assert read_table(path).qids.tolist() == ["a\r", "a"]


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_names_of_columns_are_no_patterns(ending, tmp_path):
    path = tmp_path / f"table.{ending}"
    frame = pl.DataFrame({"qid": ["x", "x"], "label": [0, 1], "ab": [1.0, 2.0], "*": [3.0, 4.0], "^a.*$": [5.0, 6.0]})
    frame.write_csv(path) if ending == "csv" else frame.write_parquet(path)
    queries = read_table(path)
    assert queries.feature_names == ("ab", "*", "^a.*$")
    assert queries.features.tolist() == [[1.0, 3.0, 5.0], [2.0, 4.0, 6.0]]


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ('qid,label,f\n1,0,2\n1,1,"7,"5",6\n5",6\n', 3),
        ('qid,label,f\n1,0,"2"3\n', 2),
        ('qid,label,f\n1,0,"2\n1,1,3\n', 2),
    ],
)
def test_a_field_that_goes_on_after_its_quotes_is_refused(tmp_path, text, line):
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(ValueError, match=rf"table\.csv:{line}: .*quotation marks"):
        read_table(path)


def test_quotation_marks_where_they_are_certain(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text('"qid",label,title,f\r\n"1",0,"a ""b"", c\nd",2\r\n1,1,5" by 7",3\r\n')
    queries = read_table(path, ignore=["title"])
    assert queries.labels.tolist() == [0, 1]
    assert queries.features.ravel().tolist() == [2, 3]
