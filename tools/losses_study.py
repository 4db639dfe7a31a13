"""Every loss on one family of synthetic lists, as noise, ties and length vary: where each wins.

    python tools/losses_study.py [--quick] [--out FOLDER]

A linear scorer, so that only losses differ. A case is a noise, a number of grades and a length of lists; each varies
around the middle one. In each repetition a loss learns from 800 documents with three penalties, of which validation
lists (800 documents more, as noisy) choose one by NDCG@10, and is judged on 200 lists without noise. Every public loss
but CoFiRank's takes part, with its default parameters; a new one joins by being public. Each result is stored as soon
as it is there, in FOLDER: after an interruption, the same command resumes. Writes docs/results/losses.md
and docs/images/losses.svg.
"""

from __future__ import annotations

import argparse
import datetime
import sys
import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from ratings_studies import ROOT, Store

if TYPE_CHECKING:
    import podium
    from podium.losses import Loss

N_FEATURES, N_SIGNALS = 15, 10
N_DOCUMENTS, N_TEST = 800, 200
REPEATS = 12
PENALTIES = (1e-3, 1e-1, 10.0)
METRIC = "ndcg@10"


class Case(NamedTuple):
    """Lists of one kind."""

    noise: float = 1.0
    grades: int = 3
    length: int = 20

    def __str__(self) -> str:
        return f"noise {self.noise:g}, {self.grades} grades, {self.length} documents"


AXES = {
    "noise": [Case(noise=noise) for noise in (0.0, 0.5, 1.0, 2.0, 4.0)],
    "grades": [Case(grades=grades) for grades in (2, 3, 5, 10)],
    "length": [Case(length=length) for length in (5, 10, 20, 50, 100)],
}
CASES = list(dict.fromkeys(case for cases in AXES.values() for case in cases))


def losses() -> dict[str, Loss]:
    """Return the public losses that can be made without arguments, by name."""
    import podium.losses
    from podium.losses import CoFiRankLoss, DrawnLabels, FunctionLoss, Loss, WithRegression

    classes = [found for found in vars(podium.losses).values() if isinstance(found, type) and issubclass(found, Loss)]
    # CoFiRank's loss is made for ratings, and its kinks can keep L-BFGS from a first step here.
    others = (Loss, DrawnLabels, FunctionLoss, WithRegression, CoFiRankLoss)
    made = [found() for found in classes if found not in others]
    names = [type(loss).__name__ for loss in made]
    return {
        name if name == "LambdaLoss" else name.removesuffix("Loss"): loss
        for name, loss in zip(names, made, strict=True)
    }


def make_lists(case: Case, n: int, rng: np.random.Generator, weights: np.ndarray, noise: float) -> podium.Queries:
    """Return lists whose best documents by a noisy linear score have the highest grades; each is half as frequent."""
    import podium

    features = rng.standard_normal((n, case.length, N_FEATURES))
    hidden = features @ weights + noise * rng.standard_normal((n, case.length))
    places = np.argsort(np.argsort(-hidden, axis=1), axis=1)
    shares = np.cumsum(0.5 ** np.arange(case.grades - 1, 0, -1)) / 2.0 if case.grades > 1 else np.empty(0)
    ends = np.ceil(shares * case.length)  # the best grade has at least one document
    labels = (places[:, :, None] < ends).sum(axis=2)
    flat = features.reshape(-1, N_FEATURES).astype(np.float32)
    return podium.Queries(flat, labels.ravel().astype(float), sizes=[case.length] * n)


def judge(loss: Loss, case: Case, repeat: int) -> dict[str, float]:
    """Return the NDCG@10 on lists without noise of the penalty that noisy validation lists choose, and that penalty."""
    import podium
    from podium.scorers import Linear

    rng = np.random.default_rng([repeat, *(int(100 * value) for value in case)])
    weights = np.where(np.arange(N_FEATURES) < N_SIGNALS, rng.standard_normal(N_FEATURES), 0.0)
    weights /= np.sqrt((weights**2).sum())
    make = partial(make_lists, case, rng=rng, weights=weights)
    n = N_DOCUMENTS // case.length
    train, valid, test = make(n, noise=case.noise), make(n, noise=case.noise), make(N_TEST, noise=0.0)
    best = (-np.inf, 0.0, 0.0)
    for penalty in PENALTIES:
        ranker = podium.Ranker(loss.seeded(repeat), Linear(l2=penalty), normalize=None, random_state=repeat)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of fits that have not converged: their figures are as they are
            ranker.fit(train, eval_set=valid, eval_metric=METRIC)
        on_valid, on_test = (
            podium.evaluate(part, ranker.predict(part), metrics=[METRIC]).mean[METRIC] for part in (valid, test)
        )
        if on_valid > best[0]:  # of equal ones the smallest penalty: the test lists have no say
            best = float(on_valid), float(on_test), penalty
    return {"test": best[1], "l2": best[2]}


def study(store: Store, repeats: int) -> dict[str, np.ndarray]:
    """Return (cases, repeats) the figures of each loss."""
    found = {name: np.empty((len(CASES), repeats)) for name in losses()}
    for repeat in range(repeats):
        for number, case in enumerate(CASES):
            for name, loss in losses().items():
                key = f"{name}-{case.noise:g}-{case.grades}-{case.length}-{repeat}"
                found[name][number, repeat] = store.get(key, partial(judge, loss, case, repeat))["test"]
    return found


# ---- the page


def winners(found: dict[str, np.ndarray], number: int) -> dict[str, tuple[float, float, float]]:
    """Return each loss's mean and half of the 95 % interval of its difference from the best loss, and whether below it.

    The last is 1 for a loss whose interval ends below 0: it is not among those that win.
    """
    best = max(found, key=lambda name: found[name][number].mean())
    result = {}
    for name, values in found.items():
        difference = values[number] - found[best][number]
        half = 2.2 * difference.std(ddof=1) / np.sqrt(len(difference))  # Student's t, some eleven degrees of freedom
        result[name] = float(values[number].mean()), float(half), float(difference.mean() + half < 0)
    return result


def columns() -> Iterator[tuple[str, int]]:
    """Yield the title of each column and the number of its case."""
    for axis, cases in AXES.items():
        for case in cases:
            yield f"{axis} {getattr(case, axis):g}", CASES.index(case)


def page(found: dict[str, np.ndarray], repeats: int) -> str:
    by_case = [winners(found, number) for number in range(len(CASES))]
    order = sorted(found, key=lambda name: -found[name].mean())
    n_won = {name: sum(not by_case[n][name][2] for n in range(len(CASES))) for name in order}
    lines = [
        "# Every loss on one family of lists",
        "",
        f"Written by `python tools/losses_study.py` on {datetime.date.today()}; seeds 0 to {repeats - 1}; all figures "
        "are computed. Lists of a linear score with noise (its signal has deviation 1), cut into grades of which each "
        f"is half as frequent as the one below; {N_FEATURES} features, {N_SIGNALS} of them with signal. A linear "
        f"scorer learns from {N_DOCUMENTS} documents, in as many lists as these make; as many more, as noisy, choose "
        f"the penalty (one of {len(PENALTIES)}, for every loss) and where stochastic training stops; NDCG@10 "
        f"(`standard`) is on {N_TEST} lists without noise, so 1 is possible. The middle is {Case()}; one of the three "
        "varies at a time. "
        "Losses have their default parameters.",
        "",
        "![Difference of each loss from the best one, case by case](../images/losses.svg)",
        "",
        "NDCG@10, mean over repetitions, ± half of the 95 % interval of the difference from the best loss of the "
        "column. **Bold**: not below the best by that interval (paired over repetitions, not corrected for the number "
        "of losses). "
        f"The column *wins* counts these among the {len(CASES)} cases.",
    ]
    for axis, cases in AXES.items():
        numbers = [CASES.index(case) for case in cases]
        titles = [f"{axis} {getattr(case, axis):g}" for case in cases]
        lines += ["", f"## {axis.capitalize()}", "", f"| loss | {' | '.join(titles)} | wins |"]
        lines += ["|---|" + "---:|" * (len(titles) + 1)]
        for name in order:
            cells = [_cell(*by_case[number][name]) for number in numbers]
            lines += [f"| {name} | {' | '.join(cells)} | {n_won[name]} |"]
    return "\n".join([*lines, ""])


def _cell(mean: float, half: float, below: float) -> str:
    figure = f"{mean:.4f}".lstrip("0")
    return f"{figure if below else f'**{figure}**'} ±{half:.3f}".replace("±0.", "±.")


def draw(found: dict[str, np.ndarray], file: Path) -> None:
    """Draw how far each loss is from the best one in each case; a dot marks those that are not below it."""
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.hashsalt": "podium", "font.size": 9})
    order = sorted(found, key=lambda name: -found[name].mean())
    places = list(columns())
    figure, axes = plt.subplots(
        1, len(AXES), figsize=(9, 0.24 * len(order) + 1.4), width_ratios=[len(c) for c in AXES.values()], sharey=True
    )
    for ax, (axis, cases) in zip(axes, AXES.items(), strict=True):
        numbers = [number for title, number in places if title.startswith(axis)]
        by_case = [winners(found, number) for number in numbers]
        behind = np.array(
            [[column[name][0] - max(m for m, *_ in column.values()) for column in by_case] for name in order]
        )
        shades = ax.imshow(behind, aspect="auto", cmap="viridis", vmin=-0.05, vmax=0.0)
        rows, across = np.nonzero([[not column[name][2] for column in by_case] for name in order])
        ax.plot(across, rows, "o", color="black", markersize=3)
        ax.set_xticks(range(len(cases)), [f"{getattr(case, axis):g}" for case in cases])
        ax.set(xlabel={"noise": "noise", "grades": "number of grades", "length": "documents per list"}[axis])
    axes[0].set_yticks(range(len(order)), order)
    figure.colorbar(shades, ax=axes, label="NDCG@10 less that of the best loss", extend="min")
    figure.suptitle("Every loss on one family of lists; dots: not below the best", y=0.95)
    figure.savefig(file, metadata={"Date": None}, bbox_inches="tight")
    plt.close(figure)


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two repetitions; leave the documentation unchanged")
    parser.add_argument("--out", type=Path, help="folder of results (default: podium-runs/losses)")
    options = parser.parse_args(argv)
    repeats = 2 if options.quick else REPEATS
    out = options.out or ROOT / "podium-runs" / "losses"
    found = study(Store(out), repeats)
    docs = out if options.quick else ROOT / "docs"
    for folder in ("results", "images"):
        (docs / folder).mkdir(exist_ok=True)
    (docs / "results" / "losses.md").write_text(page(found, repeats), encoding="utf-8")
    draw(found, docs / "images" / "losses.svg")
    return 0


if __name__ == "__main__":
    sys.exit(main())
