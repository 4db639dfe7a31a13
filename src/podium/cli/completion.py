"""Print a script that completes commands and options in a shell.

Print a script that completes commands, options and file names in bash, zsh or fish.

examples:
  podium completion bash > ~/.local/share/bash-completion/completions/podium
  podium completion zsh > ~/.zfunc/_podium         with fpath+=~/.zfunc before compinit in ~/.zshrc
  podium completion fish > ~/.config/fish/completions/podium.fish
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from podium.cli import options

FILES = ("DATA", "MODEL", "FILE", "LOGGED", "QRELS", "RUN")
FOLDERS = ("DIR", "FOLDER")


def configure(parser: options.Parser) -> None:
    parser.option("shell {bash,zsh,fish}", "which shell")


def run(arguments: argparse.Namespace) -> int:
    import shtab

    parser: argparse.ArgumentParser = arguments.parser
    for action in _actions(parser):
        if action.metavar in (*FILES, *FOLDERS):
            action.complete = shtab.FILE if action.metavar in FILES else shtab.DIRECTORY  # type: ignore[attr-defined]
    print(shtab.complete(parser, arguments.shell))
    return 0


def _actions(parser: argparse.ArgumentParser) -> Iterator[argparse.Action]:
    """Yield the arguments of a parser and of its commands."""
    for action in parser._actions:
        yield action
        if isinstance(action, argparse._SubParsersAction):
            for command in action.choices.values():
                yield from _actions(command)
