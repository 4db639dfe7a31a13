"""Tell how many sessions of interleaved lists are needed.

Tell how many decided sessions a test by interleaving needs to find a difference. DIFFERENCE is the share of decided
sessions that the better ranking wins, minus a half: 0.02 if it wins 52 % of them.

examples:
  podium clicks plan 0.02
  podium clicks plan 0.02 --power 0.9 --decided 0.3         (three sessions in ten are decided)
"""

import argparse
from functools import partial

from podium.cli import options, output


def configure(parser: options.Parser) -> None:
    share = partial(options.number, what="a number between 0 and 1", below=1.0)
    difference = partial(options.number, what="a share of sessions above 0 and below 0.5", below=0.5)
    parser.option("difference DIFFERENCE", "share of decided sessions won, minus a half", type=difference)
    parser.option("--power SHARE", "probability to find the difference (default: 0.8)", type=share, default=0.8)
    parser.option("--significance P", "level of the sign test (default: 0.05)", type=share, default=0.05)
    parser.option("--decided SHARE", "the share of sessions that are decided, to plan for all sessions", type=share)
    parser.option("--json", "print the plan as JSON")


def run(arguments: argparse.Namespace) -> int:
    from podium.clicks import plan

    facts = {name: getattr(arguments, name) for name in ("difference", "power", "significance")}
    decided = plan(**facts)
    found = facts | {"decided_sessions": decided}
    if arguments.decided is not None:
        found["sessions"] = plan(**facts, decided=arguments.decided)
    if arguments.json:
        output.print_json(found)
        return 0
    print(f"decided sessions: {decided:,}")
    if "sessions" in found:
        print(f"sessions, of which {arguments.decided:.0%} are decided: {found['sessions']:,}".replace("%", " %"))
    return 0
