"""Value and gradient of losses: Podium against Rax, PyTorch and LightGBM, in documents per second.

    python benchmarks/losses.py [--quick] [--rounds N] [--cpu-time] [--losses NAME …]

6,000 lists of 20 to 215 documents, or 2,000 lists of 100, in five grades, float32 scores. The losses and the peers'
forms of them are the tables in ``loss_peers``. The contestants:

rax        JAX, jitted, lists padded to the longest (``jax.value_and_grad``).
padded     PyTorch as allRank does it: lists padded to the longest, autograd.
buckets    PyTorch with lists sorted by length and batched with lists of similar length, to reduce padding.
lightgbm   LightGBM's own objective (gradient and Hessian, no value): an iteration with a single split on a feature of
           two values, minus the same with the objective "regression", whose gradient costs almost nothing.

Padded contestants get prepared batches; preparing them is not timed. Pairwise losses run in batches of 40 lists,
whose tensors fit into the cache. Contestants take turns, and the best round of each counts. All use all cores that the
process may use (``taskset -c 0`` gives them one). Other work on the machine disturbs the figures: compare ratios within
one run, or, with one core, count CPU time of the process, all its threads, which is what an idle machine would take.
Needs torch, jax, rax and lightgbm.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any

import jax
import jax.numpy as jnp
import lightgbm
import numpy as np
import torch

from loss_peers import CONTESTS
from loss_peers.contest import Contest, Formula

Run = Callable[[], float]
Clock = Callable[[], float]
SMALL = 40
"""Lists per batch of pairwise losses; a divisor of the numbers of lists, so that all batches have one shape."""


class Lists:
    """The lists, ragged for Podium and in padded batches for the others."""

    def __init__(self, sizes: np.ndarray, rng: np.random.Generator) -> None:
        self.sizes = sizes
        self.offsets = np.concatenate(([0], np.cumsum(self.sizes)))
        self.n = int(self.offsets[-1])
        self.labels = rng.integers(0, 5, self.n)
        self.scores = rng.standard_normal(self.n, dtype=np.float32)

    @property
    def equal(self) -> bool:
        """Whether all have one length, so that there is nothing to pad."""
        return bool((self.sizes == self.sizes[0]).all())

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


def run_torch(lists: Lists, loss: Formula, batch_size: int, by_length: bool) -> Run:
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


def run_rax(lists: Lists, loss: Formula, batch_size: int) -> Run:
    # All batches have one shape, so that one compilation serves them.
    batches = [tuple(map(jnp.asarray, batch)) for batch in lists.batches(batch_size, by_length=False)]
    step = jax.jit(jax.value_and_grad(lambda s, y, mask: loss(s, y.astype(jnp.float32), where=mask)))

    def run() -> float:
        results = [step(*batch) for batch in batches]
        return float(sum(jax.block_until_ready(results)[i][0] for i in range(len(results)))) / len(results)

    return run


def run_podium(lists: Lists, contest: Contest) -> Run:
    bound = contest.loss.bind(lists.labels, lists.offsets)
    gradient = np.empty_like(lists.scores)
    epochs = count()

    def run() -> float:
        if contest.draws:
            bound.start_epoch(next(epochs))
        return bound.value_and_gradient(lists.scores, curvature=contest.curvature, gradient=gradient).value

    return run


def lightgbm_seconds(lists: Lists, n_iterations: int, objective: Mapping[str, Any], clock: Clock) -> float:
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
        start = clock()
        booster.update()
        best = min(best, clock() - start)
    return best


def take_turns(runs: dict[str, Run], n_rounds: int, clock: Clock) -> dict[str, float]:
    """Return the best seconds of each; a pause lets one library's threads go idle before the next one starts."""
    best = dict.fromkeys(runs, float("inf"))
    for run in runs.values():
        run()
    for _ in range(n_rounds):
        for name, run in runs.items():
            time.sleep(0.05)
            end = clock() + 0.1
            while (start := clock()) < end:
                run()
                best[name] = min(best[name], clock() - start)
    return best


def contestants(lists: Lists, contest: Contest) -> dict[str, Run]:
    whole = SMALL if contest.pairwise else len(lists.sizes)
    runs = {"podium": run_podium(lists, contest)}
    if contest.rax is not None:
        runs["rax"] = run_rax(lists, contest.rax, whole)
    if contest.torch is not None:
        runs["torch" if lists.equal else "padded"] = run_torch(lists, contest.torch, whole, by_length=False)
        if not lists.equal:
            few = SMALL if contest.pairwise else whole // 20
            runs["buckets"] = run_torch(lists, contest.torch, few, by_length=True)
    return runs


def timed(lists: Lists, contest: Contest, n_rounds: int, clock: Clock) -> dict[str, float]:
    """Return the seconds that each contestant takes."""
    seconds = take_turns(contestants(lists, contest), n_rounds, clock)
    if contest.lightgbm:
        regression = {"objective": "regression", "boost_from_average": False}
        baseline = lightgbm_seconds(lists, 2 * n_rounds, regression, clock)
        seconds["lightgbm"] = lightgbm_seconds(lists, 2 * n_rounds, contest.lightgbm, clock) - baseline
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the lists, one round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--cpu-time", action="store_true", help="count CPU time instead of time on the clock")
    parser.add_argument("--losses", nargs="+", default=list(CONTESTS), metavar="NAME", help=", ".join(CONTESTS))
    arguments = parser.parse_args()
    chosen = {name.lower() for name in arguments.losses}
    tenth, clock = 10 if arguments.quick else 1, time.process_time if arguments.cpu_time else time.perf_counter
    n_rounds = 1 if arguments.quick else arguments.rounds
    rng = np.random.default_rng(0)
    mixed, hundred = Lists(rng.integers(20, 216, 6000 // tenth), rng), Lists(np.full(2000 // tenth, 100), rng)
    print(f"{torch.get_num_threads()} threads; {len(mixed.sizes):,} lists, {mixed.n:,} documents; and lists of 100")
    print(f"{'loss':<24} {'contestant':<10} {'M documents/s':>14} {'podium is':>12}")
    for name, contest in CONTESTS.items():
        if name.lower() not in chosen:
            continue
        lists = hundred if contest.hundred else mixed
        seconds = timed(lists, contest, n_rounds, clock)
        for contestant, best in seconds.items():
            ratio = "" if contestant == "podium" else f"{best / seconds['podium']:.1f}× faster"
            print(f"{name:<24} {contestant:<10} {lists.n / best / 1e6:>14.1f} {ratio:>12}", flush=True)


if __name__ == "__main__":
    main()
