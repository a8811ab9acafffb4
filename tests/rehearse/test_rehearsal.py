"""The whole rehearsal of `ENV=aws`, with machines that boot here. `make rehearse` runs it by hand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.sandbox import REPOSITORY

LIMIT_S = 45 * 60
"""The rehearsal is to take 25 minutes at most. Each of its steps has a limit of its own; this one ends what hangs."""
SHOWN_LINES = 150
"""So many of the rehearsal's last lines are shown where it fails. Logs of pipelines are cut, and a plan is long."""


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.skipif(os.environ.get("CI") != "true", reason="it takes ten minutes and more; by hand: make rehearse")
@pytest.mark.needs_tool("machines")
@pytest.mark.needs_tool("terraform")
@pytest.mark.timeout(LIMIT_S + 120)
def test_the_shipped_environment_aws_trains_moves_survives_and_is_destroyed_on_machines(tmp_path: Path) -> None:
    outcome, log = tmp_path / "rehearsal.json", tmp_path / "rehearsal.txt"
    command = [sys.executable, "-m", "tests.rehearse", "--output", str(outcome)]
    with log.open("w") as output:
        rehearsal = subprocess.Popen(command, cwd=REPOSITORY, stdout=output, stderr=subprocess.STDOUT)
        try:
            status = rehearsal.wait(LIMIT_S)
        finally:
            rehearsal.terminate()  # it takes its cloud down
            rehearsal.wait()
            print(*log.read_text().splitlines()[-SHOWN_LINES:], sep="\n")
    steps = json.loads(outcome.read_text())["steps"] if outcome.exists() else []
    assert steps and {step["name"]: step["failure"] for step in steps if step["failure"]} == {}
    assert status == 0
