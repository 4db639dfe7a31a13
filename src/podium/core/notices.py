"""What a program that waits for Podium wants to be told; the command line sets it."""

from collections.abc import Callable

compiling: Callable[[], None] | None = None
"""Called once if functions have been compiled for a second in all."""
