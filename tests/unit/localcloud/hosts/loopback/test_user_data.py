"""User data has parts for the first boot and for each boot."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from localcloud.hosts.loopback.user_data import EVERY_BOOT, FIRST_BOOT, Part, parts_of, run_user_data
from localcloud.link.instance_dir import InstanceDir

FIRST = "#!/bin/bash\necho first >> boots\n"
EVERY = "#!/bin/bash\necho every >> boots\necho ü\n"


def mime(*parts: tuple[str, str]) -> str:
    bodies = "".join(f'--edge\nContent-Type: {kind}; charset="utf-8"\n\n{text}\n' for kind, text in parts)
    return f'Content-Type: multipart/mixed; boundary="edge"\nMIME-Version: 1.0\n\n{bodies}--edge--\n'


@pytest.fixture
def directory(tmp_path: Path) -> InstanceDir:
    directory = InstanceDir(tmp_path)
    directory.home.mkdir()
    return directory


def boot(directory: InstanceDir, text: str) -> list[str]:
    """Boots, and returns what was told."""
    told: list[str] = []
    asyncio.run(run_user_data(text, directory, dict(os.environ), told.append))
    return told


def boots(directory: InstanceDir) -> list[str]:
    return (directory.home / "boots").read_text().split()


def test_a_script_is_one_part_for_the_first_boot() -> None:
    assert parts_of(FIRST) == [Part(FIRST_BOOT, FIRST)]


def test_the_parts_of_a_message_are_told_apart() -> None:
    kinds = [
        (part.kind, part.is_script)
        for part in parts_of(mime((FIRST_BOOT, FIRST), (EVERY_BOOT, EVERY), ("text/cloud-config", "#x")))
    ]
    assert kinds == [(FIRST_BOOT, True), (EVERY_BOOT, True), ("text/cloud-config", False)]


def test_a_part_for_each_boot_runs_at_each_boot_and_the_others_after_it_at_the_first(directory: InstanceDir) -> None:
    """cloud-init's scripts-per-boot come before scripts-user, whatever their order in the message."""
    text = mime((FIRST_BOOT, FIRST), (EVERY_BOOT, EVERY))
    assert boot(directory, text) == ["running", "done"]
    assert boots(directory) == ["every", "first"]
    assert boot(directory, text) == ["running", "done"]
    assert boots(directory) == ["every", "first", "every"]
    assert "ü" in directory.console.read_text()


def test_a_part_that_fails_is_told_and_the_next_one_runs(directory: InstanceDir) -> None:
    text = mime((FIRST_BOOT, "#!/bin/bash\nexit 5\n"), (EVERY_BOOT, EVERY))
    assert boot(directory, text) == ["running", "failed (exit 5)"]
    assert boots(directory) == ["every"]


def test_a_plain_script_does_not_run_at_the_second_boot(directory: InstanceDir) -> None:
    assert boot(directory, FIRST) == ["running", "done"]
    assert boot(directory, FIRST) == []
    assert boots(directory) == ["first"]


def test_what_is_no_script_is_not_run(directory: InstanceDir) -> None:
    assert boot(directory, "echo first >> boots") == ["ignored"]
    assert "it is not run" in directory.console.read_text()
