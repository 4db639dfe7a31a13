"""Evaluate what a model recommends.

Evaluate a trained model on ratings that it has not seen. By default every item of the catalogue that a user has not
rated in training is ranked, and the items that the user rated RELEVANT or better in TEST are to be found; --candidates
rated ranks only the items in TEST, as the papers do. Each figure is printed with its convention and its 95 % bootstrap
interval over users.

examples:
  podium ratings evaluate model.podium test.csv
  podium ratings evaluate model.podium test.csv --metrics recall@20,ndcg@20,coverage@20 --convention trec
  podium ratings evaluate model.podium test.csv --relevant 3 --binary --json
  podium ratings evaluate model.podium test.csv --given known.csv       (TEST has users that the model does not know)
  podium ratings evaluate model.podium test.csv --candidates rated --metrics ndcg@5,ndcg@10,err

Of a whole catalogue there are also coverage@K, novelty@K, popularity@K and lift@K: see docs/metrics.md.
"""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING, Any

from podium.cli import evaluate as of_documents
from podium.cli import options

if TYPE_CHECKING:
    from podium.metrics import Evaluation

CATALOGUE = "recall@10,ndcg@10,map@10,hit@10,p@10,mrr@10,coverage@10,novelty@10,lift@10"
RATED = "ndcg@1,ndcg@5,ndcg@10,err"


def configure(parser: options.Parser) -> None:
    parser.option("model MODEL", "file of a ranker of ratings")
    what = "ratings to find: text with user, item and rating on each line (also .gz), or Parquet"
    parser.option("test TEST", what)
    parser.option(
        "--candidates {catalogue,rated}",
        "what is ranked for a user: all items not rated in training, or the user's items in TEST (default: catalogue)",
        default="catalogue",
    )
    parser.option("--given FILE", "known ratings of users that the model was not trained on, who are folded in")
    options.add_metrics_options(parser, f"{CATALOGUE}; for rated items {RATED}")
    parser.set_defaults(metrics=None)
    add_relevance_options(parser)
    parser.option("--seed N", "seed of the order of tied items, for conventions that go by rows", type=int, default=0)
    parser.option("--per-user", "also print each user's values", dest="per_query")
    parser.option("--json", "print the results as JSON")
    options.add_part_option(parser)


def add_relevance_options(parser: options.Parser) -> None:
    """Add the options that say what is to be found in a catalogue."""
    least = "the lowest rating that is worth finding in a catalogue (default: 4)"
    parser.option("--relevant R", least, type=lambda text: options.number(text, "a rating above 0"))
    parser.option("--binary", "count all relevant items of a catalogue alike, instead of by their ratings")


def run(arguments: argparse.Namespace) -> int:
    return of_documents.show(_evaluate(arguments), arguments)


def _evaluate(arguments: argparse.Namespace) -> Evaluation:
    from podium.metrics import import_metrics
    from podium.ratings import RatingRanker, evaluate_catalogue, evaluate_ratings, read_ratings

    ranker = options.load_model(arguments)
    if not isinstance(ranker, RatingRanker):
        kind = type(ranker).__name__
        raise ValueError(f"{arguments.model} is a {kind}, not a ranker of ratings: podium evaluate is for documents")
    test = read_ratings(arguments.test)
    whole = arguments.candidates == "catalogue"
    asked = arguments.metrics or options.comma_list(CATALOGUE if whole else RATED)
    more: dict[str, Any] = {"metrics": import_metrics(asked), "convention": arguments.convention}
    if arguments.given is not None:
        more["given"] = read_ratings(arguments.given)
    if not whole:
        if arguments.relevant is not None or arguments.binary:
            raise ValueError("--relevant and --binary are for --candidates catalogue; use --convention for rated items")
        return evaluate_ratings(ranker, test, **more)
    chosen = {"relevant": arguments.relevant, "binary": arguments.binary, "random_state": arguments.seed}
    return evaluate_catalogue(ranker, test, **more, **chosen)
