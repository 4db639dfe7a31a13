"""Models made of other models."""

from podium.core.rooms import public_names
from podium.models.blend import *
from podium.models.distill import *

__all__ = public_names(__name__)
