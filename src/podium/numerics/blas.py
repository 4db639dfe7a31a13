"""BLAS on one thread."""

import sys
from contextlib import AbstractContextManager
from functools import lru_cache
from typing import Any


def quiet_blas() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within this context.

    After each call, threads of BLAS keep their cores busy for a while at the expense of compiled kernels: one step took
    57 ms instead of 24. One thread also gives the same results on any number of cores.
    """
    return _libraries(len(sys.modules)).limit(limits=1, user_api="blas")


@lru_cache(maxsize=1)
def _libraries(n_modules: int) -> Any:
    """Return the control of the libraries that are loaded: finding them takes milliseconds, half of a small fit.

    They are looked for again when more modules have been imported, which may have brought another one.
    """
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()
