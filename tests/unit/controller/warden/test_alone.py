"""The warden lies alone on nodes and in Lambda: it needs the standard library and boto3 and nothing else."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[4] / "controller" / "warden"
SOURCES = sorted(PACKAGE.rglob("*.py"))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_its_package_the_standard_library_and_boto3(source: Path) -> None:
    for node in ast.walk(ast.parse(source.read_text())):
        names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        if isinstance(node, ast.ImportFrom) and node.level == 0:
            names = [str(node.module)]
        for name in names:
            assert name.split(".")[0] in {"boto3", "botocore", *sys.stdlib_module_names}, (
                f"{source.name} imports {name}"
            )


def test_it_runs_under_its_own_name_without_this_repository(tmp_path: Path) -> None:
    (tmp_path / "warden").symlink_to(PACKAGE)
    done = subprocess.run(
        [sys.executable, "-m", "warden", "head", "--config", "missing.json"],
        cwd=tmp_path, env={"PYTHONPATH": str(tmp_path), "PATH": ""},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 1 and "missing.json cannot be used" in done.stdout and done.stderr == ""
