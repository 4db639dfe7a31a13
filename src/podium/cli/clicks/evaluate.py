"""Judge a ranking that nobody was shown, or two, by clicks on others.

Estimate from a log of clicks what a ranking would be worth that was not shown, with its interval, and with --against
the difference to another one, paired: the same clicks judge both. LOG is CSV or Parquet. RANKING is a model that
`podium train` wrote, or scores by query and document: a TREC run, or CSV or Parquet with the columns query, document
and score, in which documents without a score are not retrieved. It is an error where documents that the log never
showed hold more than 5 % of a metric's weight: clicks cannot tell what that ranking is worth.

examples:
  podium clicks evaluate log.parquet model.podium --bias bias.json
  podium clicks evaluate log.parquet new.podium --against old.podium --bias bias.json --metrics dcg@10,p@3
  podium clicks evaluate log.csv new.run --against old.run --bias bias.json --interval sessions --json
  podium clicks evaluate log.csv model.podium --bias bias.json --candidates documents.parquet --estimator dr
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from podium.cli import options, output
from podium.cli.clicks import ranked

if TYPE_CHECKING:
    from podium.clicks import LogDifference, LogEvaluation


def configure(parser: options.Parser) -> None:
    positive = partial(options.number, what="a number above 0")
    parser.option("log LOG", "the log of clicks: CSV or Parquet")
    parser.option("ranking RANKING", "a model, or a file of scores by query and document")
    parser.option("--against RANKING", "another one, which is subtracted")
    parser.option(
        "--metrics M,…",
        "dcg[@k], p@k, rbp[@k] and arp, the sum of the ranks of relevant documents (default: %(default)s)",
        type=options.comma_list,
        default="dcg@10",
    )
    parser.option(
        "--estimator {ips,snips,dr}",
        "inverse propensity weights, the same per unit of relevance, or doubly robust (default: ips)",
        default="ips",
    )
    parser.option(
        "--interval {queries,sessions}",
        "what is random: queries, or the sessions of these very queries (default: queries)",
        default="queries",
    )
    parser.option("--level SHARE", "coverage of intervals (default: 0.95)", type=positive, default=0.95)
    parser.option("--clip X", "the highest weight 1/ρ of a click (default: none)", type=positive)
    parser.option("--json", "print the results as JSON")
    ranked.add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.clicks import evaluate, load_bias
    from podium.clicks.rank_weights import rank_weights

    rank_weights(arguments.metrics)  # a metric that clicks cannot tell should not surface after minutes of reading
    bias = load_bias(arguments.bias)
    names = [arguments.ranking] + ([arguments.against] if arguments.against else [])
    clicks, candidates, scores = ranked.read(arguments, arguments.log, names)
    how = {name: getattr(arguments, name) for name in ("metrics", "estimator", "interval", "clip", "level")}
    found = []
    for name, values in zip(names, scores, strict=True):
        try:
            found.append(evaluate(clicks, values, candidates, bias=bias, **how))
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    differences = [found[0].compare(found[1], metric) for metric in found[0].mean] if arguments.against else []
    if arguments.json:
        output.print_json(_as_json(dict(zip(names, found, strict=True)), differences))
        return 0
    for name, evaluation in zip(names, found, strict=True):
        print(f"{name}\n{evaluation}\n")
    if differences:
        print(f"{names[0]} − {names[1]}, {100 * arguments.level:g} % interval, paired")
        print(*differences, sep="\n")
    return 0


def _as_json(found: dict[str, LogEvaluation], differences: list[LogDifference]) -> dict[str, Any]:
    first = next(iter(found.values()))
    return {
        "estimator": first.estimator,
        "interval_by": first.unit,
        "level": first.level,
        "sessions": int(first.sessions.sum()),
        "queries": int((first.sessions > 0).sum()),
        "rankings": {name: _figures(evaluation) for name, evaluation in found.items()},
        "difference": {
            told.metric: {"mean": told.mean, "interval": list(told.interval), "p_value": told.p_value}
            for told in differences
        },
    }


def _figures(evaluation: LogEvaluation) -> dict[str, Any]:
    metrics = {
        evaluation.label(name): {
            "mean": mean,
            "interval": list(evaluation.interval[name]),
            "effective_size": evaluation.effective_size[name],
            "never_shown": evaluation.unseen[name],
        }
        for name, mean in evaluation.mean.items()
    }
    return {"metrics": metrics, "notes": list(evaluation.notes)}
