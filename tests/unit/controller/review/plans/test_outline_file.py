"""The file with a reviewed plan's outline: whoever wrote it, it is read as data, or refused with the reason."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.edges.terraform_plan import parse_plan
from controller.review.plans import outline_file
from controller.review.plans.outline_file import OutlineError, read_outline, write_outline
from controller.review.plans.plan_outline import outline_of
from tests.unit.controller.review.plans.test_plan_outline import golden

Document = dict[str, Any]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    made = tmp_path / "outline.json"
    write_outline(made, "aws", outline_of(parse_plan(golden("move"))))
    return made


def test_what_was_written_is_read(file: Path) -> None:
    assert read_outline(file, "aws") == outline_of(parse_plan(golden("move")))


def without_a_change(document: Document) -> None:
    document["changes"].pop()


def another_fingerprint(document: Document) -> None:
    document["fingerprint"] = "0" * 64


def other_environment(document: Document) -> None:
    document["environment"] = "local"


def another_field(document: Document) -> None:
    document["acknowledged"] = ["change-iam"]


def a_command_for_the_log(document: Document) -> None:
    document["changes"][0]["address"] = "x\n::add-mask::y"


def a_number(document: Document) -> None:
    document["changes"][0]["sha256"] = 7


def endless(document: Document) -> None:
    document["changes"][0]["address"] = "x" * 2001


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (without_a_change, "was altered: its fingerprint is not that of the changes"),
        (another_fingerprint, "was altered: its fingerprint is not that of the changes"),
        (other_environment, "is for the environment local, not for aws"),
        (another_field, "not the outline of a plan: acknowledged"),
        (a_command_for_the_log, "not the outline of a plan: changes.0.address"),
        (a_number, "not the outline of a plan: changes.0.sha256"),
        (endless, "not the outline of a plan: changes.0.address"),
    ],
)
def test_an_altered_outline_is_refused(file: Path, change: Callable[[Document], None], message: str) -> None:
    document = json.loads(file.read_text())
    change(document)
    file.write_text(json.dumps(document))
    with pytest.raises(OutlineError, match=message) as error:
        read_outline(file, "aws")
    assert "add-mask" not in error.value.what and "centavo review --outline" in error.value.next_step


@pytest.mark.parametrize("content", [b"", b"[]", b"null", b"\xff\xfe", b"[" * 100_000, b'{"changes": 1e999}'])
def test_what_is_no_outline_is_refused(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(OutlineError, match="not the outline of a plan"):
        read_outline(file, "aws")


def test_a_file_that_is_too_large_is_not_read(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outline_file, "MAX_BYTES", file.stat().st_size)
    read_outline(file, "aws")
    monkeypatch.setattr(outline_file, "MAX_BYTES", file.stat().st_size - 1)
    with pytest.raises(OutlineError, match="has more than"):
        read_outline(file, "aws")


def test_a_file_that_is_missing_is_told(tmp_path: Path) -> None:
    with pytest.raises(OutlineError, match="can't be read: No such file"):
        read_outline(tmp_path / "none.json", "aws")
