"""How ``Auto`` chooses: the race of candidates, the evidence, the rehearsal and the final fit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from podium.data.queries import Queries
from podium.experiments.halvings import Halvings
from podium.experiments.listening import warn
from podium.experiments.plan.candidates import Candidate, candidates
from podium.experiments.plan.search import Search
from podium.experiments.plan.search_folds import SearchFolds
from podium.experiments.plan.study import Study
from podium.experiments.run.clock import Clock
from podium.experiments.run.pool import TrialPool
from podium.experiments.run.race import Race
from podium.experiments.run.runner import Listener
from podium.experiments.tuning import fit_within, named, search_store
from podium.export.portable import NotExportable
from podium.export.target import find
from podium.metrics import Metric
from podium.metrics.telling import first_that_tells
from podium.models.blend import Blend
from podium.models.distill import STUDENT_TREES, describe, distill
from podium.models.evidence import evidence_shares
from podium.numerics.forward import mean_ranks
from podium.rankers.inputs import TrainingInput
from podium.rankers.presets.boosted import LambdaMART

if TYPE_CHECKING:
    from podium.experiments.auto import Auto

SAMPLE_FROM, SAMPLE = 60_000, 20_000
"""With more documents than the first, candidates first race on queries with about as many as the second."""
DISTILL_FOLDS = 3
"""Folds on which a student is measured."""


@dataclass(slots=True)
class AutoChoice:
    """What was tried, chosen and left out."""

    metric: Metric
    protocol: str
    """How candidates were judged."""
    table: dict[str, float] = field(default_factory=dict)
    """The mean of the metric for each candidate that was tried to the end, best first."""
    members: dict[str, float] = field(default_factory=dict)
    """The candidates picked and their shares."""
    estimate: float = float("nan")
    """The metric of the pick on queries that did not choose it."""
    single: float = float("nan")
    """The same for the best single candidate."""
    distilled: dict[str, Any] | None = None
    """The figures of teacher and student, if the pick is the student of the blend."""
    dropped: dict[str, str] = field(default_factory=dict)
    """Candidates left out, and why."""
    notes: list[str] = field(default_factory=list)

    def as_dict(self) -> dict[str, Any]:
        """Return JSON-like values."""
        return {
            "metric": str(self.metric),
            "protocol": self.protocol,
            "candidates": self.table,
            "pick": self.members,
            "estimate": None if np.isnan(self.estimate) else self.estimate,
            "estimate of the best single one": None if np.isnan(self.single) else self.single,
            "distillation": self.distilled,
            "left out": self.dropped,
            "notes": list(self.notes),
        }


@dataclass(slots=True)
class AutoStudy:
    """One study of Auto: the race, the evidence, the rehearsal and the final fit."""

    auto: Auto
    """Its parameters decide."""
    given: TrainingInput
    listener: Listener
    clock: Clock
    seed: int
    choice: AutoChoice = field(init=False)

    def run(self) -> tuple[Any, AutoChoice]:
        queries, validation = self.given.queries, self.given.validation
        asked = self.auto.metric if self.auto.metric is not None else self.given.eval_metric
        judges = queries if validation is None else validation
        measure, notes = first_that_tells(named(asked, "standard"), judges)
        for line in notes:
            warn(self.listener, line)
        entered = candidates(queries, self.auto.methods, self.seed, per_document=self.auto.target is not None)
        self.choice = AutoChoice(measure, "", notes=list(notes))
        entered = [c for c in entered if self._takes(c)]
        if not entered:
            wanted = "" if self.auto.target is None else f" that can be exported to {self.auto.target}"
            raise ValueError(f"there is no candidate{wanted}: {_listed(self.choice.dropped)}")
        if queries.n_documents > SAMPLE_FROM and len(entered) > 4:
            entered = self._heats(entered)
        race = self._race(entered, queries, validation, self.auto.folds)
        members = self._pick(race)
        return self._fitted(members, race), self.choice

    def _takes(self, candidate: Candidate) -> bool:
        """Return whether the target and the data allow a candidate; note why not."""
        ranker = candidate.ranker()
        reason = self._refusal(ranker)
        if reason is None and not ranker._scorer().accepts_missing:
            try:
                self.given.queries.require_finite()
            except ValueError:
                reason = "features have missing values"
        if reason is not None:
            self.choice.dropped[candidate.name] = reason
        return reason is None

    def _refusal(self, ranker: Any) -> str | None:
        """Return why the target cannot express a ranker; None if it can, or if there is no target."""
        if self.auto.target is None:
            return None
        try:
            find(self.auto.target).require(ranker)
        except NotExportable as error:
            return str(error)
        return None

    def _heats(self, entered: list[Candidate]) -> list[Candidate]:
        """Race on a sample of the queries first, where there are many; return the better ones."""
        queries = self.given.queries
        n = max(20, round(len(queries) * SAMPLE / queries.n_documents))
        chosen = np.sort(np.random.default_rng(self.seed).permutation(len(queries))[:n])
        self.listener.note(f"first on {len(chosen)} of {len(queries)} queries, to drop what is weak")
        race = self._race(entered, queries.take(chosen), None, 3)
        names = [c.name for c in race.running]
        means = np.nanmean(race.values(names, race.common_folds()), axis=1) if race.common_folds() else np.zeros(0)
        best = {names[i] for i in np.argsort(-means, kind="stable")[:8]}
        large = [c for c in entered if c.setting.parameters.get("n_leaves", 0) >= 15]  # these profit from more data
        kept = [c for c in entered if c.name in best or c in large] or entered[:4]
        self.choice.dropped |= race.dropped
        for c in entered:
            if c not in kept:
                self.choice.dropped.setdefault(c.name, f"not among the best on a sample of {len(chosen)} queries")
        for c in kept:
            self.choice.dropped.pop(c.name, None)
        return kept

    def _race(self, entered: list[Candidate], queries: Queries, validation: Queries | None, k: int) -> Race:
        folds = SearchFolds(queries, validation, k, self.seed)
        measure = self.choice.metric
        methods = list({c.method.name: c.method for c in entered}.values())
        study = Study(folds, methods, [measure], measure, Search(), self.seed, (self.seed,))
        self.choice.protocol = folds.protocol.describe()
        with search_store(study, self.auto.out) as store:
            pool = TrialPool(study, store, self.listener, self.auto.n_jobs, self.clock, keeps_scores=True)
            race = Race(pool, folds, entered)
            pool.reserve = lambda: self._reserve(race)
            self.listener.start(len(entered) * len(folds.folds), 0)
            with pool:
                race.run(folds.folds)
        self.choice.dropped |= race.dropped
        return race

    def _reserve(self, race: Race) -> float:
        """Return the seconds to keep for the final fits, judged by the trials so far."""
        costs = sorted((_cost(race, c.name) for c in race.running if c.name in race.trials), reverse=True)
        n = len(race.folds.folds)
        slowest = sum(costs[:2]) if costs else 0.25 * self.clock.limit
        return 2.0 + 0.08 * self.clock.limit + 1.4 * slowest * (n / (n - 1) if n > 1 else 1.0)

    def _pick(self, race: Race) -> dict[str, float]:
        """Return the candidates to fit and their shares."""
        folds, names, choice = race.common_folds(), [c.name for c in race.running], self.choice
        values = race.values(names, folds) if folds and names else np.empty((0, 0))
        if not (~np.isnan(values).any(axis=0)).any():
            failed = [why for why in race.dropped.values() if why.startswith("failed")]
            if failed and not self.clock.is_limited:
                raise ValueError(f"no candidate could be fitted: {failed[0]}")
            default = race.candidates[0]
            choice.notes.append(f"not one candidate was tried in the time given: {default.name} is fitted untried")
            choice.members = {default.name: 1.0}
            choice.dropped.pop(default.name, None)
            return choice.members
        numbers = np.concatenate([race.folds.numbers(fold) for fold in folds])
        weight = self.given.query_weight if self.given.validation is None else None
        weights = np.ones(len(numbers)) if weight is None else weight[numbers]
        defined = ~np.isnan(values).any(axis=0)
        means = np.average(values[:, defined], axis=1, weights=weights[defined])
        order = np.argsort(-means, kind="stable")
        choice.table = {names[i]: float(means[i]) for i in order}
        logs, judges = self._log_ranks(race, names, folds, numbers)
        rehearsal = Halvings(logs, judges, values, weights, choice.metric, self.seed)
        blended, single = rehearsal.judged()
        choice.single = single
        alone = rehearsal.single_is_better or (self.auto.target is not None and not self._may_distill(blended, race))
        if alone:
            choice.estimate, choice.members = single, {names[order[0]]: 1.0}
        else:
            shares = evidence_shares(values, weights, self.seed)
            choice.members = {names[i]: float(shares[i]) for i in order if shares[i] > 0}
            choice.estimate = blended
        return choice.members

    def _may_distill(self, blended: float, race: Race) -> bool:
        """Return whether a blend that the target cannot express is worth a student, which the target can."""
        if self._refusal(self._student()) is not None:
            return False
        costs = sum(_cost(race, c.name) for c in race.running) + max(_cost(race, c.name) for c in race.running)
        return blended > self.choice.single and (DISTILL_FOLDS + 1) * 1.5 * costs < self.clock.left

    def _student(self) -> Any:
        return LambdaMART(**STUDENT_TREES, random_state=self.seed)

    def _distilled(self, blend: Blend, race: Race) -> Any:
        """Return the better one of the blend's student and the best single candidate; say what either costs."""
        queries, validation, choice = self.given.queries, self.given.validation, self.choice
        self.listener.note(f"{self.auto.target} takes no blend: a small model learns its scores")
        learned = distill(
            blend,
            queries,
            self._student(),
            eval_set=validation,
            eval_metric=choice.metric,
            folds=DISTILL_FOLDS,
            random_state=self.seed,
        )
        figures = learned.distillation_
        best = next(iter(choice.table))
        choice.notes.append(
            f"distilled for {self.auto.target}: {describe(figures)}; the best single {choice.single:.4f}"
        )
        if figures["student"] > choice.single:
            choice.distilled, choice.estimate = figures, figures["student"]
            return learned
        choice.members, choice.estimate = {best: 1.0}, choice.single
        by_name = {c.name: c for c in race.candidates}
        return self._fit(by_name[best].ranker())

    def _log_ranks(
        self, race: Race, names: Sequence[str], folds: Sequence[str], numbers: np.ndarray
    ) -> tuple[np.ndarray, Queries]:
        """Return minus the logarithms of ranks by each candidate, fold after fold, and the queries they are of."""
        judges = race.folds.judges.take(numbers)
        scores = race.joined(names, folds, attrgetter("validation_scores"))
        return np.array([-np.log(mean_ranks(s, judges.offsets)) for s in scores]), judges

    def _fitted(self, members: Mapping[str, float], race: Race) -> Any:
        """Return the pick, fitted on all queries."""
        by_name = {c.name: c for c in race.candidates}
        entries = self._affordable([(by_name[name], share) for name, share in members.items()], race)
        lists = [name for name, *_ in entries if by_name[name].needs_lists]
        if lists:
            self.choice.notes.append(
                f"{', '.join(lists)}: features are rescaled within each query, so that scoring needs whole lists; "
                "a target (--for) restricts the pick to what an engine computes document by document"
            )
        self.listener.note(f"fitting the pick on all {len(self.given.queries)} queries: {in_words(members)}")
        if len(entries) == 1:
            return self._fit(entries[0][1])
        blend = Blend([(name, ranker) for name, ranker, _ in entries], [share for *_, share in entries])
        return self._fit(blend) if self.auto.target is None else self._distilled(blend, race)

    def _fit(self, pick: Any) -> Any:
        options = {} if self.given.query_weight is None else {"sample_weight": self.given.query_weight}
        fit_within(pick, self.given.queries, self.clock, options)
        if self.clock.stopped_a_fit:
            self.choice.notes.append("the time was over in the final fit, which was ended early")
        return pick

    def _affordable(self, members: Sequence[tuple[Candidate, float]], race: Race) -> list[tuple[str, Any, float]]:
        """Return the fits that the time left allows: first one of each member, by share, then more seeds of trees."""
        left, n = self.clock.left - 0.03 * self.clock.limit if self.clock.is_limited else np.inf, len(race.folds.folds)
        by_share = sorted(members, key=lambda member: -member[1])
        cost = {c.name: 1.1 * _cost(race, c.name) * (n / (n - 1) if n > 1 else 1.0) for c, _ in members}
        kept: list[tuple[str, Any, float]] = []
        for candidate, share in by_share:
            if kept and cost[candidate.name] > left:
                self.choice.notes.append(f"{candidate.name} was left out of the blend for lack of time")
                continue
            left -= cost[candidate.name]
            kept.append((candidate.name, candidate.ranker(), share))
        distills = self.auto.target is not None and len(kept) > 1
        trees = {c.name for c, _ in members if c.takes_seed}
        for name, ranker, _ in kept:
            more = self.auto.repeats - 1 if name in trees and not distills else 0
            while more > 0 and more * cost[name] > left:
                more -= 1
            if more > 0:
                ranker.set_params(repeats=more + 1)
                left -= more * cost[name]
        return kept


def _cost(race: Race, name: str) -> float:
    trials = race.trials.get(name, {})
    return float(np.mean([trial.seconds for trial in trials.values()])) if trials else 0.0


def in_words(members: Mapping[str, float]) -> str:
    """Return the candidates picked, with their shares if there are several."""
    return ", ".join(f"{name} {share:.0%}" if len(members) > 1 else name for name, share in members.items())


def _listed(reasons: Mapping[str, str]) -> str:
    return "; ".join(f"{name}: {why}" for name, why in reasons.items())
