"""What CI runs installs all that tests of machines and of Spark need: a test that lacks its tool fails there."""

from __future__ import annotations

import re
from pathlib import Path

from localcloud.hosts.machine.requirements import PROGRAMS

CI = Path(__file__).resolve().parents[3] / ".ci" / "run"


def test_ci_installs_each_program_that_machines_need() -> None:
    installed = dict(re.findall(r"command -v (\S+) >/dev/null \|\| echo (\S+)", CI.read_text()))
    assert installed == dict(PROGRAMS)


def test_ci_has_the_set_up_install_the_extras() -> None:
    on_ci = CI.read_text().partition('if [ "${CI:-}" = true ]; then')[2].partition("\nfi\n")[0]
    assert re.search(r"^  export TEXT=1 SPARK=1\b", on_ci, re.MULTILINE)
    setup = (CI.parents[1] / "requirements" / "setup.mk").read_text()
    assert "setup: $(VENV)/.ready $(if $(TEXT),$(VENV)/.text) $(if $(SPARK),$(VENV)/.spark)" in setup
