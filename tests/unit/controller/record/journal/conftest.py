"""A journal of a run that has just begun."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.domain import Fleet
from controller.record.journal import Journal
from controller.record.journal.runs import start_run


@pytest.fixture
def begun(tmp_path: Path) -> Journal:
    """A run of the environment `test` under the policy `p`, which began at 1,800,000,000.25 on two nodes."""
    fleet = Fleet({"c5.large": 2})
    return start_run(tmp_path / "runs", environment="test", policy="p", initial=fleet, now=1_800_000_000.25)


@pytest.fixture
def reopened(begun: Journal) -> Callable[[], Journal]:
    """Opens the journal as the next process does."""
    return lambda: Journal(begun.directory)
