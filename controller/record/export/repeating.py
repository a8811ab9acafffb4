"""A thread that sends something for as long as a command's work goes on."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

LAST_S = 5.0
"""How long the end of the work waits for what is sent last."""


@contextmanager
def repeating(name: str, send: Callable[[Event], None]) -> Iterator[None]:
    """Sends while inside.

    Args:
        name: The thread's name.
        send: Sends again and again until the event that it is given is set.
    """
    ends = Event()
    thread = Thread(target=send, args=(ends,), name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join(LAST_S)
