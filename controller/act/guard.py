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
from controller.domain.reasons import Reason
from controller.domain.reasons.plans import (
    AboveMaximum,
    ChangesAttributes,
    ForeignGroup,
    OtherCapacity,
    PlanErrored,
    PlanRefused,
    TouchesGroup,
    TouchesResource,
)
from controller.edges.terraform_plan import GROUP_TYPE, Action, PlanChange, parse_changes
from controller.words.reasons import reason_in_words

OWNED_ATTRIBUTE = "desired_capacity"


@dataclass(frozen=True)
class Allowance:
    """What a plan of the controller may do.

    Attributes:
        fleet: The capacity that was written. No group may get another one.
        group_flavors: By Auto Scaling group its flavor.
        max_nodes: By flavor the most nodes that Terraform allows.
    """

    fleet: Fleet
    group_flavors: Mapping[str, str]
    max_nodes: Mapping[str, int]


def check(document: Mapping[str, Any], allowance: Allowance) -> None:
    """Raises GuardError when the plan would do anything but set the desired capacities that were written."""
    found = violations(document, allowance)
    if found:
        raise GuardError(
            "The plan would do more than change capacities, so it was not applied:\n"
            + "\n".join(f"  {reason_in_words(finding)}" for finding in found),
            "Look at `centavo plan`. A person applies such changes with `centavo apply`; then the controller goes on.",
            reason=PlanRefused(tuple(found)),
        )


def violations(document: Mapping[str, Any], allowance: Allowance) -> list[Reason]:
    """Returns everything in a plan that the controller may not do; nothing when the plan may be applied."""
    found: list[Reason] = [PlanErrored()] if document.get("errored") else []
    for change in parse_changes(document):
        found += _violations_of(change, allowance)
    return found


def _violations_of(change: PlanChange, allowance: Allowance) -> list[Reason]:
    if not change.is_change:
        return []
    if change.type != GROUP_TYPE:
        return [TouchesResource(change.address, change.action.value)]
    if change.action is not Action.UPDATE:
        return [TouchesGroup(change.address, change.action.value)]
    others = tuple(key for key in change.changed_keys() if key != OWNED_ATTRIBUTE)
    if others:
        return [ChangesAttributes(change.address, others)]
    return _capacity_violations(change.address, change.after or {}, allowance)


def _capacity_violations(address: str, after: Mapping[str, Any], allowance: Allowance) -> list[Reason]:
    flavor, planned = allowance.group_flavors.get(str(after.get("name"))), after.get(OWNED_ATTRIBUTE)
    if flavor is None:
        return [ForeignGroup(address)]
    decided, most = allowance.fleet.count(flavor), allowance.max_nodes.get(flavor, 0)
    if not isinstance(planned, int):
        return [OtherCapacity(address, None, decided)]
    if planned != decided:
        return [OtherCapacity(address, planned, decided)]
    return [AboveMaximum(address, planned, most)] if planned > most else []
