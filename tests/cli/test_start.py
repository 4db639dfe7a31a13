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


def test_podium_alone_shows_where_to_start(capsys):
    assert main([]) == 0
    shown = capsys.readouterr().out
    commands = [line.split()[1] for line in shown.splitlines() if line.startswith("  podium ")]
    assert commands == ["demo", "compare", "train", "export"]


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["trian", "x"], "trian: did you mean train?"),
        (["compare", "--conventoin", "letor"], "--conventoin: did you mean --convention?"),
        (["train", "x", "-o", "m", "--metod=pmop"], "--metod=pmop: did you mean --method?"),
        (["ratings", "compare", "x", "--replicate5"], "--replicate5: did you mean --replicates?"),
        (["report", "x", "--format", "htlm"], "htlm: did you mean html?"),
        (["methods", "--xyzzy"], ""),
    ],
)
def test_a_mistyped_word_is_told_with_what_it_may_mean(argv, meant, capsys):
    with pytest.raises(SystemExit) as end:
        main(argv)
    assert end.value.code == 2
    told = capsys.readouterr().err
    assert meant in told
    assert ("did you mean" in told) == bool(meant)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_shells_complete_commands_options_and_files(shell, capsys):
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    for word in ("compare", "convention", "podium"):
        assert word in script


def test_bash_completes(capsys, tmp_path):
    main(["completion", "bash"])
    (tmp_path / "podium.bash").write_text(capsys.readouterr().out)
    program = """
    source ./podium.bash
    complete_line() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _shtab_podium; echo "${COMPREPLY[@]}"; }
    complete_line podium ex; complete_line podium train --conv; complete_line podium rank pod
    """
    run = subprocess.run(["bash", "-c", program], cwd=tmp_path, capture_output=True, text=True, check=True)
    commands, options, files = run.stdout.splitlines()
    assert set(commands.split()) == {"export", "explain"}
    assert options.split() == ["--convention"]
    assert "podium.bash" in files


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
