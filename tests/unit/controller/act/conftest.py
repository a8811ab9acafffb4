"""What the tests of moves share."""

from __future__ import annotations

import pytest

from tests.unit.controller.act.desk import Desk


@pytest.fixture
def desk() -> Desk:
    return Desk()
