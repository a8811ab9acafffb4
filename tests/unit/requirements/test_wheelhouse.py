"""The program that builds wheelhouses: what decides their names, where it refuses, and what a failed build leaves."""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest

REQUIREMENTS = Path(__file__).resolve().parents[3] / "requirements"
PROGRAM = REQUIREMENTS / "wheelhouse.py"


@pytest.fixture
def program() -> ModuleType:
    spec = importlib.util.spec_from_file_location("wheelhouse", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["wheelhouse"] = module
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def target(program: ModuleType) -> Any:
    """Nodes like this machine."""
    return program.Target("{}.{}".format(*sys.version_info[:2]), "99.0")


@pytest.fixture
def quick(program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The program with a build that makes one small file, on a machine that fits."""

    def fill(house: Path, work: Path, target: Any) -> None:
        (house / "wheels").mkdir(parents=True)
        (house / "wheels" / "tiny-1.0-py3-none-any.whl").write_bytes(b"wheel")

    monkeypatch.setattr(program, "fill", fill)
    monkeypatch.setattr(program, "check", lambda house, work, target: None)
    monkeypatch.setattr(program, "misfit", lambda target: "")
    return program


def test_the_name_follows_the_nodes_and_all_that_is_built_from(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = program.digest_of(program.Target("3.11", "2.36"))
    assert first == program.digest_of(program.Target("3.11", "2.36"))
    assert (
        len(
            {
                first,
                program.digest_of(program.Target("3.10", "2.36")),
                program.digest_of(program.Target("3.11", "2.35")),
            }
        )
        == 3
    )
    (tmp_path / "hashed").mkdir()
    for name in program.INPUTS:
        (tmp_path / name).write_bytes((REQUIREMENTS / name).read_bytes())
    monkeypatch.setattr(program, "HERE", tmp_path)
    assert program.digest_of(program.Target("3.11", "2.36")) == first
    names = set()
    for name in program.INPUTS:
        before = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(before + b"\n")
        names.add(program.digest_of(program.Target("3.11", "2.36")))
        (tmp_path / name).write_bytes(before)
    assert len(names - {first}) == len(program.INPUTS)


def test_a_machine_whose_glibc_is_newer_than_the_nodes_does_not_fit(program: ModuleType) -> None:
    assert "which is older" in program.misfit(program.Target("3.11", "2.2"))


def test_a_machine_without_the_nodes_python_does_not_fit(program: ModuleType) -> None:
    assert "there is no python3.999 here" in program.misfit(program.Target("3.999", "99.0"))


def test_missing_tools_are_named(
    program: ModuleType, target: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(program, "interpreter_for", lambda target: sys.executable)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert program.misfit(target) == "the tools g++, cmake, make are missing here"


def test_what_does_not_fit_is_not_built(program: ModuleType, tmp_path: Path) -> None:
    with pytest.raises(program.WheelhouseError, match=r"Python 3\.999 can't be built here"):
        program.build(program.Target("3.999", "99.0"), tmp_path)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("megabytes", "cores", "at_once"), [(300, 8, 1), (1900, 8, 3), (64000, 2, 2)])
def test_no_more_is_compiled_at_once_than_fits_into_the_memory(
    program: ModuleType, monkeypatch: pytest.MonkeyPatch, megabytes: int, cores: int, at_once: int
) -> None:
    monkeypatch.setattr(
        program.Path, "read_text", lambda path: f"MemTotal: 1 kB\nMemAvailable:  {megabytes * 1000} kB\n"
    )
    monkeypatch.setattr(program.os, "sched_getaffinity", lambda pid: range(cores))
    assert program.compilations_at_once() == at_once


def test_a_wheelhouse_is_built_once_with_a_manifest_as_its_schema_says(
    quick: ModuleType, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    manifest = quick.build(target, tmp_path)
    schema = json.loads((REQUIREMENTS / "wheelhouse.schema.json").read_text())
    jsonschema.validate(manifest, schema)
    assert set(schema["properties"]) == set(schema["required"]) == set(manifest)
    archive = quick.archive_in(tmp_path, manifest["digest"])
    assert quick.sha256_of(archive) == manifest["sha256"]
    with tarfile.open(archive) as tar:
        assert tar.getnames() == list(manifest["files"]) == ["wheels/tiny-1.0-py3-none-any.whl"]
    monkeypatch.setattr(quick, "fill", lambda *_: pytest.fail("it was built a second time"))
    assert quick.build(target, tmp_path) == manifest
    answer = quick.answer(target, tmp_path)
    assert (answer["archive"], answer["manifest"]) == (str(archive), manifest)


def test_a_build_that_fails_leaves_nothing_and_the_next_one_clears_what_a_killed_one_left(
    quick: ModuleType, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "building-killed").mkdir()

    def fails(*_: Any) -> None:
        raise quick.WheelhouseError("no room")

    with monkeypatch.context() as patched:
        patched.setattr(quick, "check", fails)
        with pytest.raises(quick.WheelhouseError):
            quick.build(target, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"build.lock"}
    assert quick.answer(target, tmp_path)["archive"] is None


def test_an_archive_that_was_cut_off_does_not_count_as_built(quick: ModuleType, target: Any, tmp_path: Path) -> None:
    manifest = quick.build(target, tmp_path)
    quick.archive_in(tmp_path, manifest["digest"]).write_bytes(b"short")
    assert quick.answer(target, tmp_path)["manifest"] is None
    assert quick.build(target, tmp_path)["sha256"] == manifest["sha256"]


def test_a_second_build_waits_for_the_first(quick: ModuleType, target: Any, tmp_path: Path) -> None:
    with quick.alone(tmp_path), (tmp_path / "build.lock").open() as lock, pytest.raises(BlockingIOError):
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_a_program_that_fails_is_told_with_its_last_words(program: ModuleType) -> None:
    with pytest.raises(program.WheelhouseError, match="no such package"):
        program.run([sys.executable, "-c", "import sys; print('much', file=sys.stderr); sys.exit('no such package')"])


def test_the_requirement_of_a_wheel_asks_for_exactly_this_wheel(program: ModuleType, tmp_path: Path) -> None:
    wheel = tmp_path / "pydantic_core-2.41.5-cp311-cp311-manylinux.whl"
    wheel.write_bytes(b"wheel")
    assert program.requirement(wheel) == f"pydantic_core==2.41.5 --hash=sha256:{program.sha256_of(wheel)}\n"


def test_the_head_gets_all_that_it_needs_to_know_the_wheelhouse_by_the_same_name(tmp_path: Path) -> None:
    def said(program: Path, *arguments: str) -> str:
        command = [sys.executable, str(program), *arguments, "--cache", str(tmp_path / "cache")]
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=environment).stdout

    said(PROGRAM, "sources", "--into", "sources.zip")
    with zipfile.ZipFile(tmp_path / "sources.zip") as entries:
        entries.extractall(tmp_path / "head")
    own, heads = (
        json.loads(said(path, "describe")) for path in (PROGRAM, tmp_path / "head/requirements/wheelhouse.py")
    )
    assert own["digest"] == heads["digest"]
    assert (tmp_path / "head" / "trainer" / "model" / "kernels" / "__main__.py").is_file()


def test_no_wheel_that_was_built_elsewhere_gets_into_a_wheelhouse(
    program: ModuleType, target: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """pip's cache may hold a Horovod that was built with other flags and without the mended line."""
    commands: list[list[str]] = []

    def run(command: list[str], more: dict[str, str] | None = None) -> None:
        commands.append(command)
        (tmp_path / "venv").mkdir(exist_ok=True)

    monkeypatch.setattr(program, "run", run)
    program.fill(tmp_path / "house", tmp_path, target)
    (wheel,) = (command for command in commands if command[1:4] == ["-m", "pip", "wheel"])
    assert "--no-cache-dir" in wheel
