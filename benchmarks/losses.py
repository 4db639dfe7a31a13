"""Value and gradient of losses: Podium against Rax, PyTorch and LightGBM, in documents per second.

    python benchmarks/losses.py [--quick] [--rounds N]

6,000 lists of 20 to 215 documents in five grades, float32 scores. The contestants:

rax        JAX, jitted, lists padded to the longest (``jax.value_and_grad``).
padded     PyTorch as allRank does it: lists padded to the longest, autograd.
buckets    PyTorch with lists sorted by length and batched with lists of similar length, to reduce padding.
lightgbm   LightGBM's own LambdaRank (gradient and Hessian, no value): an iteration with a single split on a feature of
           two values, minus the same with the objective "regression", whose gradient costs almost nothing.

Padded contestants get prepared batches; preparing them is not timed. Pairwise losses run in batches of 40 lists,
whose tensors fit into the cache. Contestants take turns, and the best round of each counts. Other work on the machine
disturbs the figures: compare ratios within one run. Needs torch, jax, rax and lightgbm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import jax
import jax.numpy as jnp
import lightgbm
import numpy as np
import rax
import torch
from torch.nn.functional import softplus

from podium.losses import LambdaRankLoss, ListMLELoss, ListNetLoss, Loss, RankNetLoss, RankSVMLoss

Run = Callable[[], float]
ROWS = 30
"""Truncation of LambdaRank."""


class Lists:
    """The lists, ragged for Podium and in padded batches for the others."""

    def __init__(self, n_queries: int) -> None:
        rng = np.random.default_rng(0)
        self.sizes = rng.integers(20, 216, n_queries)
        self.offsets = np.concatenate(([0], np.cumsum(self.sizes)))
        self.n = int(self.offsets[-1])
        self.labels = rng.integers(0, 5, self.n)
        self.scores = rng.standard_normal(self.n, dtype=np.float32)

    def batches(self, size: int, by_length: bool) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Return scores, labels and mask of each batch of lists, padded to the longest of all lists or of the batch."""
        queries = np.argsort(self.sizes) if by_length else np.arange(len(self.sizes))
        longest = int(self.sizes.max())
        result = []
        for start in range(0, len(queries), size):
            chosen = queries[start : start + size]
            width = int(self.sizes[chosen].max()) if by_length else longest
            columns = np.arange(width)
            mask = columns < self.sizes[chosen, None]
            rows = np.where(mask, self.offsets[chosen, None] + columns, 0)
            result.append((np.where(mask, self.scores[rows], 0), np.where(mask, self.labels[rows], 0), mask))
        return result


# ---- what is computed, in PyTorch: the sum over the lists of a batch


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


def run_torch(lists: Lists, loss: Callable[..., torch.Tensor], batch_size: int, by_length: bool) -> Run:
    batches = [
        (torch.from_numpy(s).requires_grad_(), torch.from_numpy(y).float(), torch.from_numpy(mask))
        for s, y, mask in lists.batches(batch_size, by_length)
    ]

    def run() -> float:
        total = 0.0
        for s, y, mask in batches:
            s.grad = None
            value = loss(s, y, mask)
            value.backward()
            total += value.item()
        return total / len(lists.sizes)

    return run


def run_rax(lists: Lists, loss: Callable[..., jax.Array], batch_size: int) -> Run:
    # All batches have one shape, so that one compilation serves them.
    batches = [tuple(map(jnp.asarray, batch)) for batch in lists.batches(batch_size, by_length=False)]
    step = jax.jit(jax.value_and_grad(lambda s, y, mask: loss(s, y.astype(jnp.float32), where=mask)))

    def run() -> float:
        results = [step(*batch) for batch in batches]
        return float(sum(jax.block_until_ready(results)[i][0] for i in range(len(results)))) / len(results)

    return run


def rax_listnet(scores: jax.Array, labels: jax.Array, where: jax.Array) -> jax.Array:
    target = jax.nn.softmax(labels, where=where, axis=-1)
    return rax.softmax_loss(scores, target, where=where)


RAX: dict[str, Callable[..., jax.Array]] = {
    "ListNet": rax_listnet,
    "ListMLE": rax.listmle_loss,
    "RankNet": rax.pairwise_logistic_loss,
    "RankSVM": rax.pairwise_hinge_loss,
    "LambdaRank": partial(rax.pairwise_logistic_loss, lambdaweight_fn=partial(rax.dcg_lambdaweight, normalize=True)),
}
TORCH = {
    "ListNet": listnet,
    "ListMLE": listmle,
    "RankNet": pairs(lambda gap: softplus(-gap)),
    "RankSVM": pairs(lambda gap: (1 - gap).clamp(min=0)),
    "LambdaRank": lambdarank,
}
OURS: dict[str, tuple[Loss, bool]] = {
    "ListNet": (ListNetLoss(), False),
    "ListMLE": (ListMLELoss(), False),
    "RankNet": (RankNetLoss(), False),
    "RankSVM": (RankSVMLoss(), False),
    "LambdaRank": (LambdaRankLoss(truncation=ROWS), True),  # with the Hessian, as LightGBM's
    "LambdaRank, all pairs": (LambdaRankLoss(truncation=None), True),
}


def run_podium(lists: Lists, loss: Loss, curvature: bool) -> Run:
    bound = loss.bind(lists.labels, lists.offsets)
    gradient = np.empty_like(lists.scores)
    return lambda: bound.value_and_gradient(lists.scores, curvature=curvature, gradient=gradient).value


def lightgbm_seconds(lists: Lists, n_iterations: int, **objective: object) -> float:
    """Return the seconds for one LightGBM iteration that does almost nothing but compute gradients."""
    feature = (np.arange(lists.n) % 2).astype(np.float32)[:, None]
    data = lightgbm.Dataset(
        feature, lists.labels, group=lists.sizes, init_score=lists.scores.astype(np.float64), params={"verbose": -1}
    )
    settings = {"num_leaves": 2, "learning_rate": 1e-6, "verbose": -1, **objective}
    booster = lightgbm.Booster(settings, data)
    booster.update()
    best = float("inf")
    for _ in range(n_iterations):
        start = time.perf_counter()
        booster.update()
        best = min(best, time.perf_counter() - start)
    return best


def take_turns(runs: dict[str, Run], n_rounds: int) -> dict[str, float]:
    """Return the best seconds of each; a pause lets one library's threads go idle before the next one starts."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(n_rounds):
        for name, run in runs.items():
            time.sleep(0.05)
            end = time.perf_counter() + 0.1
            while (start := time.perf_counter()) < end:
                run()
                best[name] = min(best[name], time.perf_counter() - start)
    return best


def contestants(lists: Lists, name: str) -> dict[str, Run]:
    pairwise = name not in ("ListNet", "ListMLE")
    whole, small = len(lists.sizes), 40
    loss, curvature = OURS[name]
    runs = {"podium": run_podium(lists, loss, curvature)}
    if name in TORCH:
        # One shape for all of Rax's batches: a divisor of the number of lists.
        runs["rax"] = run_rax(lists, RAX[name], small if pairwise else whole)
        runs["padded"] = run_torch(lists, TORCH[name], small if pairwise else whole, by_length=False)
        runs["buckets"] = run_torch(lists, TORCH[name], small if pairwise else whole // 20, by_length=True)
    return runs


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the lists, one round")
    parser.add_argument("--rounds", type=int, default=5)
    arguments = parser.parse_args()
    lists = Lists(600 if arguments.quick else 6000)
    n_rounds = 1 if arguments.quick else arguments.rounds
    print(f"{len(lists.sizes):,} lists, {lists.n:,} documents, {torch.get_num_threads()} threads")
    print(f"{'loss':<22} {'contestant':<10} {'M documents/s':>14} {'podium is':>12}")
    for name in OURS:
        seconds = take_turns(contestants(lists, name), n_rounds)
        if name.startswith("LambdaRank"):
            level = ROWS if name == "LambdaRank" else 10_000
            baseline = lightgbm_seconds(lists, 2 * n_rounds, objective="regression", boost_from_average=False)
            seconds["lightgbm"] = (
                lightgbm_seconds(lists, 2 * n_rounds, objective="lambdarank", lambdarank_truncation_level=level)
                - baseline
            )
        for contestant, best in seconds.items():
            ratio = "" if contestant == "podium" else f"{best / seconds['podium']:.1f}× faster"
            print(f"{name:<22} {contestant:<10} {lists.n / best / 1e6:>14.1f} {ratio:>12}", flush=True)


if __name__ == "__main__":
    main()
