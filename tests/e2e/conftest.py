"""What the tests of whole jobs share."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    """What ends with the test: clouds, files, processes."""
    with ExitStack() as stack:
        yield stack
