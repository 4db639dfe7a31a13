"""BLAS on one thread."""

from contextlib import AbstractContextManager


def quiet_blas() -> AbstractContextManager[object]:
    """Limit BLAS to one thread within this context.

    After each call, threads of BLAS keep their cores busy for a while at the expense of compiled kernels: one step took
    57 ms instead of 24. One thread also gives the same results on any number of cores.
    """
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=1, user_api="blas")
