"""Estimate what places do to clicks.

Estimate from a log of clicks how likely each place is looked at, print and draw the curve, and write it to a file for
training and judging. LOG is CSV or Parquet: one row per impression, or per query, document and place with numbers of
clicks and impressions. Documents must have been shown at several places; a warning says where the log does not tell.

examples:
  podium clicks bias log.parquet -o bias.json
  podium clicks bias log.csv --method em --features features.parquet -o bias.json --plot bias.svg
  podium clicks bias log.parquet --method dbn -o bias.json                (from whole sessions, column session)
"""

import argparse
from typing import Any

from podium.cli import clicked, options, output

METHODS = ("swaps", "em", "dual", "pairwise", "trust", "cascade", "dependent", "dbn")
_BAR = 40


def configure(parser: options.Parser) -> None:
    parser.option("log LOG", "the log of clicks: CSV or Parquet")
    parser.option("-o --out FILE", "where the bias goes, as JSON", required=True)
    parser.option(
        f"--method {{{','.join(METHODS)}}}",
        "swaps: documents shown at several places; em: regression EM; dual: dual learning; pairwise: pairwise "
        "debiasing; trust: EM with trust in places; cascade, dependent, dbn: users who read from the top, from whole "
        "sessions (default: swaps)",
        default="swaps",
    )
    parser.option("--features FILE", "features by query and document: CSV, Parquet or LETOR (default: none)")
    parser.option(
        "--bootstrap N",
        "samples of queries for the intervals, 0: none (default: 100; 20 for users who read from the top)",
        type=int,
    )
    parser.option("--plot FILE", "also draw the curve with Matplotlib: .svg, .png or .pdf")
    parser.option("--json", "print the result as JSON")
    clicked.add_log_columns(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.data import read_clicks

    clicks = read_clicks(arguments.log, features=arguments.features, **clicked.log_columns(arguments))
    bias = _bias(arguments.method)
    if arguments.bootstrap is not None:
        bias.set_params(bootstrap=arguments.bootstrap)
    bias.fit(clicks)
    bias.save(arguments.out)
    if arguments.plot:
        bias.plot().figure.savefig(arguments.plot)
    if arguments.json:
        intervals = None if bias.intervals_ is None else bias.intervals_.tolist()
        found = {"method": arguments.method, "propensities": bias.propensities_.tolist(), "intervals": intervals}
        output.print_json(found | {"bias": arguments.out})
        return 0
    print(f"{clicks.impressions.sum():,} impressions and {clicks.clicks.sum():,} clicks of {len(clicks.queries):,} "
          f"queries, {clicks.queries.n_documents:,} documents, {clicks.n_places} places")  # fmt: skip
    _print_curve(bias)
    print(f"\nBias: {arguments.out}")
    return 0


def _bias(method: str) -> Any:
    from podium.clicks import DBN, Cascade, DependentClicks, PositionBias, TrustBias

    others = {"trust": TrustBias, "cascade": Cascade, "dependent": DependentClicks, "dbn": DBN}
    return others[method]() if method in others else PositionBias(method=method)


def _print_curve(bias: Any) -> None:
    """Print one line per place, with a bar as long as its propensity."""
    longest = max(1.0, float(bias.propensities_.max()))
    rows = []
    for place, theta in enumerate(bias.propensities_.tolist(), 1):
        interval = "" if bias.intervals_ is None else "{:.3f} to {:.3f}".format(*bias.intervals_[place - 1])
        rows.append([str(place), f"{theta:.3f}", interval, "█" * round(_BAR * theta / longest)])
    output.print_table(["place", "propensity", "interval", ""], rows, (0, 1))
