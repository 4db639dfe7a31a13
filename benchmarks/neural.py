"""Epochs of the papers' small networks against the same networks in PyTorch.

    python benchmarks/neural.py [--quick]

63 queries of 150 documents with 25 features, as a fold of OHSUMED has; one gradient step (Adam) per query, float32. The
PyTorch side factorizes the pairwise layer as Podium does, uses its fused Adam and is timed with one thread and with
all, of which the faster counts. Times are the best of several epochs; both sides must have the same loss in the first.

A last line trains BoltzRank with energies summed over all pairs of documents in each step, O(K m²) for K rankings of m
documents as in the paper, against the O(K m) form that Podium uses: the losses agree up to rounding.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import torch
from numba import njit

import podium
from podium.losses.base import Loss
from podium.losses.boltzrank import BoltzRankLoss
from podium.losses.listnet import ListNetLoss
from podium.scorers.network.mlp import MLP
from podium.scorers.network.potentials import Potentials
from podium.training import Stochastic
from podium.training.base import Problem

N_QUERIES, LENGTH, N_FEATURES, HIDDEN = 63, 150, 25, 5
RATE = 0.001


@njit(fastmath={"contract", "reassoc", "nsz"}, error_model="numpy")
def boltzrank_by_pairs(given, prepared, out):
    """Compute BoltzRank's loss and gradient with g(x) = 2x/(m − 1), pair by pair."""
    sample, _, all_target, all_gains, weight = prepared
    scores, q, gradient = given.scores, given.query, out.gradient
    m = len(scores)
    places = sample.places[sample.first_place[q] : sample.first_place[q + 1]].reshape((-1, m))
    rankings = slice(sample.first[q], sample.first[q + 1])
    target, gains = all_target[rankings], all_gains[rankings]
    scale = 4.0 / (m * (m - 1.0) * (m - 1.0))
    energy = np.zeros(len(gains))
    for k in range(len(gains)):
        total = 0.0
        for j in range(m):
            for i in range(j):
                total += (float(places[k, j]) - float(places[k, i])) * (scores[j] - scores[i])
        energy[k] = scale * total
    p = np.exp(energy.min() - energy)
    log_sum = np.log(p.sum()) - energy.min()
    p /= p.sum()
    expected = (p * gains).sum()
    gradient[:] = 0.0
    for k in range(len(gains)):
        slope = scale * (weight * p[k] * (gains[k] - expected) + (1.0 - weight) * (target[k] - p[k]))
        for j in range(m):
            for i in range(j):
                push = slope * (float(places[k, j]) - float(places[k, i]))
                gradient[j] += push
                gradient[i] -= push
    return (1.0 - weight) * (log_sum + (target * energy).sum()) - weight * expected


class BoltzRankByPairs(BoltzRankLoss):
    kernel = boltzrank_by_pairs


class ScaledTanh(torch.nn.Module):
    def forward(self, z: torch.Tensor) -> torch.Tensor:
        return 1.7159 * torch.tanh(z * (2 / 3))


def torch_mlp() -> torch.nn.Module:
    return torch.nn.Sequential(
        torch.nn.Linear(N_FEATURES, HIDDEN), ScaledTanh(), torch.nn.Linear(HIDDEN, 1), ScaledTanh()
    )


class TorchPotentials(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.single = torch.nn.Sequential(
            torch.nn.Linear(N_FEATURES, 3), ScaledTanh(), torch.nn.Linear(3, 1), ScaledTanh()
        )
        self.projection = torch.nn.Linear(N_FEATURES, 2 * HIDDEN, bias=False)
        self.bias = torch.nn.Parameter(torch.zeros(HIDDEN))
        self.out = torch.nn.Linear(HIDDEN, 1)
        self.tanh = ScaledTanh()
        self.register_buffer("others", 1 - torch.eye(LENGTH))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        p, q = self.projection(x).split(HIDDEN, dim=1)
        hidden = self.tanh((p + self.bias)[:, None] + q[None])
        pairs = self.tanh(self.out(hidden)[..., 0]) * self.others
        return self.single(x)[:, 0] + pairs.mean(dim=1) * (LENGTH / (LENGTH - 1))


def flatten(module: torch.nn.Module) -> np.ndarray:
    """Return the module's parameters in the order of Podium's ``theta``."""
    return np.concatenate([p.detach().numpy().ravel() for p in ordered(module)]).astype(np.float64)


def ordered(module: torch.nn.Module) -> list[torch.Tensor]:
    if not isinstance(module, TorchPotentials):
        return list(module.parameters())
    return [*module.single.parameters(), module.projection.weight, module.bias, *module.out.parameters()]


def torch_listnet(queries: podium.Queries, loss: Loss) -> list:
    """Cross entropy of the top-one distributions, with the target computed once."""
    targets = [torch.softmax(torch.from_numpy(queries.labels[s]).float(), 0) for s in queries.slices()]
    return [lambda s, t=t: -(t * torch.log_softmax(s, 0)).sum() for t in targets]


def torch_boltzrank(queries: podium.Queries, loss: Loss) -> list:
    """−O_q over the rankings that Podium drew: energies are products with a matrix that is made once."""
    sample, energy, target, gains, weight = loss.bind(queries.labels, queries.offsets).prepared
    functions = []
    for q, s in enumerate(queries.slices()):
        places = sample.places[sample.first_place[q] : sample.first_place[q + 1]]
        of_query = energy.h[s][places.reshape(-1, LENGTH)]
        own = slice(sample.first[q], sample.first[q + 1])
        tensors = (torch.from_numpy(values.astype(np.float32)) for values in (of_query, gains[own], target[own]))
        functions.append(boltzrank_of(*tensors, weight))
    return functions


def boltzrank_of(c: torch.Tensor, gain: torch.Tensor, target: torch.Tensor, weight: float):
    def value(scores: torch.Tensor) -> torch.Tensor:
        log_p = torch.log_softmax(-(c @ scores), 0)
        return -weight * (log_p.exp() * gain).sum() - (1 - weight) * (target * log_p).sum()

    return value


def torch_epochs(
    module: torch.nn.Module, queries: podium.Queries, losses: list, orders: list[np.ndarray]
) -> tuple[float, float]:
    """Return the best seconds per epoch and the mean loss of the first."""
    lists = [torch.from_numpy(queries.features[s]) for s in queries.slices()]
    optimizer = torch.optim.Adam(module.parameters(), lr=RATE, fused=True)
    best, first = np.inf, np.nan
    for k, order in enumerate(orders):
        start, total = time.perf_counter(), 0.0
        for q in order:
            optimizer.zero_grad(set_to_none=True)
            value = losses[q](module(lists[q]).reshape(-1))
            value.backward()
            optimizer.step()
            total += value.detach()
        best = min(best, time.perf_counter() - start)
        first = float(total) / len(order) if k == 0 else first
    return best, first


class Started:
    """A scorer whose training starts at given parameters."""

    def __init__(self, scorer: MLP | Potentials, theta: np.ndarray) -> None:
        self.scorer, self.theta = scorer, theta

    def start(self, *args: object, **kwargs: object):
        return self.scorer.start(*args, **kwargs).at(self.theta.copy())


def podium_epochs(scorer: Started, queries: podium.Queries, loss: Loss, epochs: int) -> tuple[float, float]:
    times: list[float] = []
    trainer = Stochastic(epochs=epochs, learning_rate=RATE, schedule="constant")
    rng = np.random.default_rng(1)
    fit = trainer.fit(Problem(loss, scorer, queries, rng=rng, callback=lambda _: times.append(time.perf_counter())))
    return float(np.diff(times).min()), fit.convergence.losses[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer epochs: noisier figures")
    epochs = 6 if parser.parse_args().quick else 30

    rng = np.random.default_rng(0)
    features = rng.standard_normal((N_QUERIES * LENGTH, N_FEATURES)).astype(np.float32)
    labels = rng.integers(0, 3, len(features))
    queries = podium.Queries(features, labels, sizes=[LENGTH] * N_QUERIES)
    print(f"{'network':12}{'loss':12}{'Podium':>12}{'torch, 1':>12}{'torch, all':>12}{'ratio':>8}   (ms per epoch)")
    all_threads = torch.get_num_threads()
    for name, scorer, build in (
        ("MLP", MLP(HIDDEN, output="tanh", l2=0.0), torch_mlp),
        ("Potentials", Potentials(3, HIDDEN, "mean", l2=0.0), TorchPotentials),
    ):
        for loss, in_torch in ((ListNetLoss(), torch_listnet), (BoltzRankLoss(), torch_boltzrank)):
            torch.manual_seed(0)
            theta = flatten(build())
            ours, our_loss = podium_epochs(Started(scorer, theta), queries, loss, epochs)
            (stream,) = np.random.default_rng(1).spawn(1)  # as the trainer does: both sides take the same steps
            scorer.start(queries, stream)
            orders = [stream.permutation(N_QUERIES) for _ in range(epochs)]
            theirs = []
            for threads in (1, all_threads):
                torch.set_num_threads(threads)
                torch.manual_seed(0)
                seconds, their_loss = torch_epochs(build(), queries, in_torch(queries, loss), orders)
                theirs.append(seconds)
                if not np.isclose(our_loss, their_loss, rtol=1e-4):
                    raise SystemExit(f"{name}, {loss!r}: the sides differ, {our_loss} and {their_loss}")
            columns = "".join(f"{1e3 * t:12.2f}" for t in (ours, *theirs))
            kind = type(loss).__name__.removesuffix("Loss")
            print(f"{name:12}{kind:12}{columns}{min(theirs) / ours:8.1f}", flush=True)
    print(f"\n{'network':12}{'loss':12}{'O(K m)':>12}{'O(K m²)':>12}{'ratio':>8}   (ms per epoch)")
    for name, scorer in (("MLP", MLP(HIDDEN, output="tanh")), ("Potentials", Potentials(3, HIDDEN, "mean"))):
        theta = scorer.start(queries, np.random.default_rng(0)).theta
        linear, value = podium_epochs(Started(scorer, theta), queries, BoltzRankLoss(), epochs)
        by_pairs, same = podium_epochs(Started(scorer, theta), queries, BoltzRankByPairs(), max(3, epochs // 5))
        if not np.isclose(value, same, rtol=1e-9):
            raise SystemExit(f"the two forms differ: {value} and {same}")
        print(
            f"{name:12}{'BoltzRank':12}{1e3 * linear:12.2f}{1e3 * by_pairs:12.2f}{by_pairs / linear:8.1f}", flush=True
        )


if __name__ == "__main__":
    main()
