"""The ``podium`` command: parse, run one command, turn expected errors into messages and exit codes.

Exit codes: 0 success; 1 a method of a comparison failed; 2 bad usage or bad input; 130 interrupted.

A command is a module named like the command, with ``configure(parser)`` and ``run(arguments)``; a group of commands is
a package with ``COMMANDS``. Its docstring is its help: a line for the list of commands, a description, examples. They
import nothing heavy before a command runs, so that ``podium --help`` answers at once.
"""

import argparse
import os
import shlex
import sys
import traceback
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import ModuleType
from typing import Any

from podium import cli
from podium.cli import (
    clicks,
    compare,
    compile,
    completion,
    demo,
    evaluate,
    explain,
    export,
    join,
    methods,
    rank,
    ratings,
    report,
    show,
    split,
    train,
)
from podium.cli.options import Parser
from podium.cli.output import note
from podium.core import notices
from podium.core.wording import LeftOutWarning, for_the_command_line
from podium.version import __version__

COMMANDS = (
    *(demo, compare, report, train, show, export, compile, rank, explain, evaluate, split, join, methods, ratings),
    clicks,
    completion,
)
START = """\
Podium learns to rank lists that have ties. Four commands to start with:

  podium demo                                          all steps on search results of an invented shop
  podium compare DATA                                  methods on your judged lists, with table and report
  podium train DATA --method auto -o model.podium      a model, its method and settings chosen by cross-validation
  podium export model.podium --format solr -o FILE     what a search engine takes

DATA is LETOR / SVMlight text, CSV or Parquet. podium --help lists all commands, podium COMMAND --help their options."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    argv = sys.argv[1:] if argv is None else argv
    if not argv:
        print(START)
        return 0
    parser = build_parser()
    arguments = parser.parse_args(argv, argparse.Namespace(parser=parser))
    arguments.typed = shlex.join(["podium", *argv])
    notices.compiling = None if getattr(arguments, "quiet", False) else notices.say_compiling
    try:
        with for_the_command_line(), _notes_of_warnings():
            code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt as interruption:
        return _fail(str(interruption) or "interrupted", 130, arguments.debug)
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        what = f"{error.filename}: {error.strerror}" if error.filename and error.strerror else error
        return _fail(f"error: {what}", 2, arguments.debug)
    except (ValueError, ModuleNotFoundError) as error:
        return _fail("\n  ".join([f"error: {error}", *getattr(error, "__notes__", ())]), 2, arguments.debug)


@contextmanager
def _notes_of_warnings() -> Iterator[None]:
    """Print what readers leave out as lines, each once; other warnings are shown as ever."""
    noted: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOutWarning)
        show = warnings.showwarning

        def tell(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            if not issubclass(category, LeftOutWarning):
                show(message, category, *place, **options)
            elif str(message) not in noted:
                noted.add(str(message))
                note(f"podium: {message}")

        warnings.showwarning = tell
        yield


def build_parser() -> Parser:
    """Return the parser of all commands; a parsed command is in ``arguments.run``."""
    _, texts = _help(cli)
    parser = Parser(prog="podium", **texts)
    parser.add_argument("--version", action="version", version=f"podium {__version__}")
    parser.option("--debug", "show the traceback of an error")
    _add_commands(parser, COMMANDS)
    return parser


def _add_commands(parser: Parser, commands: Sequence[ModuleType]) -> None:
    """Add a parser per command, and for a group of commands, one with its own commands."""
    parsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands:
        summary, texts = _help(command)
        added = parsers.add_parser(command.__name__.rpartition(".")[2], help=summary, **texts)
        # SUPPRESS keeps the absence of --debug here from undoing one given before the command.
        added.option("--debug", "show the traceback of an error", default=argparse.SUPPRESS)
        if hasattr(command, "COMMANDS"):
            _add_commands(added, command.COMMANDS)
        else:
            command.configure(added)
            added.set_defaults(run=command.run)


def _help(command: ModuleType) -> tuple[str, dict[str, Any]]:
    """Return the line for the list of commands, and what a parser prints, from the docstring of a command's module."""
    summary, _, text = (command.__doc__ or "").partition("\n\n")
    description, heading, examples = text.partition("examples:\n")
    texts: dict[str, Any] = {"description": description.strip(), "epilog": heading + examples}
    texts["formatter_class"] = argparse.RawDescriptionHelpFormatter
    return summary[:1].lower() + summary[1:].rstrip("."), texts


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"podium: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
