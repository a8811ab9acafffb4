"""What a plan makes beside the workers: head, volumes, NAT gateways and public addresses."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from controller.domain.prices.standing import Standing
from controller.edges.terraform_plan import Plan, flavor_of


def standing_of(plan: Plan, *, after: bool) -> Standing:
    """Returns what a plan has beside the workers, before it or after it."""
    head = plan.head(after=after)
    gateways = sum(1 for _ in _sides(plan, "aws_nat_gateway", after))
    addresses = sum(1 for _ in _sides(plan, "aws_eip", after))
    return Standing(
        head=plan.head_type(after=after),
        head_volume_gb=_gb(_first(head.get("root_block_device"))),
        nat_gateways=gateways,
        addresses=addresses + (head.get("associate_public_ip_address") is True),
        volume_gb=volume_gb(plan, after=after),
    )


def volume_gb(plan: Plan, *, after: bool) -> dict[str, float]:
    """Returns by flavor the size of a node's volume, in GB, before a plan or after it."""
    found = {}
    for change in plan.changes:
        flavor, side = flavor_of(change), (change.after if after else change.before)
        if change.type == "aws_launch_template" and flavor is not None and side is not None:
            found[flavor] = _gb(_first(_first(side.get("block_device_mappings")).get("ebs")))
    return found


def floors(plan: Plan, *, after: bool) -> dict[str, int]:
    """Returns by spot flavor how many of its nodes are bought on demand, before a plan or after it."""
    found = {}
    for change in plan.groups:
        flavor, side = flavor_of(change), (change.after if after else change.before)
        policy = _first((side or {}).get("mixed_instances_policy"))
        base = _first(policy.get("instances_distribution")).get("on_demand_base_capacity")
        if flavor is not None and isinstance(base, int) and base > 0:
            found[flavor] = base
    return found


def _sides(plan: Plan, kind: str, after: bool) -> Iterator[Mapping[str, Any]]:
    for change in plan.changes:
        side = change.after if after else change.before
        if change.type == kind and side is not None:
            yield side


def _first(blocks: Any) -> Mapping[str, Any]:
    """Returns the first of the blocks of a resource; an empty one where there is none."""
    first = blocks[0] if isinstance(blocks, list) and blocks else {}
    return first if isinstance(first, Mapping) else {}


def _gb(volume: Mapping[str, Any]) -> float:
    size = volume.get("volume_size")
    return float(size) if isinstance(size, (int, float)) else 0.0
