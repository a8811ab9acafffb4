"""The packages that pipelines install are those of the set-up, each with the hashes of its files."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements"
HASHED = sorted(file.stem for file in (REQUIREMENTS / "hashed").glob("*.txt"))


def normal(name: str) -> str:
    """A package's name as PEP 503 writes it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def wanted(file: Path) -> dict[str, str | None]:
    """The packages in a file of requirements, with their versions where they are pinned."""
    lines = [line.split("#")[0].strip() for line in file.read_text().splitlines()]
    found: dict[str, str | None] = {}
    for line in filter(None, lines):
        if line.startswith("-r "):
            found |= wanted(file.with_name(line.removeprefix("-r ")))
        else:
            found |= package(line)
    return found


def package(requirement: str) -> dict[str, str | None]:
    parsed = re.fullmatch(r"([\w.-]+)(?:\[[\w,]+\])?(?:==([\w.+]+))?", requirement)
    assert parsed is not None, requirement
    return {normal(parsed[1]): parsed[2]}


def hashed(name: str) -> dict[str, str]:
    """The versions in a file of hashes."""
    text = (REQUIREMENTS / "hashed" / f"{name}.txt").read_text().replace("\\\n", " ")
    found = {}
    for line in filter(None, text.splitlines()):
        parsed = re.fullmatch(r"([\w.-]+)==([\w.+]+)(?: ;[^#]*?)?((?:\s+--hash=sha256:[0-9a-f]{64})+)", line.strip())
        assert parsed is not None, f"{name}.txt has a line that is not one package with its hashes: {line[:100]}"
        found[normal(parsed[1])] = parsed[2]
    return found


def test_there_is_a_file_for_each_set_of_packages_that_a_pipeline_installs() -> None:
    names = ["all", "build", "controller", "lint-3.10", "lint-3.11", "node", "security", "spark", "text", "uv"]
    assert names == HASHED


def test_the_versions_are_those_of_the_set_up() -> None:
    """Where this fails, run `make hashes`."""
    assert hashed("all") == wanted(REQUIREMENTS / "constraints.txt")


@pytest.mark.parametrize("name", ["build", "controller", "node", "uv"])
def test_what_is_installed_first_has_the_same_versions(name: str) -> None:
    assert hashed(name).items() <= hashed("all").items()
    assert wanted(REQUIREMENTS / f"{name}.txt").keys() <= hashed(name).keys()


def test_a_node_gets_all_that_is_built_and_all_that_it_asks_for() -> None:
    for name in ("build", "training", "node"):
        assert wanted(REQUIREMENTS / f"{name}.txt").keys() <= hashed("node").keys()


@pytest.mark.parametrize("name", ["lint-3.10", "lint-3.11", "security"])
def test_linters_and_scanners_have_the_versions_that_are_pinned(name: str) -> None:
    assert wanted(REQUIREMENTS / f"{name.partition('-')[0]}.txt").items() <= hashed(name).items()


@pytest.mark.parametrize("name", ["spark", "text"])
def test_the_packages_of_an_extra_are_pinned_with_all_that_they_bring_along(name: str) -> None:
    assert hashed(name) == wanted(REQUIREMENTS / f"{name}.txt")
    assert hashed(name).keys().isdisjoint(hashed("all"))
    text = (REQUIREMENTS.parent / "pyproject.toml").read_text()
    (extra,) = re.findall(rf"(?m)^{name} = (\[.*?\])$", text)
    asked = {package_name: pin for one in ast.literal_eval(extra) for package_name, pin in package(one).items()}
    assert asked.items() <= hashed(name).items()


def test_both_extras_have_the_same_pyarrow() -> None:
    assert hashed("text")["pyarrow"] == hashed("spark")["pyarrow"]


def test_everything_that_the_project_asks_for_is_among_them() -> None:
    text = (REQUIREMENTS.parent / "pyproject.toml").read_text().partition("[tool.")[0]
    tables = re.findall(r"(?ms)^(?:dependencies|trainer|localcloud) = (\[.*?\](?=\n))", text)
    asked = [one for table in tables for one in ast.literal_eval(table)]
    assert len(tables) == 3 and len(asked) > 20
    pins = {name: version for requirement in asked for name, version in package(requirement).items()}
    for file in ("project", "training", "build"):
        pins |= {name: None for name in wanted(REQUIREMENTS / f"{file}.txt") if name not in pins}
    have = hashed("all")
    assert pins.keys() <= have.keys()
    assert {name: version for name, version in pins.items() if version} == {
        name: have[name] for name, version in pins.items() if version
    }


def test_the_build_raises_setuptools_to_one_that_reads_the_flags_that_make_the_stale_c_file_anew() -> None:
    """Ubuntu 22.04 makes environments with setuptools 59.6, which ignores DIST_EXTRA_CONFIG. GluonNLP's C file is then
    compiled as it comes, and its import fails."""
    assert "setuptools" in wanted(REQUIREMENTS / "build.txt")
    assert version("setuptools") == wanted(REQUIREMENTS / "constraints.txt")["setuptools"]
    program = "from setuptools import Distribution; print(*Distribution().find_config_files())"
    flags = str(REQUIREMENTS / "build-force.cfg")
    environment = {**os.environ, "DIST_EXTRA_CONFIG": flags}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True, env=environment)
    assert flags in done.stdout
