"""What CI runs installs all that tests of machines need: a test that lacks its tool fails there."""

from __future__ import annotations

import re
from pathlib import Path

from localcloud.hosts.machine.requirements import PROGRAMS

CI = Path(__file__).resolve().parents[3] / ".ci" / "run"


def test_ci_installs_each_program_that_machines_need() -> None:
    installed = dict(re.findall(r"command -v (\S+) >/dev/null \|\| echo (\S+)", CI.read_text()))
    assert installed == dict(PROGRAMS)
