"""The command line before any command runs: help, version, usage errors, quick start."""

from __future__ import annotations

import subprocess
import sys

import pytest

from podium.cli.main import build_parser, main
from podium.version import __version__

HEAVY = ("numpy", "numba", "scipy", "sklearn", "polars", "pandas", "lightgbm", "torch", "dask", "distributed", "rich")
COMMANDS = ("demo", "compare", "report", "train", "rank", "evaluate", "methods", "ratings", "ratings compare")


def test_help_loads_nothing_heavy():
    program = (
        "import sys\nfrom podium.cli.main import main\n"
        "try:\n    main(['--help'])\nexcept SystemExit:\n    pass\n"
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stderr.strip() == "[]"
    assert all(command.split()[0] in result.stdout for command in COMMANDS)


def test_version(capsys):
    with pytest.raises(SystemExit) as end:
        main(["--version"])
    assert end.value.code == 0
    assert capsys.readouterr().out == f"podium {__version__}\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_each_command_has_help_with_examples(command, capsys):
    with pytest.raises(SystemExit) as end:
        main([*command.split(), "--help"])
    assert end.value.code == 0
    text = capsys.readouterr().out
    assert text.startswith(f"usage: podium {command} ")
    assert "examples:" in text
    assert f"podium {command}" in text
    assert "--debug" in text


@pytest.mark.parametrize(
    "argv",
    [
        [],
        ["nonsense"],
        ["train"],
        ["compare", "--jobs", "0"],
        ["train", "x", "--set", "y"],
        ["ratings"],
        ["compare", "ratings", "u.data"],
    ],
)
def test_bad_usage_is_exit_code_2(argv, capsys):
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    assert "usage: podium" in capsys.readouterr().err


def test_debug_may_stand_before_or_after_the_command():
    parse = build_parser().parse_args
    assert parse(["--debug", "methods"]).debug
    assert parse(["methods", "--debug"]).debug
    assert parse(["ratings", "--debug", "compare", "u.data"]).debug
    assert parse(["ratings", "compare", "u.data", "--debug"]).debug
    assert not parse(["methods"]).debug


def test_notes_of_an_error_are_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """The query on which a user's own loss failed is told in a note."""

    def fail(arguments: object) -> int:
        error = ValueError("no such thing")
        error.add_note("query number 3 has the id 17")
        raise error

    monkeypatch.setattr("podium.cli.methods.run", fail)
    assert main(["methods"]) == 2
    assert "error: no such thing\n  query number 3 has the id 17" in capsys.readouterr().err
