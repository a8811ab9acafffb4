"""The capacity file: atomic, validated, and never written over somebody else's change."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controller.act import capacity as module
from controller.act.capacity import CapacityFile, check_capacity, format_capacity
from controller.domain import Fleet
from controller.domain.errors import CapacityFileError, DiskError
from controller.domain.reasons.plans import (
    AbsurdCapacity,
    CapacityFileChanged,
    CapacityFileCorrupt,
    TooMuchCapacity,
    UndeclaredFlavor,
)


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
    assert error.value.next_step.startswith(("Restore the file from version control", "Ask for fewer"))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("[]", CapacityFileCorrupt("PATH", 'it must hold one object called "capacity" and nothing else')),
        ('{"capacity": {"c5.large": 1001}}', AbsurdCapacity("PATH", "c5.large", 1001, 1000)),
    ],
)
def test_programs_are_told_what_is_wrong_with_the_file(
    path: Path, content: str, reason: CapacityFileCorrupt | AbsurdCapacity
) -> None:
    with pytest.raises(CapacityFileError) as error:
        written(path, content).read()
    assert error.value.reason == replace(reason, file=str(path))


def test_a_thousand_nodes_are_not_absurd(path: Path) -> None:
    assert written(path, '{"capacity": {"c5.large": 1000}}').read() == Fleet({"c5.large": 1000})


def test_the_file_is_laid_out_for_people(path: Path) -> None:
    """A proposal shows its difference."""
    assert format_capacity(Fleet({"c5.large": 3})) == b'{\n  "capacity": {\n    "c5.large": 3\n  }\n}\n'


def test_a_look_at_somebody_elses_change_does_not_accept_it(path: Path) -> None:
    file = written(path, '{"capacity": {"c5.large": 1}}')
    file.read()
    path.write_text('{"capacity": {"c5.large": 9}}')
    assert file.peek() == Fleet({"c5.large": 9}) and file.last == Fleet({"c5.large": 1})
    with pytest.raises(CapacityFileError) as error:
        file.refuse_if_changed()
    assert error.value.reason == CapacityFileChanged(str(path))


def test_a_file_that_was_never_read_is_not_written(path: Path) -> None:
    with pytest.raises(RuntimeError, match="has to be read"):
        CapacityFile(path).write(Fleet({"c5.large": 1}))
    assert not path.exists()
    assert CapacityFile(path).last == Fleet({})


def test_an_absurd_fleet_is_not_written(path: Path) -> None:
    file = CapacityFile(path)
    file.read()
    with pytest.raises(CapacityFileError) as error:
        file.write(Fleet({"c5.large": 1001}))
    assert error.value.reason == AbsurdCapacity(str(path), "c5.large", 1001, 1000)
    assert not path.exists()


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


def test_a_capacity_that_terraform_does_not_allow_is_refused(path: Path) -> None:
    most = {"c5.large": 12, "t2.large": 3}
    with pytest.raises(CapacityFileError, match=r"m5\.large is not one that Terraform declares") as undeclared:
        check_capacity(Fleet({"c5.large": 1, "m5.large": 1}), path, most)
    assert undeclared.value.reason == UndeclaredFlavor(str(path), "m5.large")
    assert undeclared.value.next_step.startswith("Terraform declares c5.large, t2.large. Add m5.large")
    with pytest.raises(CapacityFileError, match=r"13 nodes of c5\.large are more than its 12") as too_much:
        check_capacity(Fleet({"c5.large": 13}), path, most)
    assert too_much.value.reason == TooMuchCapacity(str(path), "c5.large", 13, 12)
    assert "raise max_nodes" in too_much.value.next_step


def test_as_much_as_terraform_allows_is_accepted(path: Path) -> None:
    check_capacity(Fleet({"c5.large": 12, "t2.large": 0}), path, {"c5.large": 12, "t2.large": 3})


def test_without_limits_every_flavor_is_checked_for_absurdity(path: Path) -> None:
    with pytest.raises(CapacityFileError, match="1001"):
        check_capacity(Fleet({"c5.large": 1, "t2.large": 1001}), path)
