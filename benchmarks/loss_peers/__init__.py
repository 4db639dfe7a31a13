"""What ``benchmarks/losses.py`` compares: tables of losses, each with the peers' forms of it.

A module here has a table ``CONTESTS`` from the name of a row to a :class:`Contest`; modules are found by themselves.
"""

from importlib import import_module
from pkgutil import iter_modules

from loss_peers.contest import Contest

CONTESTS: dict[str, Contest] = {}
"""All rows by name, module by module."""

for _module in sorted(iter_modules(__path__), key=lambda module: module.name):
    CONTESTS.update(getattr(import_module(f"{__name__}.{_module.name}"), "CONTESTS", {}))
