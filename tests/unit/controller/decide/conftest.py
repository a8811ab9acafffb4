"""What the tests of deciding share: a made-up training whose flavors have known speeds."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from training import Training


@pytest.fixture
def training() -> Training:
    """Six flavors, one node each."""
    return Training()


@pytest.fixture(scope="session")
def training_of() -> Callable[..., Training]:
    """Makes trainings, for tests that need many."""
    return Training
