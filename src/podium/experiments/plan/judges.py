"""The metrics of a study: which can tell methods apart at all, and which of these chooses."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from podium.experiments.plan.sources import Source
from podium.metrics import Metric, import_metrics, metric
from podium.metrics.telling import Telling, cannot_tell, chosen, with_others


@dataclass(frozen=True, slots=True)
class Judges:
    """What judges the methods of a study."""

    metrics: Sequence[Metric]
    primary: Metric
    """Chooses settings on the validation part, orders the table and is tested."""
    silent: Mapping[str, str] = field(default_factory=dict)
    """Metrics that cannot tell methods apart on these data, and why."""
    notes: Sequence[str] = ()
    """Lines that say so."""


def judges(
    metrics: str | Sequence[str | Metric], convention: str, primary: str | Metric | None, source: Source
) -> Judges:
    """Return the metrics asked for, with a primary one that can tell methods apart on these data.

    Labels of the training and validation parts decide, never those of test parts. Folds are looked at until every
    metric has told something, which is nearly always after the first.

    Raises
    ------
    ValueError
        If ``primary`` was given and cannot tell, or if no metric can.
    """
    asked, main = named_metrics(metrics, convention, primary)
    preferred = [main, *(measure for measure in asked if measure.name == "ndcg@10"), *asked]
    listed = with_others(preferred)
    found = Telling(listed)
    for fold in source.folds:
        train, validation, _ = source.load(fold)
        for part in (validation, train):
            found.look_at(part)
        if not found.silent:
            break
    if primary is not None and main in found.silent:
        able = [measure.name for measure in listed if measure not in found.silent]
        instead = f"; {', '.join(able)} can" if able else ""
        raise ValueError(f"{cannot_tell(main.name, found.reason)}, so it cannot be the primary metric{instead}")
    first, _ = chosen(listed, found)
    silent = {measure.name: found.reason for measure in asked if measure in found.silent}
    notes = [cannot_tell(name, reason) for name, reason in silent.items()]
    if first != main:
        notes.append(f"{first.name} is the primary metric instead of {main.name}")
    return Judges(asked if first in asked else [*asked, first], first, silent, notes)


def named_metrics(
    metrics: str | Sequence[str | Metric], convention: str, primary: str | Metric | None
) -> tuple[list[Metric], Metric]:
    """Return the metrics asked for, each once, and the primary one: by default MAP, NDCG@10 or the first.

    A metric is a name, ``module:name`` for one of the user's, or the metric itself.
    """
    if isinstance(metrics, str):
        metrics = metrics.split(",")
    if not metrics:
        raise ValueError("give at least one metric")
    found = list(dict.fromkeys(_metric(asked, convention) for asked in metrics))
    by_name = {measure.name: measure for measure in found}
    if primary is not None:
        main = _metric(primary, convention)
        return found if main.name in by_name else [*found, main], main
    return found, by_name.get("map") or by_name.get("ndcg@10") or found[0]


def _metric(asked: str | Metric, convention: str) -> Metric:
    return metric(import_metrics([asked])[0], convention) if isinstance(asked, str) else asked
