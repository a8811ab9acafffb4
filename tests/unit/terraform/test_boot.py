"""The boot script of a node, run with programs in the places of systemctl, dpkg and python3 that note their calls."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

TEMPLATE = Path(__file__).resolve().parents[3] / "terraform" / "templates" / "boot.sh.tftpl"
PROGRAM = """#!/bin/bash
echo "$(basename "$0") $*" >> "$CALLS"
case "$(basename "$0") $1" in
  "systemctl list-unit-files") echo -n "$UNITS" ;;
  "dpkg --print-architecture") echo arm64 ;;
esac
"""


class Node:
    """A machine to boot."""

    def __init__(self, root: Path) -> None:
        self.root, self.calls = root, root / "calls"
        for name in ("systemctl", "dpkg", "python3"):
            (root / "bin").mkdir(exist_ok=True)
            (root / "bin" / name).write_text(PROGRAM)
            (root / "bin" / name).chmod(0o755)

    def boot(self, agent_region: str, units: str = "") -> list[str]:
        """Runs the script to its end, and returns the calls of the programs."""
        values = {"login_user": "", "fact_path": str(self.root / "facts.d"), "agent_region": agent_region}
        text = re.sub(r'\$\{join\(" ", \[for .*?\]\)\}', "", TEMPLATE.read_text())
        text = re.sub(r"(?<!\$)\$\{(\w+)\}", lambda found: values[found.group(1)], text).replace("$${", "${")
        path = f"{self.root / 'bin'}:{os.environ['PATH']}"
        environment = {"PATH": path, "HOME": str(self.root), "CALLS": str(self.calls), "UNITS": units}
        subprocess.run(["bash", "-c", text], env=environment, check=True, capture_output=True, timeout=60)
        assert (self.root / "facts.d").is_dir()
        return self.calls.read_text().splitlines() if self.calls.exists() else []


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_a_head_without_a_public_address_installs_the_agent_of_its_region_and_architecture(node: Node) -> None:
    calls = node.boot("eu-west-3")
    fetched = next(call for call in calls if call.startswith("python3"))
    package = fetched.split()[-1]
    assert "https://s3.eu-west-3.amazonaws.com/amazon-ssm-eu-west-3/latest/debian_arm64/amazon-ssm-agent.deb" in fetched
    assert calls[-2:] == [f"dpkg --install {package}", "systemctl enable --now amazon-ssm-agent"]
    assert not Path(package).exists()


def test_an_image_that_has_the_agent_is_left_as_it_is(node: Node) -> None:
    calls = node.boot("eu-west-3", units="snap.amazon-ssm-agent.amazon-ssm-agent.service enabled\n")
    assert calls == ["systemctl list-unit-files --no-legend *amazon-ssm-agent*"]


def test_a_worker_installs_no_agent(node: Node) -> None:
    assert node.boot("") == []
