"""What becomes of single attributes of a resource."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.edges.terraform_plan import PlanChange


def turns(change: PlanChange, key: str, *, to: bool) -> bool:
    """Returns whether an attribute becomes `to` and was not before."""
    after, before = (change.after or {}).get(key), (change.before or {}).get(key)
    return is_true(after) is to and is_true(before) is not to and after is not None


def differs(change: PlanChange, key: str) -> bool:
    """Returns whether an attribute is another one afterwards."""
    return (change.before or {}).get(key) != (change.after or {}).get(key)


def is_true(value: Any) -> bool:
    """Returns whether a value is true. Providers write some booleans as text."""
    return value is True or value == "true"


def pairs(change: PlanChange, key: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """Yields the blocks of one name before and after. A block that was not there before is paired with an empty one."""
    before, after = (change.before or {}).get(key), (change.after or {}).get(key)
    old = before if isinstance(before, list) else []
    for number, block in enumerate(after if isinstance(after, list) else []):
        if isinstance(block, Mapping):
            previous = old[number] if number < len(old) and isinstance(old[number], Mapping) else {}
            yield previous, block
