"""A training history as notebooks show it, and its plot."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from podium.core.showing.html import Html, curve, output, table
from podium.core.showing.plots import axes

if TYPE_CHECKING:
    from podium.training.base import Convergence


def summary(convergence: Convergence) -> str:
    """Return how a training run ended, on one line."""
    ended = {True: "converged", False: "not converged", None: "not tested for convergence"}[convergence.converged]
    parts = [ended, f"{convergence.n_iter} {convergence.step}{'s' * (convergence.n_iter != 1)}"]
    if convergence.losses:
        parts.append(f"loss {convergence.losses[-1]:.6g}")
    if convergence.validation:
        kept = convergence.best_iter
        at = "" if kept is None else f" at {convergence.step} {kept}, which was kept"
        value = convergence.validation[-1 if kept is None else kept - 1]
        parts.append(f"{convergence.metric} {value:.4f} on validation{at}")
    return ", ".join(parts)


def html(convergence: Convergence) -> str:
    """Return how the run ended, and its curves."""
    kept = None if convergence.best_iter is None else convergence.best_iter - 1
    rows: list[list[Any]] = [["ended", convergence.message, ""]] if convergence.message else []
    for name, values in (("loss", convergence.losses), (convergence.metric or "validation", convergence.validation)):
        if values:
            mark = kept if kept is not None and kept < len(values) else None
            rows.append(
                [name, f"{values[0]:.6g} → {values[-1]:.6g}", curve(values, f"{name} by {convergence.step}", mark)]
            )
    return output(f"Training: {summary(convergence)}", table([], rows) if rows else Html())


def plot(convergence: Convergence, ax: Any) -> Any:
    """Draw the loss, and the validation metric on an axis of its own."""
    if not convergence.losses:
        raise ValueError("this training run recorded no losses that could be plotted")
    ax = axes(ax)
    steps = range(1, len(convergence.losses) + 1)
    lines = ax.plot(steps, convergence.losses, color="C0", label="loss")
    ax.set_xlabel(convergence.step)
    ax.set_ylabel("loss")
    if all(isfinite(loss) and loss > 0 for loss in convergence.losses):
        ax.set_yscale("log")
    if convergence.validation:
        other = ax.twinx()
        label = f"{convergence.metric} on validation"
        lines += other.plot(range(1, len(convergence.validation) + 1), convergence.validation, color="C1", label=label)
        other.set_ylabel(label)
    if convergence.best_iter is not None:
        lines.append(ax.axvline(convergence.best_iter, color="gray", linestyle="--", label="kept"))
    ax.legend(handles=lines)
    return ax
