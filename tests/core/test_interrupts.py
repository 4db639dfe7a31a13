"""Ctrl-C in code that would lose it."""

import signal
import threading

import pytest

from podium.core.interrupts import interrupts_deferred

pytestmark = pytest.mark.usefixtures("ctrl_c_interrupts")


class Dying:
    """Is interrupted where Python ignores exceptions, as ``distributed.Future`` may be."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGINT)


def test_an_interrupt_that_python_would_ignore_is_raised_at_the_end() -> None:
    done = []

    @interrupts_deferred()
    def work() -> None:
        with interrupts_deferred():  # the outer one decides
            Dying()
        done.append("the rest")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["the rest"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_the_second_interrupt_is_raised_at_once() -> None:
    done = []

    @interrupts_deferred()
    def work() -> None:
        for number in (1, 2):
            signal.raise_signal(signal.SIGINT)
            done.append(f"after interrupt {number}")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["after interrupt 1"]


def test_other_threads_and_other_handlers_are_left_alone() -> None:
    seen = []
    before = signal.signal(signal.SIGINT, lambda number, frame: seen.append(number))
    try:
        with interrupts_deferred():
            signal.raise_signal(signal.SIGINT)
            assert seen == [signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)
    thread = threading.Thread(target=interrupts_deferred()(lambda: seen.append("ran")))
    thread.start()
    thread.join()
    assert seen[-1] == "ran"
