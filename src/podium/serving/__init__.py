from podium.serving.loading import LoadedScorer, load

__all__ = [
    "LoadedScorer",
    "load",
]
