"""How much of a blend's quality a LambdaMART student keeps: OHSUMED, five folds.

    python tools/distilling.py OHSUMED [--out docs/results/distilling.md]

On each fold the blend is fitted on the training part (with the validation part for early stopping), each student of a
small grid on the order in which the blend ranks the training part. The setting with the best mean on the validation
parts over all folds is evaluated, with the blend, on the test parts, once.
"""

from __future__ import annotations

import argparse
import datetime
import warnings
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import podium
from podium.data.io.folds import find_folds, read_fold
from podium.metrics.significance import bootstrap_interval, randomization_test
from podium.rankers.methods import METHODS

MEMBERS = ("listnet", "ranksvm", "pmop", "rankboost", "lambdamart", "gbdt")
GRID = {"n_leaves": (7, 15, 31), "n_trees": (100, 300)}
FRACTIONS = {"feature_fraction": 0.5, "query_fraction": 0.7}
METRIC, CONVENTION = "ndcg@10", "standard"
NORMALIZATIONS = {"standard": "standardized over the training part", "minmax": "rescaled within each query"}


def blend(normalize: str) -> podium.Blend:
    members = [(name, METHODS[name].build(normalize=normalize, random_state=0)) for name in MEMBERS]
    return podium.Blend(members, weights="equal")


def students() -> dict[str, podium.LambdaMART]:
    found = {}
    for values in product(*GRID.values()):
        setting = dict(zip(GRID, values, strict=True))
        name = f"{setting['n_trees']} trees of {setting['n_leaves']} leaves"
        found[name] = podium.LambdaMART(**setting, learning_rate=0.05, tree_options=FRACTIONS, random_state=0)
    return found


def per_query(ranker: Any, queries: podium.Queries) -> np.ndarray:
    return podium.evaluate(queries, ranker.predict(queries), metrics=[METRIC], convention=CONVENTION).per_query[METRIC]


def measure(data: str, normalize: str) -> dict[str, Any]:
    """Return the figures of the blend and of its students on all folds."""
    fitted: list[Any] = []
    validation: dict[str, list[float]] = {}
    for paths in find_folds(data):
        fold = read_fold(paths)
        teacher = blend(normalize).fit(fold.train, eval_set=fold.validation, eval_metric=f"{METRIC} ({CONVENTION})")
        learned = {name: podium.distill(teacher, fold.train, student, folds=0) for name, student in students().items()}
        for name, ranker in {"blend": teacher, **learned}.items():
            validation.setdefault(name, []).append(np.nanmean(per_query(ranker, fold.validation)))
        fitted.append((teacher, learned, fold.test))
        print(f"{normalize}: {fold.name}", flush=True)
    means = {name: float(np.mean(values)) for name, values in validation.items()}
    chosen = max((name for name in means if name != "blend"), key=means.__getitem__)
    # The only time that the test parts are looked at.
    both = [(per_query(teacher, test), per_query(learned[chosen], test)) for teacher, learned, test in fitted]
    taught, kept = (np.concatenate(values) for values in zip(*both, strict=True))
    folds = [(float(np.nanmean(a)), float(np.nanmean(b))) for a, b in both]
    return {"validation": means, "chosen": chosen, "teacher": taught, "student": kept, "folds": folds}


TEXT = """\
# Distilling a blend

How much of a blend's quality one LambdaMART model keeps, which scores one document at a time, on LETOR 2.0 OHSUMED
(106 queries, 16,140 documents, 25 features, the five official folds).

```
python tools/distilling.py OHSUMED
```

The teacher is `podium.Blend` of {members} with their default settings,
fitted on the training part, with the validation part for early stopping. The student is `podium.LambdaMART` with
learning rate 0.05, half of the features and 70 % of the queries per tree, fitted by `podium.distill` on the order in
which the blend ranks the training part; it sees no labels. The numbers of trees and leaves are those with the best mean
over the validation parts of all folds, see the table. Test parts were evaluated once, for the blend and for the chosen
student. Figures are NDCG@10, convention `{convention}`, mean of the five folds' means; seed 0; one process; {date}.
"""
PART = """
## The members' features {features}

| model | validation parts | test parts |
|---|---:|---:|
{rows}

On the test parts the student keeps **{kept:.1%}** of the blend's NDCG@10 (fold by fold: {folds}). The difference is
{difference:+.4f}, 95 % interval over queries {low:+.4f} to {high:+.4f}, paired randomization test p = {p:.2f}.
"""


def page(measured: dict[str, dict[str, Any]]) -> str:
    text = TEXT.format(members=", ".join(MEMBERS), convention=CONVENTION, date=f"{datetime.date.today():%-d %B %Y}")
    return text + "".join(part(how, found) for how, found in measured.items())


def part(normalize: str, found: dict[str, Any]) -> str:
    teacher, student = (float(np.mean([fold[i] for fold in found["folds"]])) for i in (0, 1))
    tested = {"blend": f"{teacher:.4f}", found["chosen"]: f"**{student:.4f}**"}
    low, high = bootstrap_interval(found["student"] - found["teacher"])
    return PART.format(
        features=NORMALIZATIONS[normalize],
        rows="\n".join(
            f"| {name if name == 'blend' else f'student, {name}'} | {value:.4f} | {tested.get(name, '')} |"
            for name, value in found["validation"].items()
        ),
        kept=student / teacher,
        folds=", ".join(f"{b / a:.1%}" for a, b in found["folds"]),
        difference=student - teacher,
        low=low,
        high=high,
        p=randomization_test(found["student"], found["teacher"]),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data")
    parser.add_argument("--out", default=Path(__file__).parents[1] / "docs" / "results" / "distilling.md", type=Path)
    parser.add_argument("--normalize", default="standard,minmax", help="of the blend's members")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # members that stop at their default number of iterations
    text = page({how: measure(options.data, how) for how in options.normalize.split(",")})
    options.out.write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
