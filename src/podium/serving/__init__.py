"""Saved models for programs that only score: see :func:`load`."""

from podium.serving.loading import LoadedScorer, load

__all__ = [
    "LoadedScorer",
    "load",
]
