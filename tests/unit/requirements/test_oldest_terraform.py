"""Everything that names the oldest Terraform names the one that the environments ask for."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize("environment", ["local", "aws"])
def test_the_oldest_terraform_is_the_same_everywhere(environment: str) -> None:
    code = (REPOSITORY / "terraform" / "environments" / environment / "main.tf").read_text()
    oldest = re.findall(r'required_version = ">= (\d+\.\d+)', code)
    assert re.findall(r"Terraform \((\d+\.\d+) or later\)", (REPOSITORY / "README.md").read_text()) == oldest
    assert re.findall(r"Terraform (\d+\.\d+) or later", (REPOSITORY / "requirements/setup.mk").read_text()) == oldest
