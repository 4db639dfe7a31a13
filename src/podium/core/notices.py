"""What a program that waits for Podium is told."""

import logging
from collections.abc import Callable


def say_compiling() -> None:
    """Log that functions are compiled. Unless the program configures logging, that is a line on standard error."""
    logging.getLogger("podium").warning("podium: compiling, first run only")


compiling: Callable[[], None] | None = say_compiling
"""Called once if functions have been compiled for a second in all; None where nobody is to be told."""
