"""Choose what raters should judge next.

Choose from a log of clicks the documents whose judgment would tell most: about which of two rankings is better
(--against), or about what one is worth. Documents count by how differently the rankings place them, by how often their
query was asked, and by how little clicks tell of them. The file that -o writes has a row per query and document with an
empty column label, for raters to fill in; `podium join --judgments` and --judged here take it back. A model is a file
that `podium train` wrote; scores by query and document, a TREC run or a table, will do as well.

examples:
  podium clicks ask new.podium log.parquet --against old.podium --bias bias.json -n 100 -o pairs.csv
  podium clicks ask new.podium log.parquet --against old.podium --bias bias.json --judged pairs.csv
  podium clicks ask model.podium log.csv --bias bias.json --metric p@3 -o pairs.csv
  podium clicks ask new.run log.csv --against old.run --bias bias.json --candidates documents.parquet -o pairs.csv
"""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING, Any

from podium.cli import options, output
from podium.cli.clicks import ranked

if TYPE_CHECKING:
    from podium.clicks import Questions
    from podium.data.queries import Queries


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "a model, or a file of scores by query and document")
    parser.option("log LOG", "the log of clicks: CSV or Parquet")
    parser.option("--against OTHER", "the other ranking, of the same kinds")
    parser.option("-n --number N", "how many documents (default: 100)", type=options.positive, default=100)
    parser.option("-o --out FILE", "the file for raters, CSV")
    parser.option("--metric M", "dcg[@k], p@k or rbp[@k] (default: %(default)s)", default="dcg@10")
    parser.option(
        "--judged FILE", "judgments made before, which are taken into account: TREC qrels, CSV, TSV or Parquet"
    )
    positive = partial(options.number, what="a number above 0")
    parser.option("--highest GRADE", "the grade of a perfect document (default: the highest judged)", type=positive)
    parser.option("--json", "print the result as JSON")
    ranked.add_options(parser)


def run(arguments: argparse.Namespace) -> int:
    from podium.clicks import ask, load_bias
    from podium.clicks.rank_weights import rank_weights
    from podium.core.atomic import require_writable

    if arguments.highest and not arguments.judged:
        raise ValueError("--highest goes with --judged")
    rank_weights([arguments.metric])
    bias = load_bias(arguments.bias)
    if arguments.out:
        require_writable(arguments.out)
    names = [arguments.model] + ([arguments.against] if arguments.against else [])
    clicks, candidates, scores = ranked.read(arguments, arguments.log, names)
    queries = clicks.queries if candidates is None else candidates
    found = ask(
        scores[0],
        clicks,
        arguments.number,
        bias=bias,
        against=scores[1] if arguments.against else None,
        candidates=candidates,
        metric=arguments.metric,
        judged=_judged(arguments.judged, queries) if arguments.judged else None,
        highest=arguments.highest,
    )
    if arguments.out:
        found.save(arguments.out)
    if arguments.json:
        output.print_json(_as_json(found, arguments.out))
        return 0
    print(found)
    if arguments.out:
        print(f"\nFor raters: {arguments.out}; filled in, --judged {arguments.out} takes it back")
    return 0


def _judged(path: str, queries: Queries) -> Queries:
    from podium.data import join_judgments

    joined = join_judgments(queries, path)
    if joined.missing:
        output.note(f"{len(joined.missing)} judged documents are not among those that are ranked, and do not count")
    return joined.queries


def _as_json(found: Questions, out: str | None) -> dict[str, Any]:
    columns = {"query": "qids", "document": "documents", "ranks": "ranks", "relevance": "relevance"}
    columns |= {"deviation": "deviation", "worth": "worth"}
    rows = zip(*(getattr(found, name).tolist() for name in columns.values()), strict=True)
    documents = [dict(zip(columns, row, strict=True)) for row in rows]
    figures = {name: getattr(found, name) for name in ("metric", "mean", "error", "error_after", "n_judged")}
    two = {"probability": found.probability} if found.ranks.shape[1] == 2 else {}
    return figures | two | {"file": out, "documents": documents}
