"""Softmax, unique softmax, XE-NDCG, RankCosine and ListMLE with weights, on lists of 100 documents."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import rax
import torch

from loss_peers.contest import Contest
from podium.losses import ListMLELoss, RankCosineLoss, SoftmaxLoss, UniqueSoftmaxLoss, XENDCGLoss

# ---- PyTorch


def softmax(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    target = y / y.sum(dim=1, keepdim=True)
    return -(target * s.masked_fill(~mask, -1e9).log_softmax(dim=1)).sum()


def unique_softmax(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """A row for each document, with those of lower grades and itself."""
    lower = (y[:, None, :] < y[:, :, None]) & mask[:, None, :] & mask[:, :, None]
    rivals = lower | torch.eye(s.shape[1], dtype=torch.bool)
    sums = s[:, None, :].masked_fill(~rivals, -1e9).logsumexp(dim=2)
    return ((torch.exp2(y) - 1) * (sums - s)).sum()


def xendcg(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    phi = (torch.exp2(y) - torch.rand_like(s)).masked_fill(~mask, 0.0)
    target = phi / phi.sum(dim=1, keepdim=True)
    return -(target * s.masked_fill(~mask, -1e9).log_softmax(dim=1)).sum()


def rankcosine(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    return 0.5 * (1 - torch.nn.functional.cosine_similarity(s, y, dim=1)).sum()


def plistmle(s: torch.Tensor, y: torch.Tensor, mask: torch.Tensor) -> torch.Tensor:
    """Stages weighted by 1 / log2(1 + k)."""
    order = y.masked_fill(~mask, -1).argsort(dim=1, descending=True, stable=True)
    ordered, valid = s.gather(1, order), mask.gather(1, order)
    remaining = ordered.masked_fill(~valid, -1e9).flip(1).logcumsumexp(dim=1).flip(1)
    weights = 1 / torch.log2(2.0 + torch.arange(s.shape[1]))
    return (weights * (remaining - ordered)).masked_fill(~valid, 0.0).sum()


# ---- JAX


def rax_softmax(scores: jax.Array, labels: jax.Array, where: jax.Array) -> jax.Array:
    return rax.softmax_loss(scores, labels / jnp.sum(labels, axis=-1, keepdims=True), where=where)


CONTESTS = {
    "Softmax": Contest(SoftmaxLoss(), softmax, rax_softmax),
    "Unique softmax": Contest(UniqueSoftmaxLoss(), unique_softmax, rax.unique_softmax_loss, pairwise=True),
    "XE-NDCG": Contest(XENDCGLoss(), xendcg, draws=True),
    "XE-NDCG, trees": Contest(XENDCGLoss(), lightgbm={"objective": "rank_xendcg"}, draws=True, curvature=True),
    "XE-NDCG, newton": Contest(
        XENDCGLoss(newton=True), lightgbm={"objective": "rank_xendcg"}, draws=True, curvature=True
    ),
    "RankCosine": Contest(RankCosineLoss(), rankcosine),
    "ListMLE, discounted": Contest(ListMLELoss(discount="log", ties="stable"), plistmle),
}
