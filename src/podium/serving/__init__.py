"""Saved models for programs that only score: see :func:`podium.serving.load`."""

from podium.core.rooms import public_names
from podium.serving.loading import *

__all__ = public_names(__name__)
