"""The program that builds the controller's wheelhouse: what decides its name, and what lies in it."""

from __future__ import annotations

import importlib.util
import json
import sys
import tarfile
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
REQUIREMENTS = ROOT / "requirements"


@pytest.fixture
def program(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The program as a process of its own has it."""
    monkeypatch.syspath_prepend(str(REQUIREMENTS))
    names = ("wheelhouse", "controller_wheels")
    before = {name: sys.modules.pop(name, None) for name in names}
    spec = importlib.util.spec_from_file_location("controller_wheels", REQUIREMENTS / "controller_wheels.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    yield module
    for name, found in before.items():
        sys.modules.pop(name, None)
        if found is not None:
            sys.modules[name] = found


@pytest.fixture
def pip(program: ModuleType, monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The calls of pip, which downloads a wheel and a package without one."""
    calls: list[list[str]] = []

    def run(command: list[str]) -> None:
        calls.append(command)
        if "download" in command:
            folder = Path(command[-1].removeprefix("--dest="))
            folder.mkdir()
            (folder / "boto3-1.0-py3-none-any.whl").write_bytes(b"boto3")
            (folder / "python-terraform-0.10.1.tar.gz").write_bytes(b"source")
        else:
            folder = Path(next(word for word in command if word.startswith("--wheel-dir=")).partition("=")[2])
            (folder / "python_terraform-0.10.1-py3-none-any.whl").write_bytes(b"built")

    monkeypatch.setattr(program.wheelhouse, "run", run)
    return calls


def test_a_package_without_a_wheel_becomes_one_and_every_wheel_is_listed_with_its_hash(
    program: ModuleType, pip: list[list[str]], tmp_path: Path
) -> None:
    manifest = program.build(program.Target("3.11", "2.36"), tmp_path)
    assert sorted(manifest["files"]) == [
        "bytecode.zip", "requirements.txt", "wheels/boto3-1.0-py3-none-any.whl",
        "wheels/python_terraform-0.10.1-py3-none-any.whl",
    ]  # fmt: skip
    with tarfile.open(tmp_path / f"{manifest['digest']}.tar") as archive:
        listed = archive.extractfile("requirements.txt").read().decode()  # type: ignore[union-attr]
    assert [line.split()[0] for line in listed.splitlines()] == ["boto3==1.0", "python_terraform==0.10.1"]
    assert all("--hash=sha256:" in line for line in listed.splitlines())
    download = pip[0]
    assert {"--require-hashes", "--only-binary=:all:", "--python-version=3.11", "--abi=cp311"} <= {*download}
    assert "--platform=manylinux_2_36_x86_64" in download and "--platform=manylinux_2_37_x86_64" not in download
    jsonschema.validate(manifest, json.loads((REQUIREMENTS / "wheelhouse.schema.json").read_text()))


def test_it_is_built_once_and_the_name_follows_the_head(
    program: ModuleType, pip: list[list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = ["--cache", str(tmp_path)]
    assert program.main(["describe", *arguments]) == 0
    assert json.loads(capsys.readouterr().out)["manifest"] is None
    for _ in range(2):
        assert program.main(["build", *arguments]) == 0
    said: dict[str, Any] = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert len(pip) == 2 and said["misfit"] == "" and Path(said["archive"]).is_file()
    digests = {
        program.digest_of(program.Target(*one)) for one in (("3.11", "2.36"), ("3.10", "2.36"), ("3.11", "2.35"))
    }
    assert len(digests) == 3 and said["digest"] in digests


def test_a_failed_download_leaves_nothing_that_a_later_run_would_take(
    program: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def run(command: list[str]) -> None:
        raise program.WheelhouseError("pip ended with 1: no route to the package index")

    monkeypatch.setattr(program.wheelhouse, "run", run)
    assert program.main(["build", "--cache", str(tmp_path)]) == 1
    assert "no route to the package index" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["build.lock"]


def test_the_head_checks_all_that_is_asked_for() -> None:
    role = yaml.safe_load((ROOT / "ansible/roles/controller/vars/main.yml").read_text())
    lines = (REQUIREMENTS / "controller.txt").read_text().splitlines()
    assert {one["package"] for one in role["controller_imports"]} == {line for line in lines if line[0] != "#"}
