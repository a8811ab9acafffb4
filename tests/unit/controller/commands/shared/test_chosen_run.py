"""The run that a command looks at: named, latest, missing or damaged."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from controller.domain.errors import JournalError
from controller.record.journal.schema import FILE_NAME
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic

LOOKING = ("status", "facts", "explain", "report", "picture", "watch")


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("command", LOOKING)
def test_without_a_run_each_says_so_and_what_starts_one(root: Path, command: str, capsys: Captured) -> None:
    assert centavo(root, command) == JournalError.exit_code
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err == "centavo: There is no run yet.\n  `centavo optimize` starts one.\n"


@pytest.mark.parametrize("arguments", [("report", "20300101T000000Z"), ("report", "one", "20300101T000000Z"),
                                       ("picture", "20300101T000000Z"), ("watch", "20300101T000000Z")])  # fmt: skip
def test_a_run_that_there_is_not_is_named(root: Path, arguments: tuple[str, ...], capsys: Captured) -> None:
    added(root, synthetic.failed_run, "one")
    assert centavo(root, *arguments) == JournalError.exit_code
    told = capsys.readouterr().err
    assert f"There is no run '20300101T000000Z' under {root / 'runs'}." in told
    assert "`ls runs` lists them" in told


def truncate(file: Path) -> None:
    """As a copy that was stopped half way leaves it: the head is there, the rest is not."""
    file.write_bytes(file.read_bytes()[: 3 * 4096])


def overwrite(file: Path) -> None:
    file.write_bytes(b"no journal" * 1000)


@pytest.mark.usefixtures("down")
@pytest.mark.parametrize("damage", [truncate, overwrite])
@pytest.mark.parametrize("command", ["status", "explain", "report", "watch"])
def test_a_damaged_journal_is_told_without_a_traceback(
    root: Path, command: str, damage: Callable[[Path], None], capsys: Captured
) -> None:
    journal = added(root, synthetic.moved_run, "one")
    journal.close()
    damage(root / "runs" / "one" / FILE_NAME)
    assert centavo(root, command) == JournalError.exit_code
    told = capsys.readouterr().err
    assert "can't be read" in told and str(root / "runs") in told
    assert "folder away" in told
