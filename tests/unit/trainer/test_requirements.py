"""A node that lacks a package of the trainer is noticed before the training."""

from __future__ import annotations

from pathlib import Path

import yaml

ROOT = Path(__file__).parents[3]
CHECKED = yaml.safe_load((ROOT / "ansible" / "roles" / "python" / "defaults" / "main.yml").read_text())[
    "python_packages"
]


def test_the_role_python_asks_for_every_package_of_a_node() -> None:
    lines = (ROOT / "requirements" / "node.txt").read_text().splitlines()
    packages = {line for line in lines if line and not line.startswith("#")}
    assert "pydantic" in packages
    assert packages <= {entry["package"] for entry in CHECKED}


def test_the_versions_that_it_asks_for_are_those_that_are_installed() -> None:
    pins = (ROOT / "requirements" / "constraints.txt").read_text().split()
    asked = [f"{entry['package']}=={entry['version']}" for entry in CHECKED if "version" in entry]
    assert len(asked) == 3 and set(asked) <= set(pins)
