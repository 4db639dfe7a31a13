"""The Python code of every page runs as it stands, and podium understands every command that a page shows."""

from __future__ import annotations

import argparse
import re
import shlex
from pathlib import Path

import pytest

import podium
from podium.cli.main import build_parser

from .pages import ELSEWHERE, GENERATED, NOT_RUN, ROOT, WITH_EXTRAS, all_pages, blocks, run, taken_for_granted

PAGES = all_pages()
WITH_CODE = [page for page, text in PAGES.items() if blocks(text, "python")]


@pytest.mark.parametrize("page", [page for page in WITH_CODE if page not in ELSEWHERE | WITH_EXTRAS])
def test_the_code_of_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page in NOT_RUN:
        pytest.skip(NOT_RUN[page])
    monkeypatch.chdir(tmp_path)
    names = taken_for_granted()
    podium.Regression().fit(names["train"]).save("model.podium")
    monkeypatch.setenv("PODIUM_MODEL", "model.podium")
    run(page, names)


def test_lists_of_pages_are_up_to_date() -> None:
    """Every page on them has code, and the tests that are said to run it read the page."""
    assert set(ELSEWHERE) | set(WITH_EXTRAS) | set(NOT_RUN) <= set(WITH_CODE)
    assert all(Path(page).name in (ROOT / test).read_text("utf-8") for page, test in ELSEWHERE.items())


def test_blocks_in_lists_are_not_overlooked() -> None:
    """Code is found at the start of a line only."""
    assert [page for page, text in PAGES.items() if re.search(r"^[ >]+```python", text, re.MULTILINE)] == []


@pytest.mark.parametrize("page", PAGES)
def test_links_lead_to_files(page: str) -> None:
    """As readers of the repository follow them; the site's build checks those of its pages, and their anchors."""
    text = re.sub(r"^```.*?^```", "", PAGES[page], flags=re.DOTALL | re.MULTILINE)
    links = re.findall(r"\]\(([^)#\s]+)(?:#[^)\s]*)?\)", text)
    built = tuple((ROOT / "docs" / folder).as_posix() for folder in GENERATED)
    paths = [((ROOT / page).parent / link).resolve() for link in links if "://" not in link]
    assert [path for path in paths if not path.exists() and not path.as_posix().startswith(built)] == []


# What stands for a number or a name in the overview of docs/cli.md.
PLACEHOLDERS = {"N": "3", "M": "3", "NAME=FILE": "other=run.trec", "NAME": "letor", "…": "map"}


def commands(text: str) -> list[str]:
    """Return the podium commands in a page's blocks: the parts of a pipe by themselves, continued lines joined."""
    lines = "\n".join(blocks(text, "", "sh")).replace("\\\n", " ").splitlines()
    parts = [part.strip() for line in lines for part in line.removeprefix("$ ").split(" | ")]
    return [part for part in parts if part.startswith("podium ")]


def typed(command: str) -> list[str]:
    """Return the arguments of a command; of an overview all options, and the first of alternatives."""
    words = shlex.split(command.partition(" > ")[0], comments=True)[1:]
    if not re.search(r"\[|\w\|\w", command):
        return words
    words = [word.strip("[]").partition("|")[0] for word in words if word != "…"]
    return [PLACEHOLDERS.get(word, word) for word in words]


@pytest.mark.parametrize("page", [page for page, text in PAGES.items() if commands(text)])
def test_commands_of_a_page_are_understood(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    parser = build_parser()
    wrong = []
    for command in commands(PAGES[page]):
        try:
            parser.parse_args(typed(command), argparse.Namespace(parser=parser))
        except SystemExit as end:
            wrong += [command] if end.code else []
    assert wrong == []


def test_an_option_that_is_gone_would_be_noticed() -> None:
    with pytest.raises(SystemExit):
        build_parser().parse_args(typed("podium train DATA --method pmop [--validation FILE] -o model.podium"))
