"""Which instance a group terminates first."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from localcloud.api.autoscaling.scale_in import in_order_of_termination


def member(name: str, launched: int, protected: bool = False) -> Any:
    return SimpleNamespace(
        instance=SimpleNamespace(id=name, launch_time=launched), protected_from_scale_in=protected, name=name
    )


MEMBERS = [member("middle", 2), member("old", 1), member("new", 3), member("protected", 0, protected=True)]


@pytest.mark.parametrize(
    ("policies", "order"),
    [
        (["Default"], ["old", "middle", "new"]),
        (["OldestInstance"], ["old", "middle", "new"]),
        (["NewestInstance"], ["new", "middle", "old"]),
    ],
)
def test_the_policy_gives_the_order_and_protected_instances_stay(policies: list[str], order: list[str]) -> None:
    assert [one.instance.id for one in in_order_of_termination(MEMBERS, policies)] == order
