"""Tell which of two interleaved rankings people prefer.

Tell from a log of interleaved lists which ranking won more sessions, with an exact 95 % interval and a sign test. LOG
is CSV or Parquet with one row per document shown and the columns session, document, team (a, b, or empty for documents
that count to neither) and clicked (0 or 1).

examples:
  podium clicks interleaving log.csv
  podium clicks interleaving log.parquet --json
"""

import argparse

from podium.cli import options, output


def configure(parser: options.Parser) -> None:
    parser.option("log LOG", "documents shown, with session, document, team and clicked (CSV or Parquet)")
    parser.option("--json", "print the result as JSON")


def run(arguments: argparse.Namespace) -> int:
    from podium.clicks import interleaving_result
    from podium.data.io.tables import naming, read_frame

    log = read_frame(arguments.log, ["session", "document", "team"])
    with naming(arguments.log):
        result = interleaving_result(log)
    if arguments.json:
        counts = {"wins_a": result.wins_a, "wins_b": result.wins_b, "undecided": result.undecided}
        output.print_json(counts | {"share": result.share, "interval": result.interval(), "p_value": result.p_value})
    else:
        print(result)
    return 0
