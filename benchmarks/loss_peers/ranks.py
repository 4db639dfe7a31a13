"""Losses made of ranks: ApproxNDCG, the LambdaLoss family and NeuralNDCG, on lists of 100."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial

import jax
import rax
import torch
from torch.nn.functional import softplus

from loss_peers.contest import Contest
from podium.losses import ApproxMRRLoss, ApproxNDCGLoss, LambdaLoss, NeuralNDCGLoss

TEMPERATURE = 0.1
"""ApproxNDCG and ApproxMRR have this one."""
Tensor = torch.Tensor


def shares_of_ideal(y: Tensor, mask: Tensor) -> Tensor:
    """Return each document's gain over the ideal DCG of its list."""
    gains = (torch.exp2(y) - 1) * mask
    ideal = (gains.sort(dim=1, descending=True).values * discount(places(y))).sum(dim=1)
    return gains / ideal.clamp(min=1e-9)[:, None]


def places(like: Tensor) -> Tensor:
    """Return 1, 2, … in the type of the scores."""
    return torch.arange(1, like.shape[1] + 1, dtype=like.dtype)


def discount(rank: Tensor) -> Tensor:
    return 1 / torch.log2(1.0 + rank)


def smooth_ranks(s: Tensor, mask: Tensor) -> Tensor:
    above = torch.sigmoid((s[:, None, :] - s[:, :, None]) / TEMPERATURE) * mask[:, None, :]
    return above.sum(dim=2) + 0.5  # a document is not above itself, by a half


def approxndcg(s: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    return -(shares_of_ideal(y, mask) * discount(smooth_ranks(s, mask))).sum()


def approxmrr(s: Tensor, y: Tensor, mask: Tensor) -> Tensor:
    y = y * mask
    return -(y / y.sum(dim=1, keepdim=True).clamp(min=1e-9) / smooth_ranks(s, mask)).sum()


def lambdaloss(kind: str, mu: float = 10.0) -> Callable[[Tensor, Tensor, Tensor], Tensor]:
    """Return a loss of the family; as allRank does, in the order of the scores, with weights that have no gradient."""

    def loss(s: Tensor, y: Tensor, mask: Tensor) -> Tensor:
        with torch.no_grad():
            order = s.masked_fill(~mask, -torch.inf).argsort(dim=1, descending=True, stable=True)
            labels, valid = y.gather(1, order), mask.gather(1, order)
            gains = shares_of_ideal(y, mask).gather(1, order)
            ranks = places(s)
            d = discount(ranks)
            apart = (ranks[:, None] - ranks[None, :]).abs()
            delta = (discount(apart) - discount(apart + 1)).fill_diagonal_(0.0)
            rho = (d[:, None] - d[None, :]).abs()
            pairs = valid[:, :, None] & valid[:, None, :] & ~torch.eye(y.shape[1], dtype=torch.bool)
            differences = gains[:, :, None] - gains[:, None, :]
            if kind in ("arp1", "ndcg1"):
                weights = ((labels if kind == "arp1" else gains * d)[:, :, None]).expand(pairs.shape)
            else:
                pairs = pairs & (labels[:, :, None] > labels[:, None, :])
                weights = {
                    "arp2": labels[:, :, None] - labels[:, None, :],
                    "ndcg2": differences * delta,
                    "ndcg2++": differences * (rho + mu * delta),
                }[kind]
            weights = weights * pairs / math.log(2.0)
        ordered = s.gather(1, order)
        return (weights * softplus(ordered[:, None, :] - ordered[:, :, None])).sum()

    return loss


def neuralndcg(s: Tensor, y: Tensor, mask: Tensor, temperature: float = 1.0) -> Tensor:
    """Return NeuralNDCG as allRank computes it; Sinkhorn's rounds go on until all lists of the batch have converged."""
    n = s.shape[1]
    pairs = mask[:, :, None] & mask[:, None, :]
    sums = ((s[:, :, None] - s[:, None, :]).abs() * pairs).sum(dim=2)
    lengths = mask.sum(dim=1)
    weights = lengths[:, None] + 1 - 2 * places(s)
    logits = (weights[:, :, None] * s[:, None, :] - sums[:, None, :]) / temperature
    taken = torch.arange(n) < lengths[:, None]
    valid = taken[:, :, None] & mask[:, None, :]
    p = logits.masked_fill(~valid, -1e9).softmax(dim=2) * valid
    for _ in range(50):
        p = p / p.sum(dim=1, keepdim=True).clamp(min=1e-10)
        p = p / p.sum(dim=2, keepdim=True).clamp(min=1e-10)
        with torch.no_grad():
            columns, rows = ((p.sum(dim=1) - 1) * mask).abs().max(), ((p.sum(dim=2) - 1) * taken).abs().max()
        if max(columns, rows) < 1e-6:
            break
    found = torch.einsum("bkj,bj->bk", p, shares_of_ideal(y, mask))
    return -(found * discount(places(s))).sum()


def rax_approximate(metric: Callable[..., jax.Array], temperature: float = TEMPERATURE) -> Callable[..., jax.Array]:
    """Return what ``rax.approx_t12n`` does, which Rax 0.4 cannot do with the newest JAX."""
    ranks = partial(rax.utils.approx_ranks, step_fn=lambda x: jax.nn.sigmoid(x / temperature))
    return lambda *arguments, **options: -metric(*arguments, rank_fn=ranks, **options)


rax_arp2 = partial(rax.pairwise_logistic_loss, lambdaweight_fn=rax.labeldiff_lambdaweight)
rax_ndcg2 = partial(rax.pairwise_logistic_loss, lambdaweight_fn=partial(rax.dcg2_lambdaweight, normalize=True))

CONTESTS = {
    "ApproxNDCG": Contest(ApproxNDCGLoss(TEMPERATURE), approxndcg, rax_approximate(rax.ndcg_metric), pairwise=True),
    "ApproxMRR": Contest(ApproxMRRLoss(TEMPERATURE), approxmrr, rax_approximate(rax.mrr_metric), pairwise=True),
    "LambdaLoss NDCG2++": Contest(LambdaLoss("ndcg2++"), lambdaloss("ndcg2++"), pairwise=True),
    "LambdaLoss NDCG2": Contest(LambdaLoss("ndcg2"), lambdaloss("ndcg2"), rax_ndcg2, pairwise=True),
    "LambdaLoss NDCG1": Contest(LambdaLoss("ndcg1"), lambdaloss("ndcg1"), pairwise=True),
    "LambdaLoss ARP1": Contest(LambdaLoss("arp1"), lambdaloss("arp1"), pairwise=True),
    "LambdaLoss ARP2": Contest(LambdaLoss("arp2"), lambdaloss("arp2"), rax_arp2, pairwise=True),
    "NeuralNDCG": Contest(NeuralNDCGLoss(), neuralndcg, pairwise=True),
}
