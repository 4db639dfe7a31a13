"""ListNet, ListMLE, RankNet, RankSVM and LambdaRank, on lists of different lengths."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

import jax
import rax
import torch
from torch.nn.functional import softplus

from loss_peers.contest import Contest
from podium.losses import LambdaRankLoss, ListMLELoss, ListNetLoss, RankNetLoss, RankSVMLoss

ROWS = 30
"""Truncation of LambdaRank."""


def listnet(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    target = y.masked_fill(~mask, -torch.inf).softmax(dim=1)
    return -(target * s.masked_fill(~mask, -1e9).log_softmax(dim=1)).sum()


def listmle(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    order = y.masked_fill(~mask, -1).argsort(dim=1, descending=True, stable=True)
    ordered = s.gather(1, order)
    valid = mask.gather(1, order)
    remaining = ordered.masked_fill(~valid, -1e9).flip(1).logcumsumexp(dim=1).flip(1)
    return (remaining - ordered).masked_fill(~valid, 0.0).sum()


def pairs(f: Callable[[torch.Tensor], torch.Tensor]) -> Callable[..., torch.Tensor]:
    def loss(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
        better = (y[:, :, None] > y[:, None, :]) & mask[:, :, None] & mask[:, None, :]
        losses = f(s[:, :, None] - s[:, None, :]) * better
        return (losses.sum(dim=(1, 2)) / better.sum(dim=(1, 2)).clamp(min=1)).sum()

    return loss


def lambdarank(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    with torch.no_grad():
        order = s.masked_fill(~mask, -1e9).argsort(dim=1, descending=True, stable=True)
        discounts = 1 / torch.log2(2.0 + torch.arange(s.shape[1]))
        gains = (torch.exp2(y) - 1) * mask
        ideal = (gains.sort(dim=1, descending=True).values * discounts).sum(dim=1).clamp(min=1e-9)
        ranked, labels, valid = gains.gather(1, order), y.gather(1, order), mask.gather(1, order)
        top = slice(None, ROWS)
        delta = (ranked[:, top, None] - ranked[:, None, :]) * (discounts[top, None] - discounts[None, :])
        unequal = (labels[:, top, None] != labels[:, None, :]) & valid[:, top, None] & valid[:, None, :]
        weights = delta.abs() / ideal[:, None, None] * unequal
        weights = torch.triu(weights, diagonal=1)  # each pair once
        sign = torch.sign(labels[:, top, None] - labels[:, None, :])
    ordered = s.gather(1, order)
    return (weights * softplus(-sign * (ordered[:, top, None] - ordered[:, None, :]))).sum()


def rax_listnet(scores: jax.Array, labels: jax.Array, where: jax.Array) -> jax.Array:
    target = jax.nn.softmax(labels, where=where, axis=-1)
    return rax.softmax_loss(scores, target, where=where)


rax_lambdarank = partial(rax.pairwise_logistic_loss, lambdaweight_fn=partial(rax.dcg_lambdaweight, normalize=True))
_PAIRS = Contest(RankNetLoss(), pairwise=True, hundred=False)
_LAMBDAS = replace(_PAIRS, curvature=True)
_LIGHTGBM = {"objective": "lambdarank", "lambdarank_truncation_level": ROWS}

CONTESTS = {
    "ListNet": Contest(ListNetLoss(), listnet, rax_listnet, hundred=False),
    "ListMLE": Contest(ListMLELoss(), listmle, rax.listmle_loss, hundred=False),
    "RankNet": replace(_PAIRS, torch=pairs(lambda gap: softplus(-gap)), rax=rax.pairwise_logistic_loss),
    "RankSVM": replace(
        _PAIRS, loss=RankSVMLoss(), torch=pairs(lambda gap: (1 - gap).clamp(min=0)), rax=rax.pairwise_hinge_loss
    ),
    "LambdaRank": replace(
        _LAMBDAS, loss=LambdaRankLoss(truncation=ROWS), torch=lambdarank, rax=rax_lambdarank, lightgbm=_LIGHTGBM
    ),
    "LambdaRank, all pairs": replace(
        _LAMBDAS, loss=LambdaRankLoss(truncation=None), lightgbm={**_LIGHTGBM, "lambdarank_truncation_level": 10_000}
    ),
}
