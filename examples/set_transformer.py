"""A small set transformer as a scorer: documents of a list attend to each other before they are scored.

    python examples/set_transformer.py [DATA]

The scorer is an ordinary PyTorch module that takes the (n, n_features) documents of one list, so there is no padding
and no mask; the loss is any of Podium's. Without DATA (a LETOR file) it learns from synthetic lists in which a document
is relevant if it is close to the center *of its list*, which a scorer of single documents cannot see.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch
from torch import nn

import podium
from podium.data.queries import Queries
from podium.losses import ListNetLoss
from podium.scorers import MLP, Torch
from podium.training import Stochastic


class Block(nn.Module):
    """Attention among the documents of a list, then a network on each; no positions, so their order does not matter."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        normal = self.before(x)
        x = x + self.attention(normal, normal, normal, need_weights=False)[0]
        return x + self.feed(self.between(x))


class SetTransformer(nn.Module):
    """(n, n_features) documents of one list → (n,) scores."""

    def __init__(self, n_features: int, width: int = 16, heads: int = 2, blocks: int = 2) -> None:
        super().__init__()
        self.embed = nn.Linear(n_features, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(blocks)))
        self.score = nn.Linear(width, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.score(self.blocks(self.embed(x)[None]))[0, :, 0]


def relative_lists(n_queries: int = 150, length: int = 12, n_features: int = 6, seed: int = 0) -> Queries:
    """Return lists around centers of their own; a document's grade falls with its distance from the center."""
    rng = np.random.default_rng(seed)
    centers = rng.normal(0.0, 2.0, (n_queries, 1, n_features))
    x = centers + rng.normal(0.0, 1.0, (n_queries, length, n_features))
    distance = ((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=2)
    place = distance.argsort(axis=1).argsort(axis=1)
    grades = np.select([place < length // 6, place < length // 2], [2, 1], 0)
    return Queries(x.reshape(-1, n_features).astype(np.float32), grades.ravel(), sizes=[length] * n_queries)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", nargs="?", help="a LETOR file")
    parser.add_argument("--epochs", type=int, default=15)
    options = parser.parse_args()
    queries = podium.read_letor(options.data) if options.data else relative_lists()
    order = np.random.default_rng(0).permutation(len(queries))
    a, b = int(0.6 * len(order)), int(0.8 * len(order))
    train, valid, test = (queries.take(part) for part in (order[:a], order[a:b], order[b:]))

    torch.manual_seed(0)
    trainer = Stochastic(epochs=options.epochs, learning_rate=0.005, patience=5)
    scorers = {
        "each document alone (MLP)": MLP(16),
        "set transformer": Torch(SetTransformer(queries.n_features), per="list"),
    }
    for name, scorer in scorers.items():
        ranker = podium.Ranker(ListNetLoss(), scorer, trainer, random_state=0).fit(train, eval_set=valid)
        print(f"{name:28} ndcg@10 (standard) on {len(test)} test lists: {ranker.score(test):.4f}")


if __name__ == "__main__":
    main()
