"""The PyTorch module of :class:`podium.scorers.Attention`: documents of a list attend to each other."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn.functional import dropout, relu, scaled_dot_product_attention


class SetEncoder(nn.Module):
    """Scores of the documents of lists, whatever their order: a transformer's encoder without positions.

    A score is the sum of a linear function of the document's features and of one of what attention makes of it. Both
    start at zero, so that training starts from equal scores, and first learns what a linear model can learn.

    Parameters
    ----------
    n_features : int
        Of a document.
    layers, heads, width, dropout
        As in :class:`podium.scorers.Attention`.
    """

    def __init__(self, n_features: int, layers: int, heads: int, width: int, dropout: float) -> None:
        super().__init__()
        self.direct = nn.Linear(n_features, 1, bias=False)
        self.embed = nn.Linear(n_features, width)
        self.blocks = nn.ModuleList(Block(heads, width, dropout) for _ in range(layers))
        self.normalize = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        for start in (self.direct.weight, self.score.weight, self.score.bias):
            nn.init.zeros_(start)

    def forward(self, x: torch.Tensor, mask: torch.Tensor | None = None) -> torch.Tensor:
        """Return (n,) scores of the (n, n_features) documents of a list.

        Of many lists: (n_lists, longest) scores of padded documents, (n_lists, longest, n_features), of which the mask,
        (n_lists, longest), is True where there is a document; scores elsewhere mean nothing.
        """
        if x.ndim == 2:
            return self.forward(x[None])[0]
        keys = None if mask is None else mask[:, None, None, :]
        h = self.embed(x)
        for block in self.blocks:
            h = block(h, keys)
        return (self.direct(x) + self.score(self.normalize(h)))[..., 0]


class Block(nn.Module):
    """Attention among the documents of a list, then a network on each; both are added to what comes in.

    Questions start equal to keys: a document first asks those that are like itself, whatever its features mean.
    """

    def __init__(self, heads: int, width: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.project, self.join = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.inner, self.outer = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        with torch.no_grad():
            self.project.weight[width : 2 * width] = self.project.weight[:width]
            self.project.bias[: 2 * width] = 0.0

    def forward(self, x: torch.Tensor, keys: torch.Tensor | None) -> torch.Tensor:
        x = x + self._dropped(self.join(self._attended(self.before(x), keys)))
        return x + self._dropped(self.outer(self._dropped(relu(self.inner(self.between(x))))))

    def _attended(self, x: torch.Tensor, keys: torch.Tensor | None) -> torch.Tensor:
        """Return for each document the mean of all documents' values, by how well its question fits their keys."""
        question, key, value = (
            part.unflatten(-1, (self.heads, -1)).transpose(1, 2) for part in self.project(x).chunk(3, dim=-1)
        )
        # PyTorch's own makes no array of all pairs of documents; dropout of weights, as allRank has, would need one.
        attended = scaled_dot_product_attention(question, key, value, attn_mask=keys)
        return attended.transpose(1, 2).flatten(-2)

    def _dropped(self, x: torch.Tensor) -> torch.Tensor:
        return dropout(x, self.dropout, self.training)
