"""The public names of a room, which its modules list where they define them."""

import sys


def public_names(room: str) -> list[str]:
    """Return the names in the ``__all__`` of the modules of a package that have been imported."""
    modules = [module for name, module in list(sys.modules.items()) if name.startswith(f"{room}.")]
    return sorted({name for m in modules if not hasattr(m, "__path__") for name in getattr(m, "__all__", ())})
