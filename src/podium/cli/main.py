"""The ``podium`` command: parses, runs one command, turns expected errors into messages and exit codes.

Exit codes: 0 all went well; 1 a method of a comparison failed; 2 bad usage or bad input; 130 interrupted.
Nothing heavy is imported here or by the commands' modules until a command runs: ``podium --help`` answers at once.
"""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from podium.cli import compare, evaluate, methods, rank, report, train
from podium.cli.ratings import compare as compare_ratings
from podium.version import __version__

_EPILOG = """\
examples:
  podium compare                                   some quick methods on synthetic lists, within a minute
  podium compare OHSUMED --convention letor        the same on a folder of folds, with LETOR's metrics
  podium compare ratings u.data --n 10,20,50       rankers of users' ratings, given 10, 20 and 50 of each user
  podium train train.txt --method pmop -o model.podium --valid vali.txt
  podium rank model.podium test.txt -o scores.txt
  podium evaluate test.txt scores.txt --convention letor

podium COMMAND --help tells more.
"""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code."""
    words = list(sys.argv[1:] if argv is None else argv)
    arguments = build_parser().parse_args(compare_ratings.as_one_word(words))
    try:
        code: int = arguments.run(arguments)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _fail("interrupted", 130, arguments.debug)
    except BrokenPipeError:  # the reader of a pipe, such as head, has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        return _fail(_describe(error), 2, arguments.debug)
    except (ValueError, ModuleNotFoundError) as error:
        return _fail(str(error), 2, arguments.debug)


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="podium",
        description="Learning to rank lists that have ties: compare methods, train, rank, evaluate.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=f"podium {__version__}")
    parser.add_argument("--debug", action="store_true", help="show the traceback of an error")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    # Also accepted after the command; SUPPRESS keeps its absence there from undoing a --debug given before it.
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument(
        "--debug", action="store_true", default=argparse.SUPPRESS, help="show the traceback of an error"
    )
    for command in (compare, compare_ratings, report, train, rank, evaluate, methods):
        name = command.__name__.rpartition(".")[2]
        sub = commands.add_parser(
            getattr(command, "NAME", name),
            **({"help": command.HELP} if hasattr(command, "HELP") else {}),  # without, a command is not listed
            description=command.DESCRIPTION,
            epilog=command.EXAMPLES,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            parents=[common],
        )
        command.configure(sub)
        sub.set_defaults(run=command.run)
    return parser


def _fail(message: str, code: int, debug: bool) -> int:
    if debug:
        traceback.print_exc()
    print(f"podium: {message}" if code == 130 else f"podium: error: {message}", file=sys.stderr)
    return code


def _describe(error: OSError) -> str:
    if error.filename is None or error.strerror is None:
        return str(error)
    return f"{error.filename}: {error.strerror}"


if __name__ == "__main__":
    sys.exit(main())
