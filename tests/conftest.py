"""What holds for all tests: repeatable property tests, what a missing tool means, and what runs side by side.

HYPOTHESIS_PROFILE=explore has property tests draw new examples. With HYPOTHESIS_PROFILE=mutants, nobody looks for a
smaller example than the first one that fails. No example has a time limit: on a busy machine, tests would fail by it,
and mutants be caught by it.
"""

from __future__ import annotations

import os
import signal
import tempfile
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
import tools
from hypothesis import Phase, settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", derandomize=False, deadline=None)
settings.register_profile("mutants", derandomize=True, deadline=None, phases=(Phase.explicit, Phase.generate))
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_configure(config: pytest.Config) -> None:
    """Declares the marker that asks for a tool, and has what tests start take an interrupt.

    A shell starts what follows a `&` with interrupts ignored. Programs inherit that, and some of them keep to it.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    config.addinivalue_line(
        "markers", "needs_tool(name): needs a program that may be missing; see tests/support/tools.py"
    )


# The folders whose tests take minutes come first, so that no worker waits for a long one at the end.
_LONGEST_FIRST = ("rehearse", "machine", "e2e", "contract", "faults", "nights", "browser", "unit")


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Puts the longest tests first, and says which run one after the other: `--dist loadgroup` keeps a group together.

    Within a folder, files with slow tests come first: near the end only short ones are left, and all workers have some.
    A file is a group, since its tests share fixtures. All tests that boot machines are one group, since a computer has
    memory and addresses for one cloud of machines at a time.
    """
    for item in items:
        folder = _folder(config, item)
        item.add_marker(pytest.mark.xdist_group("machines" if folder in ("rehearse", "machine") else str(item.path)))
    order = {folder: place for place, folder in enumerate(_LONGEST_FIRST)}
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (order.get(_folder(config, item), 0), item.path not in slow))


def _folder(config: pytest.Config, item: pytest.Item) -> str:
    """Returns the folder of `tests` that holds a test."""
    return item.path.relative_to(config.rootpath / "tests").parts[0]


@pytest.fixture(autouse=True)
def _new_session_of_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lets boto3 look for credentials anew in each test. Its default session keeps those of an earlier test's cloud."""
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)


@pytest.fixture
def socket_folder() -> Iterator[Path]:
    """A folder with a short path: that of a Unix socket has at most 107 characters, and `tmp_path` may need 75."""
    with tempfile.TemporaryDirectory(prefix="c-") as name:
        yield Path(name)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skips a test whose tool is missing, or has it fail where CI=true."""
    for marker in item.iter_markers("needs_tool"):
        tools.require(*marker.args)
