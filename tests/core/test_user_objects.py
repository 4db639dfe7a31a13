"""Names of the user's own objects, and the objects of such names."""

from __future__ import annotations

import json
import sys
from functools import partial
from pathlib import Path

import pytest

from podium.core.random_state import as_generator, seed_of
from podium.core.user_objects import import_user_object, is_user_object, user_object_name


@pytest.mark.parametrize("name", ["mine:Loss", "a.b:C.d", "_x:y"])
def test_names(name: str) -> None:
    assert is_user_object(name)


@pytest.mark.parametrize("name", ["listnet", "ndcg@10", "C:\\x", "mine:", ":Loss", "a b:c", "a:b:c", "1:2"])
def test_other_names(name: str) -> None:
    assert not is_user_object(name)
    with pytest.raises(ValueError, match="not of the form module:name"):
        import_user_object(name)


def test_modules_of_the_current_folder_are_found(tmp_path, monkeypatch) -> None:
    (tmp_path / "mine_in_folder.py").write_text("class A:\n    def b(): pass\n")
    (tmp_path / "mine_broken.py").write_text("import no_such_module_at_all\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", sys.path.copy())
    found = import_user_object("mine_in_folder:A.b")
    assert user_object_name(found) == "mine_in_folder:A.b"
    with pytest.raises(ValueError, match="mine_in_folder has no 'B'"):
        import_user_object("mine_in_folder:B")
    with pytest.raises(ValueError, match=f"no module named 'mine_absent' in {tmp_path}"):
        import_user_object("mine_absent:B")
    with pytest.raises(ModuleNotFoundError, match="no_such_module_at_all"):
        import_user_object("mine_broken:B")


def test_objects_that_can_be_found_again() -> None:
    assert user_object_name(json.JSONDecoder) == "json.decoder:JSONDecoder"
    assert import_user_object(user_object_name(Path)) is Path


def _shadowed() -> None: ...


_original = _shadowed


def _shadowed() -> None: ...  # type: ignore[no-redef]


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (lambda: 0, "is a lambda"),
        (partial(print), "has no name"),
        (_original, "is another object"),
        (type("Local", (), {"__module__": "__main__", "__qualname__": "Local"}), "script or notebook"),
    ],
)
def test_objects_that_cannot(value, problem: str) -> None:
    with pytest.raises(ValueError, match=rf"{problem}.*top level of a module"):
        user_object_name(value)


def test_random_states() -> None:
    import numpy as np

    assert as_generator(3).random() == as_generator(3).random()
    assert as_generator(np.random.RandomState(3)).random() == as_generator(np.random.RandomState(3)).random()
    generator = np.random.default_rng(0)
    assert as_generator(generator) is generator
    assert seed_of(7) == 7
    with pytest.raises(ValueError, match="random_state must be None, an integer or a generator; got 'x'"):
        as_generator("x")
