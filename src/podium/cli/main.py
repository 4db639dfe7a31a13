"""The ``podium`` command: parse, run one command, turn expected errors into messages and exit codes.

Exit codes: 0 success; 1 a method of a comparison failed; 2 bad usage or bad input; 130 interrupted.

A command is a module with ``HELP``, ``DESCRIPTION``, ``EXAMPLES``, ``configure(parser)`` and ``run(arguments)``, named
like the command. A group of commands is a package with the same three texts and ``COMMANDS``. They import nothing heavy
before a command runs, so that ``podium --help`` answers at once.
"""

from __future__ import annotations

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

from podium.cli import (
    compare,
    compile,
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

COMMANDS = (compare, report, train, show, export, compile, rank, explain, evaluate, split, join, methods, ratings)

_EPILOG = """\
examples:
  podium compare                                   some quick methods on synthetic lists, within a minute
  podium compare OHSUMED --convention letor        the same on a folder of folds, with LETOR's metrics
  podium train train.txt --method pmop -o model.podium --valid vali.txt
  podium rank model.podium test.txt -o scores.txt
  podium evaluate test.txt scores.txt --convention letor
  podium export model.podium --format solr -o model.json --check test.txt
  podium ratings compare u.data --n 10,20,50       rankers of users' ratings, given 10, 20 and 50 per user

See podium COMMAND --help for the options of a command.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    arguments = build_parser().parse_args(argv)
    arguments.typed = shlex.join(["podium", *(sys.argv[1:] if argv is None else argv)])
    if not getattr(arguments, "quiet", False):
        notices.compiling = _say_compiling
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
    told: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", LeftOutWarning)
        show = warnings.showwarning

        def tell(message: Any, category: type[Warning], *place: Any, **options: Any) -> None:
            if not issubclass(category, LeftOutWarning):
                show(message, category, *place, **options)
            elif str(message) not in told:
                told.add(str(message))
                note(f"podium: {message}")

        warnings.showwarning = tell
        yield


def build_parser() -> Parser:
    """Return the parser of all commands; a parsed command is in ``arguments.run``."""
    parser = Parser(
        prog="podium",
        description="Learning to rank lists that have ties: compare methods, train, rank, evaluate.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"podium {__version__}")
    parser.option("--debug", "show the traceback of an error")
    _add_commands(parser, COMMANDS)
    return parser


def _add_commands(parser: Parser, commands: Sequence[ModuleType]) -> None:
    """Add a parser per command, and for a group of commands, one with its own commands."""
    parsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for command in commands:
        added = parsers.add_parser(
            command.__name__.rpartition(".")[2],
            help=command.HELP,
            description=command.DESCRIPTION,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        # SUPPRESS keeps the absence of --debug here from undoing one given before the command.
        added.option("--debug", "show the traceback of an error", default=argparse.SUPPRESS)
        if hasattr(command, "COMMANDS"):
            _add_commands(added, command.COMMANDS)
        else:
            command.configure(added)
            added.set_defaults(run=command.run)


def _say_compiling() -> None:
    print("podium: compiling, first run only", file=sys.stderr, flush=True)


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"podium: {message}", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
