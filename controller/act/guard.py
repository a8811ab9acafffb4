"""The guard: the controller's own plans may change desired capacities of Auto Scaling groups, and nothing else.

It reads the JSON of `terraform show` on the very plan file that is applied afterwards. (Terraform's JSON output format,
https://developer.hashicorp.com/terraform/internals/json-format.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain import Fleet
from controller.errors import GuardError

GROUP_TYPE = "aws_autoscaling_group"
HARMLESS_ACTIONS = (["no-op"], ["read"])
OWNED_ATTRIBUTE = "desired_capacity"


@dataclass(frozen=True)
class Allowance:
    """What a plan of the controller may come to."""

    fleet: Fleet
    """The capacity that was written; no group may get another."""
    group_flavors: Mapping[str, str]
    """Auto Scaling group -> flavor."""
    max_nodes: Mapping[str, int]
    """Flavor -> the most nodes that Terraform allows."""


def violations(document: Mapping[str, Any], allowance: Allowance) -> list[str]:
    """Everything in a plan that the controller may not do, in words; empty when the plan may be applied."""
    found: list[str] = []
    if document.get("errored"):
        found.append("the plan itself ended in an error")
    for change in document.get("resource_changes", []):
        found += _resource_violations(change, allowance)
    return found


def check(document: Mapping[str, Any], allowance: Allowance) -> None:
    """Raises GuardError when the plan would do anything but set the desired capacities that were written."""
    found = violations(document, allowance)
    if found:
        raise GuardError(
            "The plan would do more than change capacities, so it was not applied:\n"
            + "\n".join(f"  {line}" for line in found),
            "Look at `centavo plan`; a person applies such changes with `centavo apply`, then the controller goes on.")


def _resource_violations(resource: Mapping[str, Any], allowance: Allowance) -> list[str]:
    address, change = str(resource.get("address")), resource.get("change", {})
    actions = list(change.get("actions", []))
    if actions in HARMLESS_ACTIONS and not change.get("importing"):
        return []
    if resource.get("type") != GROUP_TYPE or resource.get("mode", "managed") != "managed":
        return [f"{address} would be {_words(actions)}"]
    if actions != ["update"]:
        return [f"the group {address} would be {_words(actions)}"]
    before, after = change.get("before") or {}, change.get("after") or {}
    others = sorted(key for key in {*before, *after} - {OWNED_ATTRIBUTE} if before.get(key) != after.get(key))
    others += sorted(key for key, is_unknown in (change.get("after_unknown") or {}).items() if _any(is_unknown))
    if others:
        return [f"{address} would change in {', '.join(dict.fromkeys(others))}"]
    return _capacity_violations(address, after, allowance)


def _capacity_violations(address: str, after: Mapping[str, Any], allowance: Allowance) -> list[str]:
    flavor, wanted = allowance.group_flavors.get(str(after.get("name"))), after.get(OWNED_ATTRIBUTE)
    if flavor is None:
        return [f"{address} is not a group of a flavor of this cluster"]
    if wanted != allowance.fleet.count(flavor):
        return [f"{address} would get {wanted} nodes, and {allowance.fleet.count(flavor)} were decided"]
    if wanted > allowance.max_nodes.get(flavor, 0):
        return [f"{address} would get {wanted} nodes, and {allowance.max_nodes.get(flavor, 0)} are allowed"]
    return []


def _any(value: Any) -> bool:
    """Whether anything in the nested value is true: `after_unknown` marks attributes, lists and blocks that way."""
    if isinstance(value, Mapping):
        return any(_any(part) for part in value.values())
    if isinstance(value, list):
        return any(_any(part) for part in value)
    return bool(value)


def _words(actions: list[str]) -> str:
    words = {"create": "created", "delete": "destroyed", "update": "changed", "forget": "forgotten"}
    return " and ".join(words.get(action, action) for action in actions) or "changed in an unknown way"
