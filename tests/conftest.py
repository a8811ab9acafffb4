"""What holds for all tests: property tests draw the same examples each time, and a missing tool is dealt with alike.

HYPOTHESIS_PROFILE=explore has property tests draw new examples. No example has a time limit: on a busy machine, tests
would fail by it, and mutants be caught by it.
"""

from __future__ import annotations

import os

import boto3
import pytest
import tools
from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker that asks for a tool."""
    config.addinivalue_line(
        "markers", "needs_tool(name): needs a program that may be missing; see tests/support/tools.py"
    )


@pytest.fixture(autouse=True)
def _new_session_of_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets boto3 look for credentials anew in each test. Its default session keeps those of an earlier test's cloud."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose tool is missing, or has it fail where CI=true."""
    for marker in item.iter_markers("needs_tool"):
        tools.require(*marker.args)
