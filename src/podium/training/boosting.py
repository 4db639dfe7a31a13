"""Functional gradient descent: each tree is fitted to the gradient of the loss at the scores so far."""

from __future__ import annotations

import difflib
import re
from typing import Any

import numpy as np

from podium.core.parameters import require_choice, require_count
from podium.data.queries import Queries
from podium.numerics.blas import quiet_blas
from podium.scorers.trees.scorer import Trees, TreesModel, import_lightgbm, rows_for_lightgbm
from podium.scorers.trees.text import bare_text, constant_text
from podium.training.base import Fit, Problem, Trainer
from podium.training.monitor import Watch, warn_not_converged
from podium.training.threads import LITTLE_WORK, enough_threads


class Boosting(Trainer):
    """Grows the trees of :class:`podium.scorers.Trees`, one at a time.

    Parameters
    ----------
    patience : int, optional
        With validation queries: stop after this many trees without a better validation metric. None: grow them all.
    select : {"best", "last"}
        With validation queries: keep as many trees as were best on them, or all that were grown.

    **Steps.** LightGBM is given the gradient and the curvature of each document's score, both times one constant such
    that the curvatures at the start are 1 on average: ``l2`` and ``min_sum_hessian_in_leaf`` then count documents, on
    whatever scale a loss is. A loss without curvature (or ``Trees(curvature=False)``) has the curvature 1
    everywhere and gradients whose mean square is 1 at the start: plain gradient steps, the first of which moves
    scores by about ``learning_rate``.

    **Start.** Scores start at 0, or, where the loss is not indifferent to it, at the best constant, which is then added
    to the first tree. Parameters that the loss itself learns take a few quasi-Newton steps after each tree.

    Ctrl-C ends the training and keeps what it would have kept had this been the last tree.
    """

    patience: int | None = None
    select: str = "best"

    def fit(self, problem: Problem) -> Fit:
        if self.patience is not None:
            require_count("patience", self.patience)
        require_choice("select", self.select, ("best", "last"))
        if not isinstance(problem.scorer, Trees):
            raise ValueError(f"Boosting grows trees: it needs the scorer Trees, not {type(problem.scorer).__name__}")
        problem.scorer.check()
        watch = Watch(problem.validation, problem.callback, problem.verbose, patience=self.patience, step="tree")
        with quiet_blas(), enough_threads(problem.queries, problem.loss):
            growth = _Growth(problem, problem.scorer)
            try:
                converged, message = self._grow(growth, watch)
            except KeyboardInterrupt:
                if not watch.losses:
                    raise
                converged, message = False, f"interrupted after {len(watch.losses)} trees, which are kept"
                warn_not_converged(f"boosting: {message}")
            best = self.select == "best" and watch.best_iter is not None
            n_trees = watch.best_iter if best and watch.best_iter else len(watch.losses)
            model = TreesModel(growth.text(n_trees))
        story = watch.convergence(
            converged, message, n_evaluations=growth.n_evaluations, best=best, interrupted=converged is False
        )
        return Fit(model, growth.parameters[n_trees], story)

    def _grow(self, growth: _Growth, watch: Watch) -> tuple[bool | None, str]:
        """Grow trees as long as there is reason to; returns how it ended."""
        while len(watch.losses) < growth.scorer.n_trees:
            found_split = growth.add_tree()
            if found_split or not watch.losses:  # a first tree without a split is kept: it gives the constant score
                watch.record(growth.loss, growth.judge())
            if not found_split:
                return True, "no split improves the loss any more"
            if watch.reason is not None:
                return watch.out_of_patience or None, watch.reason
        return None, f"grew the {growth.scorer.n_trees} trees asked for"


class _Growth:
    """The trees so far, and LightGBM to grow more."""

    def __init__(self, problem: Problem, scorer: Trees) -> None:
        from numba import get_num_threads

        self.problem, self.scorer, self.queries = problem, scorer, problem.queries
        self.bound = problem.bind_loss()
        self.parameters = [self.bound.parameters()]
        """The loss's own, by number of trees."""
        self.newton = scorer.curvature and bool(problem.loss.has_curvature)
        self.n_evaluations = 0
        self.scale: float | None = None
        self.base = 0.0 if problem.loss.shift_invariant else self._best_constant()
        seed = int(problem.rng.integers(2**31 - 1))
        n_threads = 1 if self.queries.features.size < LITTLE_WORK else get_num_threads()
        self.settings = scorer.parameters(problem.queries, seed=seed, n_threads=n_threads)
        self.booster = self._start()
        self.scores = np.full(self.queries.n_documents, self.base, np.float32)
        self._evaluate()

    def judge(self) -> float | None:
        """The metric on the validation queries, whose scores LightGBM keeps up to date."""
        validation = self.problem.validation
        if validation is None:
            return None
        if self.booster is None:
            return validation.judge_scores(np.full(validation.queries.n_documents, self.base))
        return validation.judge_scores(self._shown(self.booster.eval_valid))

    def add_tree(self) -> bool:
        """Grow a tree and evaluate the loss there; False if there was nothing to split."""
        if self.booster is None:
            self.parameters.append(self.parameters[-1])
            return False
        finished = self.booster.update(fobj=lambda scores, data: (self.gradient, self.curvature))
        self.scores = self._shown(self.booster.eval_train).astype(np.float32)  # what LightGBM takes gradients in, too
        self.parameters.append(self._learned_parameters())
        self._evaluate()
        return not finished

    def text(self, n_trees: int) -> str:
        """The first trees, the constant that scores started from included."""
        booster = self.booster
        if booster is None:
            return constant_text(self.queries.n_features, self.base)
        if self.base != 0.0:
            lightgbm = import_lightgbm()
            booster = lightgbm.Booster(model_str=booster.model_to_string(num_iteration=n_trees))
            for leaf in range(booster.dump_model(num_iteration=1)["tree_info"][0]["num_leaves"]):
                booster.set_leaf_output(0, leaf, booster.get_leaf_output(0, leaf) + self.base)
        return bare_text(booster.model_to_string(num_iteration=n_trees))

    def _evaluate(self) -> None:
        """The loss and what the next tree is grown on, at the scores so far."""
        self.n_evaluations += 1
        self.bound.start_epoch(len(self.parameters) - 1)
        bag = self._bag()
        result = self.bound.value_and_gradient(
            self.scores, parameters=self.parameters[-1], curvature=self.newton, queries=bag
        )
        share = 1.0 if bag is None else float(self.bound.weights[bag].sum())
        self.loss = result.value / share
        gradient, curvature = result.d_scores, result.d2_scores
        if self.scale is None:
            self.scale = _unit_scale(gradient, curvature)
        gradient *= np.float32(self.scale)
        if curvature is None:
            curvature = np.ones_like(gradient)
        else:
            curvature *= np.float32(self.scale)
        if bag is not None and not self.newton:
            curvature[~np.repeat(np.isin(np.arange(len(self.queries)), bag), self.queries.sizes)] = 0.0
        self.gradient, self.curvature = gradient, curvature

    def _bag(self) -> np.ndarray | None:
        """The queries that the next tree is grown on; None for all."""
        if self.scorer.query_fraction == 1:
            return None
        filled = np.flatnonzero((self.queries.sizes > 0) & (self.bound.weights > 0))
        n = max(1, round(self.scorer.query_fraction * len(filled)))
        return np.sort(self.problem.rng.choice(filled, n, replace=False))

    def _learned_parameters(self) -> np.ndarray:
        """The loss's own parameters after a few quasi-Newton steps at the scores so far."""
        before = self.parameters[-1]
        if not len(before):
            return before
        from scipy.optimize import minimize

        def value_and_gradient(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            self.n_evaluations += 1
            result = self.bound.value_and_gradient(self.scores, parameters=parameters)
            return result.value, result.d_parameters

        bounds, few = self.problem.loss.parameter_bounds(), {"maxiter": 2}
        return np.asarray(
            minimize(value_and_gradient, before, jac=True, method="L-BFGS-B", bounds=bounds, options=few).x
        )

    def _best_constant(self) -> float:
        """The score that, given to all documents, has the lowest loss: secant steps, one of which solves a square."""

        def slope(constant: float) -> float:
            scores = np.full(self.queries.n_documents, constant, np.float32)
            self.n_evaluations += 1
            result = self.bound.value_and_gradient(scores, parameters=self.parameters[-1])
            return float(result.d_scores.sum(dtype=np.float64))

        before, here = 0.0, 1.0
        slope_before, slope_here = slope(before), slope(here)
        for _ in range(10):
            if slope_here == slope_before:
                break
            step = -slope_here * (here - before) / (slope_here - slope_before)
            before, slope_before = here, slope_here
            here += step
            if abs(step) < 1e-6 * max(1.0, abs(here)):
                break
            slope_here = slope(here)
        return here

    # ---- LightGBM

    def _start(self) -> Any:
        """LightGBM's object, with the features binned; None if no feature leaves anything to split."""
        lightgbm = import_lightgbm()
        names = self.queries.feature_names
        plain = (
            names is not None
            and len(set(names)) == len(names)
            and all(re.fullmatch(r"[A-Za-z0-9_.-]+", n) for n in names)
        )
        data = lightgbm.Dataset(
            rows_for_lightgbm(self.queries),
            label=np.zeros(self.queries.n_documents, np.float32),
            init_score=self._init(self.queries),
            feature_name=list(names) if plain else "auto",  # type: ignore[arg-type]
            categorical_feature=self.scorer.categories(self.queries) or "auto",
            params=self.settings,
            free_raw_data=True,
        )
        try:
            data.construct()
            if not any(data.feature_num_bin(j) for j in range(self.queries.n_features)):
                return None  # all are constant, or there are fewer documents than two leaves need
            booster = lightgbm.Booster(self.settings, data)
            if self.problem.validation is not None:
                other = self.problem.validation.queries
                booster.add_valid(
                    data.create_valid(rows_for_lightgbm(other), init_score=self._init(other)), "validation"
                )
        except lightgbm.basic.LightGBMError as error:
            raise ValueError(f"LightGBM refuses these settings: {error}") from None
        self._check_names(booster)
        return booster

    def _init(self, queries: Queries) -> np.ndarray | None:
        return None if self.base == 0.0 else np.full(queries.n_documents, self.base)

    def _check_names(self, booster: Any) -> None:
        """LightGBM says nothing to a parameter that it does not know; its text lists those it does."""
        known = re.findall(r"^\[(\w+):", booster.model_to_string(), re.MULTILINE)
        for name in self.scorer.lightgbm_params or {}:
            if known and name not in known:
                near = difflib.get_close_matches(name, known, n=3)
                meant = f" Did you mean {' or '.join(near)}?" if near else ""
                raise ValueError(f"LightGBM has no parameter whose main name is {name!r}.{meant}")

    def _shown(self, evaluate: Any) -> np.ndarray:
        """Scores that LightGBM keeps, which it shows to metrics only."""
        seen: list[np.ndarray] = []

        def look(scores: np.ndarray, data: Any) -> tuple[str, float, bool]:
            seen.append(scores)
            return "", 0.0, True

        evaluate(look)
        return seen[0]


def _unit_scale(gradient: np.ndarray, curvature: np.ndarray | None) -> float:
    """What to multiply by, see :class:`Boosting`; documents outside the first bag, all 0, do not count."""
    size = np.square(gradient, dtype=np.float64) if curvature is None else curvature.astype(np.float64)
    mean = size.sum() / max(np.count_nonzero(size), 1)
    if not mean > 0:
        return 1.0
    return float(1.0 / np.sqrt(mean) if curvature is None else 1.0 / mean)
