"""What determines a trial: the code that it reaches, and what the user's own objects are."""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import textwrap
import threading
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import podium
from podium.experiments.plan.code import SOURCES, code_digest, reached
from podium.experiments.plan.domain import QUERIES
from podium.experiments.plan.identity import Identity, digest
from podium.experiments.plan.search import Search
from podium.experiments.plan.study import TRIAL
from podium.experiments.run.seal import seal
from podium.experiments.run.trial import run_trial
from podium.metrics import metric
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


USES = {
    "mine_ranker.py": """
        import mine_module
        from mine_names import helper
        from mine_package import part
        SCALE = 2.0
        TABLE = {"a": [1, 2]}

        def local(x):
            return x * SCALE

        class Base:
            def sign(self):
                return 1

        class Mine(Base):
            def fit(self, queries):
                from mine_late import late
                return self
            def predict(self, queries):
                return local(helper(mine_module.shift(part.f(TABLE["a"][0])))) * self.sign()
        """,
    "mine_module.py": "import mine_deeper\ndef shift(x):\n    return x + mine_deeper.OFFSET\n",
    "mine_deeper.py": "OFFSET = 1\n",
    "mine_names.py": "FACTOR = 3\ndef helper(x):\n    return x * FACTOR\n",
    "mine_package/__init__.py": "",
    "mine_package/part.py": "from . import other\ndef f(x):\n    return other.g(x)\n",
    "mine_package/other.py": "def g(x):\n    return x\n",
    "mine_late.py": "late = 1\n",
    "mine_unused.py": "x = 1\n",
}


@pytest.mark.parametrize(
    ("file", "old", "new", "counts"),
    [
        ("mine_ranker.py", "SCALE = 2.0", "SCALE = -2.0", True),
        ("mine_ranker.py", "[1, 2]", "[-1, 2]", True),
        ("mine_ranker.py", "return x * SCALE", "return -x * SCALE", True),
        ("mine_ranker.py", "return 1", "return -1", True),
        ("mine_module.py", "x + mine", "x - mine", True),
        ("mine_deeper.py", "OFFSET = 1", "OFFSET = -1", True),
        ("mine_names.py", "FACTOR = 3", "FACTOR = -3", True),
        ("mine_package/other.py", "return x", "return -x", True),
        ("mine_late.py", "late = 1", "late = -1", True),
        ("mine_unused.py", "x = 1", "x = 2", False),
    ],
)
def test_what_the_users_code_uses_counts_wherever_it_stands(tmp_path, monkeypatch, file, old, new, counts):
    """Each change below flips a result; the source of the class itself stays the same."""
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)

    def known():
        for name in [name for name in sys.modules if name.startswith("mine_")]:
            monkeypatch.delitem(sys.modules, name)
        importlib.invalidate_caches()
        return identity(importlib.import_module("mine_ranker").Mine())  # before fit imports the last one

    for name, text in USES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    before, again = known(), known()
    assert before == again
    changed_text = (tmp_path / file).read_text().replace(old, new)
    assert changed_text != (tmp_path / file).read_text()
    (tmp_path / file).write_text(changed_text)
    assert (known() != before) == counts


def polars_ranker(x):
    import polars

    return polars.Series(x)


def test_versions_of_other_packages_count(monkeypatch):
    from podium.experiments.plan import identity as module

    before = identity(polars_ranker)
    monkeypatch.setattr(module, "_version", lambda root: "0.0.0")
    assert identity(polars_ranker) != before
    assert {"numpy", "scipy", "numba", "scikit-learn", "lightgbm"} <= set(module.package_versions())


class Locked:
    """An object that nothing can be said about."""

    __slots__ = ("lock",)

    def __init__(self):
        self.lock = threading.Lock()


def test_what_cannot_be_described_is_never_taken_for_something_stored():
    one = Locked()
    assert identity(one) == identity(one)
    assert "known to process" in str(Identity(one).description)
    itself: list = []
    itself.append(itself)
    assert identity(itself)  # and an object that holds itself ends


def test_all_code_that_a_trial_executes_is_in_its_digest(queries):
    """Found by watching two trials: every function of Podium that ran is of a module that the digest follows."""
    fold, _ = seal("f", queries.take(range(10)), queries.take(range(10, 20)), queries.take(range(20, 30)))
    for name in ("regression", "lambdamart"):
        method = QUERIES.study_method(name, None, {"normalize": "standard"})
        setting = Search().settings(method, 0).ask()
        run_trial(method, setting, fold, metric("ndcg@5"))
        ran: set[str] = set()
        sys.setprofile(lambda frame, event, arg, ran=ran: ran.add(frame.f_code.co_filename))
        try:
            run_trial(method, setting, fold, metric("ndcg@5"))
        finally:
            sys.setprofile(None)
        files = {Path(file).relative_to(SOURCES) for file in ran if Path(file).is_relative_to(SOURCES)}
        modules = {".".join(["podium", *file.with_suffix("").parts]).removesuffix(".__init__") for file in files}
        start = {TRIAL, *Identity([method.build, method.on_queries]).modules, *Identity(metric("ndcg@5")).modules}
        assert "podium.experiments.run.trial" in modules
        assert modules - {"podium"} <= reached(start)
