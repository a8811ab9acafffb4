"""A test that lacks its tool is skipped on a person's machine, and fails on CI."""

from __future__ import annotations

import pytest
import tools


@pytest.fixture
def absent(monkeypatch: pytest.MonkeyPatch) -> str:
    """The name of a tool that no machine has."""
    monkeypatch.setattr(tools, "TOOLS", {"absent": tools.Tool(("centavo-no-such-program",), "nobody sells it")})
    return "absent"


def test_a_missing_tool_skips_a_test_on_a_persons_machine(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="absent is not installed: nobody sells it"):
        tools.require(absent)


def test_a_missing_tool_fails_a_test_on_ci(absent: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="absent is not installed"):
        tools.require(absent)


def test_the_first_name_that_is_there_is_the_command() -> None:
    command = tools.Tool(("centavo-no-such-program", "sh"), "").command
    assert command is not None and command.endswith("/sh")


def test_machines_are_skipped_without_root_even_on_ci(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(tools.os, "geteuid", lambda: 1000)
    with pytest.raises(pytest.skip.Exception, match="root rights"):
        tools.require(tools.MACHINES)


def test_machines_fail_as_root_on_ci_where_a_program_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(tools.os, "geteuid", lambda: 0)
    monkeypatch.setattr(tools, "missing_packages", lambda: ["nftables"])
    with pytest.raises(pytest.fail.Exception, match="apt-get install nftables"):
        tools.require(tools.MACHINES)


def test_machines_are_skipped_where_the_kernel_refuses(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: object) -> None:
        raise tools.MachineError("the kernel has no nftables")

    monkeypatch.setenv("CI", "true")
    monkeypatch.setattr(tools.os, "geteuid", lambda: 0)
    monkeypatch.setattr(tools, "missing_packages", list)
    monkeypatch.setattr(tools, "check", refuse)
    with pytest.raises(pytest.skip.Exception, match="no nftables"):
        tools.require(tools.MACHINES)


def assert_fails_on_ci_alone(tool: str, told: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Asserts that a missing tool fails a test where CI=true, and has it skipped elsewhere."""
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match=told):
        tools.require(tool)
    monkeypatch.delenv("CI")
    with pytest.raises(pytest.skip.Exception, match=told):
        tools.require(tool)


def test_spark_fails_on_ci_where_its_packages_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(what: str) -> None:
        raise tools.ExtraMissingError(f"{what} needs make setup SPARK=1")

    monkeypatch.setattr(tools, "require_extra", missing)
    told = "Spark is not installed: this test needs make setup SPARK=1"
    assert_fails_on_ci_alone(tools.SPARK, told, monkeypatch)


def test_packages_for_other_kinds_of_text_fail_on_ci_where_one_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_spec", lambda name: None if name == "lingua" else object())
    assert_fails_on_ci_alone(tools.TEXT, "lingua is not installed: make setup TEXT=1", monkeypatch)
    monkeypatch.setattr(tools, "find_spec", lambda name: object())
    assert tools.require(tools.TEXT) == "pyarrow, zstandard, lingua"
