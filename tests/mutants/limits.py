"""A plugin of pytest: a test that takes far more processor time with a mutant than without it ends the process.

Such a mutant loops for ever. mutmut's own limit is one for all tests of a mutant, and long, since tests are slow on a
busy machine. Processor time hardly depends on what else the machine does, so one test's limit can be short.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from types import FrameType

import pytest
from mutmut.state import state  # type: ignore[import-not-found]  # runs within mutmut alone

HUNG = 36
"""mutmut's exit code for a mutant whose tests took too long."""
LEAST_S, TIMES = 3.0, 20.0


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Ends the process where a test whose processor time is known needs a multiple of it."""
    usual_s = state().duration_by_test.get(item.nodeid)
    if usual_s is None:
        return (yield)
    signal.signal(signal.SIGPROF, _end)
    signal.setitimer(signal.ITIMER_PROF, LEAST_S + TIMES * usual_s)
    try:
        return (yield)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def _end(_signal: int, _frame: FrameType | None) -> None:
    os._exit(HUNG)
