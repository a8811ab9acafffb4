"""The cmake that builds Horovod: the line that it mends, and what it does with another Horovod."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

PROGRAM = Path(__file__).resolve().parents[3] / "requirements" / "horovod-cmake"
# The two functions of Horovod 0.28.1 that make a device of gloo, shortened.
SOURCE = """\
void GlooContext::Initialize(const std::string& gloo_iface) {
  gloo_iface_ = gloo_iface;
  attr device_attr;
  device_attr.iface = gloo_iface_;
}

void GlooContext::InitializeForProcessSet(const GlooContext& global_context,
                                          const std::vector<int>& registered_ranks) {
  attr device_attr;
  device_attr.iface = gloo_iface_;
  auto dev = CreateDevice(device_attr);
}
"""
MENDED = "device_attr.iface = global_context.gloo_iface_;"


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """A PATH whose cmake prints its arguments."""
    cmake = tmp_path / "bin" / "cmake"
    cmake.parent.mkdir()
    cmake.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    cmake.chmod(0o755)
    return {"PATH": f"{cmake.parent}:{os.environ['PATH']}"}


def configure(horovod: Path, environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    """Calls the program as Horovod's setup.py does before it compiles."""
    command = ["sh", str(PROGRAM), str(horovod), "-DCMAKE_BUILD_TYPE=RelWithDebInfo"]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def horovod_with(source: str, folder: Path) -> Path:
    """Makes the sources of a Horovod with this file of gloo, and returns that file."""
    file = folder / "horovod" / "horovod" / "common" / "gloo" / "gloo_context.cc"
    file.parent.mkdir(parents=True)
    file.write_text(source)
    return file


def test_a_process_set_listens_at_the_interface_that_the_global_context_was_given(
    tmp_path: Path, environment: dict[str, str]
) -> None:
    file = horovod_with(SOURCE, tmp_path)
    done = configure(tmp_path / "horovod", environment)
    assert done.returncode == 0, done.stderr
    assert "-DCMAKE_BUILD_TYPE=RelWithDebInfo" in done.stdout.splitlines()
    of_all, of_set = file.read_text().split("void GlooContext::InitializeForProcessSet")
    assert "device_attr.iface = gloo_iface_;" in of_all and MENDED not in of_all
    assert MENDED in of_set and "device_attr.iface = gloo_iface_;" not in of_set


def test_a_second_call_changes_nothing(tmp_path: Path, environment: dict[str, str]) -> None:
    file = horovod_with(SOURCE, tmp_path)
    configure(tmp_path / "horovod", environment)
    once = file.read_text()
    assert configure(tmp_path / "horovod", environment).returncode == 0
    assert file.read_text() == once


def test_another_horovod_is_not_built_without_the_mend(tmp_path: Path, environment: dict[str, str]) -> None:
    horovod_with(SOURCE.replace("device_attr.iface", "options.interface"), tmp_path)
    done = configure(tmp_path / "horovod", environment)
    assert done.returncode == 1
    assert "is not the one of Horovod 0.28.1" in done.stderr and done.stdout == ""


def test_a_build_goes_to_the_target_of_mxnet_alone(environment: dict[str, str]) -> None:
    done = subprocess.run(
        ["sh", str(PROGRAM), "--build", ".", "--config", "RelWithDebInfo"],
        env=environment, capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert done.stdout.split() == ["--build", ".", "--target", "mxnet", "--config", "RelWithDebInfo"]
