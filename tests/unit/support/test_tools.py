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
