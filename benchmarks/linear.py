"""Training a linear ListNet: Podium's fused L-BFGS against PyTorch's L-BFGS and against two BLAS products.

    python benchmarks/linear.py [--quick] [--repeat N]

Each contestant minimizes the same objective, mean ListNet loss plus L2, from zero on the same standardized data, and is
timed until its objective is within a relative 1e-6 of the best that any of them found. Needs PyTorch. Other work on the
machine disturbs the figures: compare ratios within one run, not times of two.
"""

from __future__ import annotations

import argparse
import resource
import time
from dataclasses import dataclass, field

import numpy as np
import torch
from scipy.optimize import minimize

import podium
from podium.losses import ListNetLoss
from podium.numerics.blas import quiet_blas
from podium.scorers import Linear
from podium.training import LBFGS, Problem

L2 = 1e-3


def make_data(n_documents: int, n_features: int, n_queries: int) -> podium.Queries:
    """Return standardized float32 features and grades 0–4 that follow a noisy linear score."""
    rng = np.random.default_rng(0)
    features = rng.standard_normal((n_documents, n_features), dtype=np.float32)
    features += 0.7 * rng.standard_normal((n_documents, 1), dtype=np.float32)  # correlated, as real features are
    weights = rng.standard_normal(n_features).astype(np.float32)
    hidden = features @ weights
    hidden = hidden / hidden.std() + rng.standard_normal(n_documents)
    labels = np.searchsorted(np.quantile(hidden, [0.5, 0.8, 0.92, 0.98]), hidden)
    features -= features.mean(axis=0)
    features /= np.sqrt(np.einsum("ij,ij->j", features, features) / n_documents)  # std() would make a copy
    cuts = np.sort(rng.choice(np.arange(1, n_documents), n_queries - 1, replace=False))
    sizes = np.diff(np.concatenate(([0], cuts, [n_documents])))
    return podium.Queries(features, labels, sizes=sizes)


@dataclass
class Run:
    """One training run: the objective over time."""

    curve: list[tuple[float, float]] = field(default_factory=list)
    """Seconds since the start and the objective, after each iteration or evaluation."""
    n_evaluations: int = 0
    start: float = field(default_factory=time.perf_counter)

    def note(self, value: float) -> None:
        self.curve.append((time.perf_counter() - self.start, value))

    def time_to(self, goal: float) -> float:
        return next((seconds for seconds, value in self.curve if value <= goal), float("inf"))

    def per_evaluation(self) -> float:
        return self.curve[-1][0] / self.n_evaluations


def run_podium(queries: podium.Queries) -> Run:
    """The trainer that `podium.ListNet` uses."""
    run = Run()
    problem = Problem(
        loss=ListNetLoss(), scorer=Linear(l2=L2), queries=queries, callback=lambda progress: run.note(progress.loss)
    )
    run.n_evaluations = LBFGS(tolerance=1e-12).fit(problem).convergence.n_evaluations
    return run


def run_blas(queries: podium.Queries) -> Run:
    """SciPy's L-BFGS-B over X @ w, the loss's kernel and X.T @ g, with NumPy's BLAS."""
    run = Run()
    X = queries.features
    bound = ListNetLoss().bind(queries.labels, queries.offsets)

    def value_and_gradient(theta: np.ndarray) -> tuple[float, np.ndarray]:
        result = bound.value_and_gradient(X @ theta.astype(np.float32))
        gradient = (X.T @ result.d_scores).astype(np.float64)
        value = result.value + 0.5 * L2 * float(theta @ theta)
        run.n_evaluations += 1
        run.note(value)
        return value, gradient + L2 * theta

    options = {"ftol": 1e-12, "gtol": 1e-6, "maxiter": 1000}
    minimize(value_and_gradient, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", options=options)
    return run


def run_torch(queries: podium.Queries) -> Run:
    """torch.optim.LBFGS with strong Wolfe line search; softmax within each list by scatter operations, no padding."""
    run = Run()
    X = torch.from_numpy(queries.features)
    n_queries = len(queries)
    segment = torch.from_numpy(queries.query_of_document)
    sizes = torch.from_numpy(queries.sizes)
    labels = torch.from_numpy(queries.labels).float()

    def log_softmax(scores: torch.Tensor) -> torch.Tensor:
        top = torch.segment_reduce(scores.detach(), "max", lengths=sizes)
        shifted = scores - top[segment]
        total = torch.zeros(n_queries).index_add(0, segment, shifted.exp())
        return shifted - total.log()[segment]

    target = log_softmax(labels).exp()
    w = torch.zeros(X.shape[1], requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [w], max_iter=1000, history_size=10, line_search_fn="strong_wolfe", tolerance_change=1e-12, tolerance_grad=1e-7
    )

    def closure() -> torch.Tensor:
        optimizer.zero_grad()
        loss = -(target * log_softmax(X @ w)).sum() / n_queries + 0.5 * L2 * (w @ w)
        loss.backward()
        run.n_evaluations += 1
        run.note(loss.item())
        return loss

    optimizer.step(closure)
    return run


def peak_memory() -> float:
    """Return the peak memory of this process in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the documents")
    parser.add_argument("--repeat", type=int, default=3, help="runs of each, the fastest counts (default: 3)")
    arguments = parser.parse_args()
    shape = (70_500, 136, 600) if arguments.quick else (705_000, 136, 6_000)
    queries = make_data(*shape)
    size = queries.features.nbytes / 2**30
    print(f"{shape[0]:,} documents × {shape[1]} features, float32 ({size:.2f} GB), {shape[2]:,} lists")

    few = queries.take(np.arange(5))
    for warm_up in (run_podium, run_blas, run_torch):
        warm_up(few)

    before = peak_memory()
    contestants = {"podium": run_podium, "blas": run_blas, "blas, 1 thread": with_one_thread, "torch": run_torch}
    runs: dict[str, list[Run]] = {name: [] for name in contestants}
    memory = {}
    for _ in range(arguments.repeat):
        for name, contestant in contestants.items():
            runs[name].append(contestant(queries))
            memory.setdefault(name, peak_memory() - before)
    best = min(value for many in runs.values() for run in many for _, value in run.curve)
    goal = best + 1e-6 * abs(best)
    print(f"goal: objective {goal:.8f}; the fastest of {arguments.repeat} runs\n")
    print(f"{'':16}{'to the goal':>14}{'evaluation':>14}{'memory peak grew to':>24}{'ratio':>9}")
    ours = min(run.time_to(goal) for run in runs["podium"])
    for name, many in runs.items():
        seconds, each = min(run.time_to(goal) for run in many), min(run.per_evaluation() for run in many)
        print(f"{name:16}{seconds:12.3f} s{each * 1e3:11.1f} ms{memory[name]:20.2f} GB{seconds / ours:8.2f}×")


def with_one_thread(queries: podium.Queries) -> Run:
    with quiet_blas():
        return run_blas(queries)


if __name__ == "__main__":
    main()
