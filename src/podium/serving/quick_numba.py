"""Numba without the second that it spends on importing all of ``scipy.linalg``."""

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType

_PACKAGE = "scipy.linalg"


def import_numba() -> None:
    """Import Numba; of SciPy, if it is there, only the BLAS that Numba looks for.

    A stand-in for the package ``scipy.linalg`` lets its module ``cython_blas`` be found without running everything
    else; it is gone when this returns, so that ``scipy.linalg`` can be imported as ever.
    """
    found = find_spec("scipy") if _PACKAGE not in sys.modules and "numba.np.arraymath" not in sys.modules else None
    if found is None or not found.submodule_search_locations:
        import_module("numba")
        return
    import_module("scipy")
    stand_in = ModuleType(_PACKAGE)
    stand_in.__path__ = [str(Path(location) / "linalg") for location in found.submodule_search_locations]
    sys.modules[_PACKAGE] = stand_in
    try:
        import_module("numba.np.arraymath")  # asks for the BLAS when it is imported
    finally:
        if sys.modules.get(_PACKAGE) is stand_in:
            del sys.modules[_PACKAGE]
