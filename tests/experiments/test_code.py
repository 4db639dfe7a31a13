"""What determines a trial: the code that it reaches, and what the user's own objects are."""

from __future__ import annotations

import re
import shutil
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.experiments.plan.code import SOURCES, code_digest, reached
from podium.experiments.plan.identity import Identity, digest
from podium.experiments.plan.study import TRIAL
from podium.rankers.methods import METHODS

LISTNET = [TRIAL, METHODS["listnet"].build.__module__]


@pytest.fixture
def package(tmp_path):
    """A copy of Podium's sources, to be changed."""
    shutil.copytree(SOURCES, tmp_path / "podium", ignore=shutil.ignore_patterns("__pycache__"))
    return tmp_path / "podium"


def edit(package: Path, module: str, change) -> None:
    path = package.joinpath(*module.split(".")[1:]).with_suffix(".py")
    before = path.read_text("utf-8")
    path.write_text(change(before), "utf-8")
    assert path.read_text("utf-8") != before


def changed(package: Path) -> bool:
    # a copy of the copy: digests of a file are kept for as long as the process lives
    copy = package.with_name("again")
    shutil.copytree(package, copy)
    return code_digest(LISTNET, copy) != code_digest(LISTNET)


def test_a_copy_has_the_same_digest(package):
    assert not changed(package)


@pytest.mark.parametrize(
    "module",
    [
        TRIAL,
        "podium.experiments.run.seal",
        podium.losses.ListNetLoss.__module__,
        "podium.metrics.conventions",
        "podium.rankers.estimator",
        "podium.training.lbfgs",
        "podium.scorers.linear.scorer",
        "podium.numerics.loop",
        "podium.data.queries",
    ],
)
def test_a_change_in_a_module_that_is_reached_changes_it(package, module):
    edit(package, module, lambda text: text + "\n_changed = 1\n")
    assert changed(package)


@pytest.mark.parametrize(
    "module",
    [
        "podium.experiments.report.page",
        "podium.experiments.result.table",
        "podium.experiments.run.store",
        "podium.cli.compare",
        "podium.ratings.compare",
        podium.losses.SoftRankLoss.__module__,
        "podium.data.io.trec",
    ],
)
def test_a_module_that_is_not_reached_changes_nothing(package, module):
    assert (SOURCES / Path(*module.split(".")[1:])).with_suffix(".py").is_file()
    edit(package, module, lambda text: text + "\n_changed = 1\n")
    assert not changed(package)


def test_comments_layout_and_docstrings_change_nothing(package):
    edit(package, podium.losses.ListNetLoss.__module__, lambda text: f"# a comment\n{text}\n# another\n")
    edit(package, "podium.rankers.estimator", lambda text: text.replace('"""', '"""Words. ', 1))
    edit(package, "podium.training.lbfgs", lambda text: re.sub(r"\n\n\n", "\n\n\n\n", text))
    assert not changed(package)


def test_a_new_public_name_changes_nothing(package):
    path = package / "__init__.py"
    path.write_text(path.read_text("utf-8").replace("_NAMES = {", '_NAMES = {\n    "podium.new": ("New",),', 1))
    assert not changed(package)


def test_imports_are_followed_wherever_they_stand(tmp_path):
    sources = {
        "start.py": "def f():\n    from podium.inner import thing\n    import podium.late\n",
        "inner/__init__.py": "from podium.inner.one import thing\nfrom podium.inner.two import other\n",
        "inner/one.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from podium.typed import T\n",
        "inner/two.py": "",
        "late.py": "from . import sibling\nimport numpy\n",
        "sibling.py": "import podium\npodium.ListNet\n",
        "typed.py": "",
    }
    for name, text in sources.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    found = reached(["podium.start", "os"], tmp_path)
    assert found == {"podium.start", "podium.inner.one", "podium.late", "podium.sibling"}


def identity(value):
    return digest(Identity(value).description)


def test_objects_are_known_by_their_parameters():
    one = podium.Ranker(podium.losses.PMOPLoss(), podium.scorers.Linear(l2=0.1))
    same = podium.Ranker(podium.losses.PMOPLoss(), podium.scorers.Linear(l2=0.1))
    other = podium.Ranker(podium.losses.PMOPLoss(), podium.scorers.Linear(l2=0.2))
    assert identity(one) == identity(same) != identity(other)
    assert {podium.losses.PMOPLoss.__module__, podium.scorers.Linear.__module__} <= Identity(one).modules
    long = np.zeros(100_000)
    changed = long.copy()
    changed[50_000] = 1.0  # which no repr shows
    assert identity({"w": long}) == identity({"w": long.copy()}) != identity({"w": changed})
    assert identity(partial(podium.ListNet, l2=0.1)) != identity(partial(podium.ListNet, l2=0.2))


MODULE = """
import numpy as np

def helper(power):
    def own(scores, labels):
        return float(np.sum(scores ** power)), power * scores ** (power - 1)
    return own

class Mine:
    def fit(self, queries):
        return self
    def predict(self, queries):
        return {body}
"""


def test_users_code_is_known_by_its_source(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)

    def load(name, body):
        (tmp_path / f"{name}.py").write_text(MODULE.replace("{body}", body))
        __import__(name)
        return sys.modules[name]

    one, same, other = (
        load("mine_1", "queries.labels"),
        load("mine_2", "queries.labels"),
        load("mine_3", "-queries.qids"),
    )

    def source(value):
        return Identity(value).description["is"]["source"]

    assert source(one.Mine()) == source(same.Mine()) != source(other.Mine())
    assert identity(one.helper(2)) == identity(one.helper(2)) != identity(one.helper(3))  # what a closure holds counts


@pytest.mark.parametrize(
    "code", ["def made(x):\n    return {} * x", "class made:\n    def predict(self, x):\n        return {} * x"]
)
def test_code_without_a_source_file_is_known_by_its_bytecode(code):
    """A constant that changes, such as a sign, must not be taken for the same code."""

    def known(constant):
        names = {"__name__": "at_a_prompt"}
        exec(code.format(constant), names)
        return identity(names["made"])

    assert known("0.5") == known("0.5") != known("-0.5")
