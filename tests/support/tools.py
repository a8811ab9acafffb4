"""The programs that only some tests need. A test asks for one with `@pytest.mark.needs_tool("chromium")`.

Where the tool is missing, the test is skipped on a person's machine and fails where `CI=true`: there `.ci/run` installs
what tests need, and a skipped test would hide that it did not. Only this module knows how to look for a tool.
`@pytest.mark.needs_tool("spark")` asks for the packages of `make setup SPARK=1` and a Java, `"text"` for those of
`make setup TEXT=1`.
localcloud's machines (`@pytest.mark.needs_tool("machines")`) also need root and some features of the kernel. These
can't be installed. Where they are missing, a test is skipped everywhere.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import pytest

from localcloud.hosts.machine.requirements import check, missing_packages
from localcloud.hosts.machine.tools import MachineError
from trainer.data.petastorm.extra import ExtraMissingError, require_extra
from trainer.spark.java import NoJavaError, java_home


@dataclass(frozen=True)
class Tool:
    """The names that a program goes by, and how to get it."""

    names: tuple[str, ...]
    advice: str

    @property
    def command(self) -> str | None:
        """The path of the program, None where it is missing."""
        return next((path for name in self.names if (path := shutil.which(name))), None)


TOOLS: Mapping[str, Tool] = {
    "chromium": Tool(
        ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"), "apt-get install chromium"
    ),
    "terraform": Tool(("terraform",), "https://developer.hashicorp.com/terraform/install"),
    "packer": Tool(("packer",), "apt-get install packer"),
    "g++": Tool(("g++",), "apt-get install g++"),
}


TEXT = "text"
"""The packages for Parquet, zstd and the identification of languages."""
TEXT_MODULES = ("pyarrow", "zstandard", "lingua")
SPARK = "spark"
"""What Spark needs: some packages and a Java."""
MACHINES = "machines"
"""What localcloud's machines need: root rights and some programs."""


def require(name: str) -> str:
    """Returns the path of a tool. Where it is missing, the test fails on CI and is skipped elsewhere."""
    if name == MACHINES:
        return _require_machines()
    if name == TEXT:
        return _require_text()
    if name == SPARK:
        return _require_spark()
    tool = TOOLS[name]
    command = tool.command
    return command if command is not None else _give_up(f"{name} is not installed: {tool.advice}")


def _require_text() -> str:
    """Returns the names of the modules."""
    missing = [name for name in TEXT_MODULES if find_spec(name) is None]
    return _give_up(f"{', '.join(missing)} is not installed: make setup TEXT=1") if missing else ", ".join(TEXT_MODULES)


def _require_spark() -> str:
    """Returns the folder of the Java that Spark runs on."""
    try:
        require_extra("this test")
        return str(java_home(os.environ))
    except (ExtraMissingError, NoJavaError) as error:
        return _give_up(f"Spark is not installed: {error}")


def _require_machines() -> str:
    """Returns `root`. A test is skipped, on CI too, where no program could help: without root, or in such a kernel."""
    if os.geteuid() != 0:
        pytest.skip("machines need root rights: run the tests as root")
    packages = missing_packages()
    if packages:
        return _give_up(f"programs for machines are not installed: apt-get install {' '.join(packages)}")
    with tempfile.TemporaryDirectory() as folder:
        try:
            check(Path(folder))
        except MachineError as error:
            pytest.skip(f"machines can't be made here: {error}")
    return "root"


def _give_up(reason: str) -> str:
    if os.environ.get("CI") == "true":
        pytest.fail(f"{reason}. On CI no test may lack its tool.", pytrace=False)
    pytest.skip(reason)
