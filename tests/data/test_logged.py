"""Rows logged by search engines, in the forms that the engines write, and their judgments."""

from __future__ import annotations

import gzip
import json

import numpy as np
import pytest

from podium import Queries, join_judgments, read_logged, read_table, write_queries

# As Solr 8.11.4 answered to fl=id,score,[features]&qid=q1&echoParams=all, shortened.
SOLR = """{
  "responseHeader":{
    "status":0,
    "QTime":1,
    "params":{
      "q":"title:tea",
      "echoParams":"all",
      "qid":"q1",
      "fl":"id,score,[features]"}},
  "response":{"numFound":2,"start":0,"maxScore":0.06069608,"numFoundExact":true,"docs":[
      {
        "id":"007",
        "score":0.06069608,
        "[features]":"bm25=0.5,age=2.0,clicks=0.0"},
      {
        "id":"7",
        "score":0.06069608,
        "[features]":"bm25=1.0,age=0.0,clicks=3.5"}]
  }}
"""


def solr(*documents, qid="q1"):
    parameters = {} if qid is None else {"params": {"qid": qid}}
    return {"responseHeader": {"status": 0, **parameters}, "response": {"numFound": 1, "docs": list(documents)}}


def hit(name, entries, log="main", **more):
    """As the documentation of the plugins shows it."""
    return {"_index": "shop", "_id": name, "_score": 1.0, "fields": {"_ltrlog": [{log: entries}]}, **more}


def opensearch(*hits):
    return {"took": 2, "timed_out": False, "hits": {"total": {"value": len(hits)}, "hits": list(hits)}}


def write(path, *values):
    path.write_text("\n".join(value if isinstance(value, str) else json.dumps(value) for value in values))
    return path


def as_dict(queries):
    """Return {query: {document: [features]}}."""
    found = {}
    for query, rows in zip(queries.qids.tolist(), queries.slices(), strict=True):
        ids, values = queries.document_ids[rows].tolist(), queries.features[rows].tolist()
        found[query] = dict(zip(ids, values, strict=True))
    return found


def test_solr_response_as_it_is(tmp_path):
    queries = read_logged(write(tmp_path / "answer.json", SOLR))
    assert as_dict(queries) == {"q1": {"007": [0.5, 2.0, 0.0], "7": [1.0, 0.0, 3.5]}}
    assert queries.feature_names == ("bm25", "age", "clicks")
    assert not queries.has_labels


def test_responses_one_after_another_and_packed(tmp_path):
    with gzip.open(tmp_path / "a.json.gz", "wt") as file:
        file.write(SOLR + SOLR.replace('"q1"', '"q2"') + json.dumps([solr({"id": "x", "[features]": "age=4"}, qid=3)]))
    second = write(tmp_path / "b.json", {"query": "q1", "document": 8, "features": {"age": 1, "bm25": 2}})
    queries = read_logged(tmp_path / "a.json.gz", second)
    assert as_dict(queries)["q1"] == {"007": [0.5, 2.0, 0.0], "7": [1.0, 0.0, 3.5], "8": [2.0, 1.0, 0.0]}
    assert as_dict(queries)["3"] == {"x": [0.0, 4.0, 0.0]}
    assert list(as_dict(queries)) == ["q1", "q2", "3"]


@pytest.mark.parametrize(
    "features",
    ["a=1.5,b=-2e-3", {"a": 1.5, "b": -0.002}, [{"name": "a", "value": 1.5}, {"name": "b", "value": -0.002}]],
)
def test_styles_of_solr_features(tmp_path, features):
    queries = read_logged(write(tmp_path / "x.json", solr({"id": "d", "[features]": features})))
    assert queries.feature_names == ("a", "b")
    assert queries.features.tolist() == [[1.5, -0.002]]


def test_sparse_features_are_zero_as_in_the_engines_or_as_you_say(tmp_path):
    documents = [{"id": "x", "[features]": "a=1"}, {"id": "y", "[features]": "b=2,a=3"}, {"id": "z", "[features]": ""}]
    path = write(tmp_path / "x.json", solr(*documents))
    assert read_logged(path).features.tolist() == [[1, 0], [3, 2], [0, 0]]
    np.testing.assert_array_equal(read_logged(path, missing=np.nan).features, [[1, np.nan], [3, 2], [np.nan, np.nan]])
    chosen = read_logged(path, feature_names=["c", "b"])
    assert chosen.feature_names == ("c", "b")
    assert chosen.features.tolist() == [[0, 0], [0, 2], [0, 0]]


def test_opensearch_logs(tmp_path):
    first = hit("7", [{"name": "title", "value": 9.5}, {"name": "body"}], log="qid:q 1")
    second = hit(
        "8", [{"name": "title", "value": 1.0}, {"name": "body", "value": 2.5}], matched_queries=["x", "qid:q2"]
    )
    queries = read_logged(write(tmp_path / "x.json", {"responses": [opensearch(first), opensearch(second)]}))
    assert as_dict(queries) == {"q 1": {"7": [9.5, 0.0]}, "q2": {"8": [1.0, 2.5]}}
    assert queries.feature_names == ("title", "body")


def test_ways_to_name_the_query(tmp_path):
    silent = solr({"id": "d", "shop_query": ["9"], "[features]": "a=1"}, qid=None)
    path = write(tmp_path / "tea-4.json", silent)
    assert read_logged(path, query="007").qids.tolist() == ["007"]
    assert read_logged(path, query_pattern="tea-{query}.json").qids.tolist() == ["4"]
    assert read_logged(path, qid="shop_query").qids.tolist() == ["9"]
    wrapped = {"query": "w", "response": silent}
    assert read_logged(write(tmp_path / "w.json", wrapped)).qids.tolist() == ["w"]
    wrapped = {"query": "w", "response": opensearch(hit("d", [{"name": "a", "value": 1}]))}
    assert read_logged(write(tmp_path / "w.json", wrapped)).qids.tolist() == ["w"]
    with pytest.raises(ValueError, match=r"tea-4.json:1: the response does not say its query: .*echoParams"):
        read_logged(path)
    with pytest.raises(ValueError, match="does not match the pattern"):
        read_logged(path, query_pattern="coffee-{query}.json")


def test_the_last_of_repeated_rows_counts(tmp_path):
    rows = [{"query": "q", "document": d, "features": {"a": a}} for d, a in (("x", 1), ("y", 2), ("x", 3))]
    assert as_dict(read_logged(write(tmp_path / "x.jsonl", *rows))) == {"q": {"x": [3.0], "y": [2.0]}}


def test_rows_without_names(tmp_path):
    rows = [{"query": "q", "document": d, "features": [d, 0.5]} for d in (1, 2)]
    path = write(tmp_path / "x.jsonl", *rows)
    assert read_logged(path).feature_names is None
    assert read_logged(path).features.tolist() == [[1, 0.5], [2, 0.5]]
    assert read_logged(path, feature_names=["a", "b"]).feature_names == ("a", "b")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"query": 1}\n', r":1: found an object with 'query'; expected a Solr"),
        ('\n{"query": 1, "document": 2, "features": {"a": 1}}\n{"query": 1,', r":3: this is not JSON"),
        ('{"query": 1, "features": {"a": 1}}', r':1: this row has no "document"'),
        ('{"document": 1, "features": {"a": 1}}', r':1: this row has no "query"'),
        ('{"query": 1, "document": 2, "features": {"a": "x"}}', r":1: feature 'a' is \"x\", not a number"),
        ('{"query": 1, "document": 2, "features": {"a": true}}', r":1: feature 'a' is true"),
        ('{"query": 1, "document": {}, "features": {}}', r":1: the document id is \{\}"),
        ('{"query": 1, "document": 2, "features": "a1,b=2"}', r"expected features as 'name=value,name=value', found"),
        ('{"query": 1, "document": 2, "features": "a=1,a=2"}', r"named twice"),
        ('{"query": 1, "document": 2, "features": {}}', r"no features at all"),
        (
            '{"query": 1, "document": 2, "features": [1]}\n{"query": 1, "document": 3, "features": [1, 2]}',
            r":2: 2 feat",
        ),
        (
            '{"query": 1, "document": 2, "features": [1]}\n{"query": 1, "document": 3, "features": {"a": 1}}',
            r":2: these",
        ),
        ("[1]", r":1: found 1; expected"),
        ('{"error": {"msg": "undefined field"}}', r":1: the engine answered with an error.*undefined field"),
        ('{"grouped": {}}', r"group.main=true"),
        (json.dumps(solr({"id": "1"})), r"no field '\[features\]', only 'id'"),
        (json.dumps(solr({"[features]": "a=1"})), r"no field 'id'"),
        (json.dumps(opensearch({"_id": "1"})), r"the hit '1' has no _ltrlog"),
        ("", r"no documents in"),
        ("\udcff", r":1: not UTF-8 text"),
    ],
)
def test_errors_say_where_and_what(tmp_path, text, message):
    path = tmp_path / "log.json"
    path.write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(ValueError, match=message) as error:
        read_logged(path)
    assert "log.json" in str(error.value) or "no features at all" in str(error.value)


LOGGED = Queries(
    [[1.0], [2.0], [3.0], [4.0]],
    qid=["a", "a", "b", "a"],
    document_ids=["007", "7", "x", "z"],
    feature_names=["f"],
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("qrels.txt", "a 0 007 2\na 0 gone 1\na 0 z -1\nlost 0 x 1\n"),
        ("grades.csv", "grade,Query,docId\n2,a,007\n1,a,gone\n1,lost,x\n"),
        ("grades.txt", "query\tdocument\tgrade\na\t007\t2\na\tgone\t1\nlost\tx\t1.0\n"),
    ],
)
def test_judgments_are_joined_by_text(tmp_path, name, text):
    (tmp_path / name).write_text(text)
    joined = join_judgments(LOGGED, tmp_path / name)
    assert as_dict(joined.queries) == {"a": {"007": [1.0]}}
    assert joined.queries.labels.tolist() == [2.0]
    assert joined.queries.feature_names == ("f",)
    assert joined.n_judged == 1
    assert joined.unjudged == (("a", "7"), ("a", "z"))
    assert joined.unjudged_queries == ("b",)
    assert joined.n_in_unjudged_queries == 1
    assert joined.missing == (("a", "gone"), ("lost", "x"))
    zero = join_judgments(LOGGED, tmp_path / name, unjudged="zero")
    assert zero.queries.labels.tolist() == [2.0, 0.0, 0.0]
    assert zero.queries.document_ids.tolist() == ["007", "7", "z"]


def test_columns_of_judgments_can_be_named(tmp_path):
    (tmp_path / "grades.csv").write_text("stars,topic,query,sku\n3,x,a,007\n")
    with pytest.raises(ValueError, match=r"no column of the document .*document_id="):
        join_judgments(LOGGED, tmp_path / "grades.csv")
    joined = join_judgments(LOGGED, tmp_path / "grades.csv", document_id="sku", label="stars")
    assert joined.queries.labels.tolist() == [3.0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("query,document,grade\na,007,\n", r"none of its 1 rows has a grade"),
        ("query,document,grade\na,007,good\n", r"the grade 'good' is not"),
        ("query,document,grade\na,007,1\na,007,2\n", r"row 2 below the header: document '007' occurs a second time"),
        ("query,document,grade\n,007,1\n", r"must both be given"),
        ("query,document,grade\nA,007,1\n", r"no query of the 4 logged documents is judged there.*'A'"),
        ("query,document,grade\na,0007,1\n", r"no document of the 4 logged documents is judged there.*'0007'"),
    ],
)
def test_bad_judgments(tmp_path, text, message):
    (tmp_path / "grades.csv").write_text(text)
    with pytest.raises(ValueError, match=message):
        join_judgments(LOGGED, tmp_path / "grades.csv")


@pytest.mark.parametrize("name", ["data.parquet", "data.csv", "data.tsv.gz"])
def test_tables_read_back(tmp_path, name):
    queries = LOGGED.with_labels([2, 0, 1, 0.5])
    write_queries(queries, tmp_path / name)
    again = read_table(tmp_path / name)
    assert again.qids.tolist() == ["a", "b"]
    assert again.document_ids.tolist() == queries.document_ids.tolist()
    assert again.labels.tolist() == [2, 0, 1, 0.5]
    assert again.features.tolist() == queries.features.tolist()
    assert again.feature_names == ("f",)


def test_a_feature_cannot_be_named_like_another_column(tmp_path):
    queries = Queries([[1.0]], [1], qid=[1], feature_names=["label"])
    with pytest.raises(ValueError, match="a feature is named 'label'"):
        write_queries(queries, tmp_path / "x.csv")
