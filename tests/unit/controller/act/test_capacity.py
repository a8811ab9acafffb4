"""The capacity file: atomic, validated, and never written over somebody else's change."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.act import capacity as module
from controller.act.capacity import CapacityFile, check_capacity
from controller.domain import Fleet
from controller.domain.errors import CapacityFileError, DiskError


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "capacity.auto.tfvars.json"


def written(path: Path, content: str) -> CapacityFile:
    path.write_text(content)
    return CapacityFile(path)


def test_what_was_written_is_read_again_zeros_included(path: Path) -> None:
    file = CapacityFile(path)
    assert file.read() == Fleet({})
    file.write(Fleet({"c5.large": 3, "t2.medium": 0}))
    assert json.loads(path.read_text()) == {"capacity": {"c5.large": 3, "t2.medium": 0}}
    assert dict(CapacityFile(path).read()) == {"c5.large": 3, "t2.medium": 0}


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "is corrupt: it is not JSON"),
        ('{"capacity": {"c5.large": 3', "is corrupt: it is not JSON"),
        ("[]", "must hold one object"),
        ('{"capacity": 3}', "must hold one object"),
        ('{"capacity": {}, "other": 1}', "must hold one object"),
        ('{"capacity": {"c5.large": -1}}', "must be a whole number from 0 up"),
        ('{"capacity": {"c5.large": 1.5}}', "must be a whole number from 0 up"),
        ('{"capacity": {"c5.large": "3"}}', "must be a whole number from 0 up"),
        ('{"capacity": {"c5.large": true}}', "must be a whole number from 0 up"),
        ('{"capacity": {"c5.large": 1000000}}', "absurd"),
    ],
)
def test_a_corrupt_file_is_an_error_that_names_it_and_says_what_to_do(path: Path, content: str, reason: str) -> None:
    with pytest.raises(CapacityFileError, match=reason) as error:
        written(path, content).read()
    assert str(path) in error.value.what
    assert error.value.next_step


@pytest.mark.parametrize("change", ['{"capacity": {"c5.large": 9}}', "not even JSON", None])
def test_a_file_that_somebody_else_changed_is_left_as_it_is(path: Path, change: str | None) -> None:
    file = written(path, '{"capacity": {"c5.large": 1}}')
    file.read()
    if change is None:
        path.unlink()
    else:
        path.write_text(change)
    with pytest.raises(CapacityFileError, match="changed by someone else"):
        file.write(Fleet({"c5.large": 2}))
    assert (path.read_text() if path.exists() else None) == change


def test_after_reading_somebody_elses_change_it_may_be_written_again(path: Path) -> None:
    file = written(path, '{"capacity": {"c5.large": 1}}')
    file.read()
    path.write_text('{"capacity": {"c5.large": 9}}')
    file.read()
    file.write(Fleet({"c5.large": 2}))
    assert CapacityFile(path).read() == Fleet({"c5.large": 2})


def test_a_write_that_breaks_off_leaves_the_old_content_and_no_litter(
    path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    file = written(path, '{"capacity": {"c5.large": 1}}')
    file.read()

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(module.os, "replace", fail)
    with pytest.raises(DiskError, match="disk full"):
        file.write(Fleet({"c5.large": 2}))
    assert json.loads(path.read_text()) == {"capacity": {"c5.large": 1}}
    assert [entry.name for entry in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize(
    ("fleet", "reason"),
    [
        (Fleet({"m5.large": 1}), "m5.large is not one that Terraform declares"),
        (Fleet({"c5.large": 13}), "13 nodes of c5.large are more than its 12"),
    ],
)
def test_a_capacity_that_terraform_does_not_allow_is_refused(path: Path, fleet: Fleet, reason: str) -> None:
    with pytest.raises(CapacityFileError, match=reason):
        check_capacity(fleet, path, {"c5.large": 12})
