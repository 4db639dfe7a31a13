"""Models made of other models."""

from podium.models.blend import Blend

__all__ = [
    "Blend",
]
