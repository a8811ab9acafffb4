"""The guard: the controller's own plans may change desired capacities of Auto Scaling groups, and nothing else.

It reads the JSON of `terraform show` on the very plan file that is applied afterwards. (Terraform's JSON output format,
https://developer.hashicorp.com/terraform/internals/json-format.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.domain import Fleet
from controller.domain.errors import GuardError
from controller.edges.terraform_plan import GROUP_TYPE, Action, PlanChange, parse_changes

OWNED_ATTRIBUTE = "desired_capacity"
WORDS = {
    Action.DESTROY: "destroyed",
    Action.REPLACE: "destroyed and created",
    Action.FORGET: "forgotten",
    Action.UPDATE: "changed",
    Action.CREATE: "created",
    Action.READ: "read",
    Action.NONE: "imported or moved in the state",
    Action.UNKNOWN: "changed in an unknown way",
}


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
    for change in parse_changes(document):
        found += _change_violations(change, allowance)
    return found


def check(document: Mapping[str, Any], allowance: Allowance) -> None:
    """Raises GuardError when the plan would do anything but set the desired capacities that were written."""
    found = violations(document, allowance)
    if found:
        raise GuardError(
            "The plan would do more than change capacities, so it was not applied:\n"
            + "\n".join(f"  {line}" for line in found),
            "Look at `centavo plan`; a person applies such changes with `centavo apply`, then the controller goes on.",
        )


def _change_violations(change: PlanChange, allowance: Allowance) -> list[str]:
    if not change.is_change:
        return []
    if change.type != GROUP_TYPE:
        return [f"{change.address} would be {WORDS[change.action]}"]
    if change.action is not Action.UPDATE:
        return [f"the group {change.address} would be {WORDS[change.action]}"]
    others = [key for key in change.changed_keys() if key != OWNED_ATTRIBUTE]
    if others:
        return [f"{change.address} would change in {', '.join(others)}"]
    return _capacity_violations(change.address, change.after or {}, allowance)


def _capacity_violations(address: str, after: Mapping[str, Any], allowance: Allowance) -> list[str]:
    flavor, wanted = allowance.group_flavors.get(str(after.get("name"))), after.get(OWNED_ATTRIBUTE)
    if flavor is None:
        return [f"{address} is not a group of a flavor of this cluster"]
    if wanted != allowance.fleet.count(flavor):
        return [f"{address} would get {wanted} nodes, and {allowance.fleet.count(flavor)} were decided"]
    if wanted > allowance.max_nodes.get(flavor, 0):
        return [f"{address} would get {wanted} nodes, and {allowance.max_nodes.get(flavor, 0)} are allowed"]
    return []
