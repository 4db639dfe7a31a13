"""Reading LETOR files that are not right: the error names file and line."""

from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest

from podium.data.io.letor.reader import read_letor

from .letor_oracle import SIMPLE


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x qid:1 1:1", "the grade 'x' is not a number"),
        ("qid:1 1:1", "the grade 'qid:1' is not a number"),
        ("1:1", "the grade '1:1' is not a number"),
        ("1_0 qid:1 1:1", "the grade '1_0' is not a number"),
        ("nan qid:1 1:1", "the grade is 'nan'; grades must be finite"),
        ("-inf qid:1 1:1", "the grade is '-inf'; grades must be finite"),
        ("1e999 qid:1 1:1", "the grade is '1e999'; grades must be finite"),
        ("1 qid: 1:1", "the query id after 'qid:' is missing"),
        ("1 1:1 2:3", "no 'qid:…' after the grade, though other lines have it"),
        ("1 qid:1 1:1 qid:2", "'qid:2' must come once, right after the grade"),
        ("1 qid:1 qid:2 1:1", "'qid:2' must come once, right after the grade"),
        ("1 qid:1 5", "'5' is not a feature of the form index:value"),
        ("1 qid:1 1:1 abc", "'abc' is not a feature of the form index:value"),
        ("1 qid:1 a:1", "'a:1' is not a feature of the form index:value"),
        ("1 qid:1 -1:1", "'-1:1' is not a feature of the form index:value"),
        ("1 qid:1 1.5:1", "'1.5:1' is not a feature of the form index:value"),
        ("1 qid:1 :1", "':1' is not a feature of the form index:value"),
        ("1 qid:1 1:", "the value of '1:' is not a number"),
        ("1 qid:1 1: 2:3", "the value of '1:' is not a number"),
        ("1 qid:1 1:abc", "the value of '1:abc' is not a number"),
        ("1 qid:1 1:1 2:0.5x 3:1", "the value of '2:0.5x' is not a number"),
        ("1 qid:1 1:1:2", "the value of '1:1:2' is not a number"),
        ("1 qid:1 1:1_0", "the value of '1:1_0' is not a number"),
        ("1 qid:1 1:1,5", "the value of '1:1,5' is not a number"),
        ("1 qid:1 1:1*", r"the value of '1:1\*' is not a number"),
        ("1 qid:1 1:0x10", "the value of '1:0x10' is not a number"),
        ("1 qid:1 0:1", "'0:1' has index 0"),
        ("1 qid:1 2147483648:1", "the index of '2147483648:1' is larger than 2147483647"),
        ("1 qid:1 99999999999999999999999:1", "the index of '99999999999999999999999:1' is larger than 2147483647"),
        ("1 qid:1 1:1 1:1", "the index of '1:1' occurs twice in this line"),
        ("1 qid:1 3:1 1:1 2:1 1:5 9:1 #x", "the index of '1:5' occurs twice in this line"),
        ("1 qid:1 1:" + "z" * 100, "the value of '1:" + "z" * 38 + "…' is not a number"),
    ],
)
@pytest.mark.parametrize("name", ["data.txt", "data.gz"])
def test_errors_name_file_and_line(file, line: str, message: str, name: str) -> None:
    text = f"\n# comment\n1 qid:1 1:1\r\n{line}\n1 qid:1 1:nonsense\n"
    if "though other lines" in message or "1e999" in message:  # noticed after all lines are parsed
        text = text.replace("nonsense", "1")
    for s in (False, True):
        with pytest.raises(ValueError, match=rf"{name}:4: {message}"):
            read_letor(file(text, name), sparse=s)


@pytest.mark.parametrize("text", ["", "\n\n", "# only\n#comments", "\ufeff", "   "])
@pytest.mark.parametrize("name", ["data.txt", "data.gz"])
def test_no_documents(file, text: str, name: str) -> None:
    with pytest.raises(ValueError, match=rf"no documents in .*{name}"):
        read_letor(file(text, name))


def test_other_errors(file, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no documents in no files"):
        read_letor()
    with pytest.raises(FileNotFoundError):
        read_letor(tmp_path / "nothing.txt")
    (tmp_path / "broken.gz").write_bytes(gzip.compress(SIMPLE.encode())[:-12])
    with pytest.raises(ValueError, match=r"broken\.gz: broken gzip file"):
        read_letor(tmp_path / "broken.gz")
    with pytest.raises(ValueError, match="dtype must be"):
        read_letor(file(SIMPLE), dtype=np.int32)
    with pytest.raises(ValueError, match="n_features must be positive"):
        read_letor(file(SIMPLE), n_features=0)
    with pytest.raises(ValueError, match=r"would take \d+ GB, more than this machine has; pass sparse=True"):
        read_letor(file("1 qid:1 2147483647:1\n" * 10_000), n_features=2147483647)
    with pytest.raises(ValueError, match=r"8\.0 GB, many times the size of the text; .*PODIUM_MAX_MB=8192"):
        read_letor(file("1 qid:1 2147483647:1\n"))
    assert read_letor(file("1 qid:1 2147483647:1\n"), sparse=True).n_features == 2147483647
