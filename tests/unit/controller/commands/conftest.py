"""What the tests of commands share: a checkout to run them in."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from tests.unit.controller.harness import SETTINGS
from tests.unit.controller.record.synthetic import PRICES


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with one environment, and no run."""
    environment = tmp_path / "terraform" / "environments" / "test"
    environment.mkdir(parents=True)
    (environment / "centavo.yml").write_text(yaml.safe_dump(SETTINGS))
    (environment / "prices.yml").write_text(yaml.safe_dump(PRICES))
    return tmp_path
