"""Models made of other models."""

from podium.models.blend import Blend
from podium.models.distill import distill

__all__ = [
    "Blend",
    "distill",
]
