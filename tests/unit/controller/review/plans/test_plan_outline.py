"""The outline of a plan: the same for the same changes, another for any other, and no value of a resource in it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from controller.edges.terraform_plan import parse_plan
from controller.review.plans.plan_outline import LONGEST_LINE, PlanOutline, outline_of

GOLDEN = Path(__file__).resolve().parents[4] / "golden" / "review"


def golden(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8"))
    return loaded


def outline(document: dict[str, Any]) -> PlanOutline:
    return outline_of(parse_plan(document))


def group(document: dict[str, Any]) -> dict[str, Any]:
    return next(r for r in document["resource_changes"] if r["change"]["actions"] == ["update"])


def test_the_fingerprint_is_of_what_changes_and_nothing_else() -> None:
    move = golden("move")
    same = {
        **move,
        "terraform_version": "9.9.9",
        "timestamp": "later",
        "resource_changes": list(reversed(move["resource_changes"])),
    }
    assert outline(same) == outline(move) and outline(same).fingerprint == outline(move).fingerprint


def more_nodes(document: dict[str, Any]) -> None:
    group(document)["change"]["after"]["desired_capacity"] += 1


def from_elsewhere(document: dict[str, Any]) -> None:
    group(document)["change"]["before"]["desired_capacity"] += 1


def another_unchanged_attribute(document: dict[str, Any]) -> None:
    for side in ("before", "after"):
        group(document)["change"][side]["health_check_type"] = "ELB"


def another_action(document: dict[str, Any]) -> None:
    group(document)["change"]["actions"] = ["delete", "create"]


def another_address(document: dict[str, Any]) -> None:
    group(document)["address"] += "x"


def moved(document: dict[str, Any]) -> None:
    group(document)["previous_address"] = "aws_autoscaling_group.old"


def imported(document: dict[str, Any]) -> None:
    group(document)["change"]["importing"] = {"id": "x"}


def fewer(document: dict[str, Any]) -> None:
    document["resource_changes"].remove(group(document))


def one_output_more(document: dict[str, Any]) -> None:
    document["output_changes"] = {"added": {"actions": ["create"]}}


@pytest.mark.parametrize(
    "change",
    [
        more_nodes,
        from_elsewhere,
        another_unchanged_attribute,
        another_action,
        another_address,
        moved,
        imported,
        fewer,
        one_output_more,
    ],
)
def test_any_other_change_has_another_fingerprint(change: Callable[[dict[str, Any]], None]) -> None:
    other = golden("move")
    change(other)
    assert outline(other).fingerprint != outline(golden("move")).fingerprint


def secret_change(after: str) -> dict[str, Any]:
    change = {"actions": ["update"], "before": {"password": "old"}, "after": {"password": after}}
    change |= {"before_sensitive": {"password": True}, "after_sensitive": {"password": True}}
    resource = {"address": "aws_a.x", "type": "aws_a", "name": "x", "mode": "managed", "change": change}
    return {"format_version": "1.2", "resource_changes": [resource]}


def test_of_a_secret_only_whether_it_changes_is_in_the_outline() -> None:
    """So nobody can try passwords against a digest."""
    assert outline(secret_change("new")) == outline(secret_change("other"))
    assert outline(secret_change("new")) != outline(secret_change("old"))


def test_no_value_of_a_resource_is_in_the_outline() -> None:
    document = golden("move")
    group(document)["change"]["after"]["tag_of_the_test"] = "a value of the test"
    text = json.dumps(asdict(outline(document)))
    assert "tag_of_the_test" in text and "a value of the test" not in text


def test_control_characters_and_endless_names_never_reach_a_log() -> None:
    document = golden("move")
    group(document)["change"]["after"]["tags"] = {"\n::error::x": "1", "long" * 1000: "2"}
    paths = [path for change in outline(document).changes for path in change.attributes]
    assert any("::error::x" in path for path in paths), "the attribute is in the outline"
    assert all(path.isprintable() and len(path) <= LONGEST_LINE for path in paths)
