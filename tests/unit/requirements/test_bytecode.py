"""The program that keeps modules compiled: what goes into its archive, and whether Python uses it elsewhere."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "requirements" / "bytecode.py"
LOADED = "import sys, tiny.part; print(tiny.part.ANSWER, tiny.part.__cached__)"


@pytest.fixture
def packages(tmp_path: Path) -> Path:
    """The packages of an environment: one with a module that is imported and one that is not."""
    folder = tmp_path / "packages"
    (folder / "tiny").mkdir(parents=True)
    (folder / "tiny" / "__init__.py").touch()
    (folder / "tiny" / "part.py").write_text("ANSWER = 42\n")
    (folder / "tiny" / "unused.py").write_text("this is no Python\n")
    return folder


def kept(packages: Path, archive: Path) -> zipfile.ZipFile:
    """Runs the program's function in a Python of its own, which imports `tiny.part`. Returns the archive."""
    code = f"""
import importlib.util, pathlib, sys, tiny.part
spec = importlib.util.spec_from_file_location("bytecode", {str(PROGRAM)!r})
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
module.write(pathlib.Path({str(archive)!r}), pathlib.Path({str(packages)!r}))
"""
    subprocess.run([sys.executable, "-c", code], env={**os.environ, "PYTHONPATH": str(packages)}, check=True)
    return zipfile.ZipFile(archive)


def test_what_was_imported_is_kept_and_nothing_else(packages: Path, tmp_path: Path) -> None:
    with kept(packages, tmp_path / "one.zip") as entries:
        assert entries.namelist() == [cache_from_source("tiny/__init__.py"), cache_from_source("tiny/part.py")]
    kept(packages, tmp_path / "two.zip").close()
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "two.zip").read_bytes()


def test_another_environment_uses_it_while_the_source_is_the_same(packages: Path, tmp_path: Path) -> None:
    def answer() -> str:
        command = [sys.executable, "-B", "-c", LOADED]
        environment = {**os.environ, "PYTHONPATH": str(packages)}
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()[0]

    with kept(packages, tmp_path / "one.zip") as entries:
        entries.extractall(packages)
    source = packages / "tiny" / "part.py"
    os.utime(source, (1, 1))  # an installer gives files times of its own
    compiled = packages / cache_from_source("tiny/part.py")
    before = compiled.stat().st_mtime_ns, compiled.read_bytes()
    assert answer() == "42"
    assert (compiled.stat().st_mtime_ns, compiled.read_bytes()) == before
    assert importlib.util.source_hash(source.read_bytes()) == compiled.read_bytes()[8:16], "by its hash, not its time"
    source.write_text("ANSWER = 43\n")
    assert answer() == "43"
