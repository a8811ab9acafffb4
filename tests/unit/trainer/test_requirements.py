"""A node that lacks a package of the trainer is noticed before the training."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[3]


def test_the_role_python_asks_for_every_package_of_a_node() -> None:
    lines = (ROOT / "requirements" / "node.txt").read_text().splitlines()
    packages = [line for line in lines if line and not line.startswith("#")]
    check = (ROOT / "ansible" / "roles" / "python" / "tasks" / "main.yml").read_text()
    assert "pydantic" in packages
    assert [package for package in packages if f'"{package}"' not in check] == []
