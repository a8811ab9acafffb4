"""Changes that open the network, or what is stored, to everybody."""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Iterator, Mapping
from typing import Any

from controller.edges.terraform_plan import Marker, PlanChange
from controller.review.plans.dangers import Danger, Finding
from controller.review.plans.rules.attributes import differs, is_true, pairs, turns

PUBLIC_ADDRESS = "associate_public_ip_address"
PUBLIC_ACCESS = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
PUBLIC_ACLS = ("public-read", "public-read-write", "authenticated-read", "website")


def network(change: PlanChange) -> Iterator[Finding]:
    """Yields what a change would open."""
    if change.after is None:
        if change.type == "aws_s3_bucket_public_access_block":
            yield Finding(Danger.OPEN_NETWORK, change.address, "nothing would keep a bucket from being made public")
        return
    for source in sorted(_ingress(change, change.after) - _ingress(change, change.before)):
        reason = _openness(source)
        if reason:
            yield Finding(Danger.OPEN_NETWORK, change.address, reason)
    yield from _public_addresses(change)
    yield from _public_buckets(change)


def _ingress(change: PlanChange, side: Mapping[str, Any] | None) -> set[str]:
    """Returns every address range that a resource lets in. A range that is hidden or unknown is a marker's text."""
    if side is None:
        return set()
    if change.type in ("aws_security_group", "aws_default_security_group"):
        blocks = side.get("ingress")
        if isinstance(blocks, Marker):
            return {str(blocks)} if "ingress" in change.configured else set()
        return set().union(*map(_ranges, blocks or ()))
    if change.type == "aws_security_group_rule":
        return _ranges(side) if side.get("type") != "egress" else set()
    if change.type == "aws_vpc_security_group_ingress_rule":
        return {str(side[key]) for key in ("cidr_ipv4", "cidr_ipv6") if side.get(key) is not None}
    return set()


def _ranges(block: Any) -> set[str]:
    if not isinstance(block, Mapping):
        return {str(block)}
    found: set[str] = set()
    for key in ("cidr_blocks", "ipv6_cidr_blocks"):
        value = block.get(key)
        found |= {str(value)} if isinstance(value, Marker) else {str(part) for part in value or ()}
    return found


def _openness(source: str) -> str | None:
    """Returns why an address range is too open or can't be judged; None for a narrow range."""
    try:
        network = ipaddress.ip_network(source, strict=False)
    except ValueError:
        return f"it would let in a range that can't be judged {source}"
    # Halves and quarters of the world are the world: 0.0.0.0/1 with 128.0.0.0/1 is the usual way around such a check.
    widest = 8 if network.version == 4 else 16
    return f"it would let in {source}" if network.prefixlen < widest else None


def _public_addresses(change: PlanChange) -> Iterator[Finding]:
    gains = turns(change, "map_public_ip_on_launch", to=True) or turns(change, PUBLIC_ADDRESS, to=True)
    for before, after in pairs(change, "network_interfaces"):
        gains = gains or (is_true(after.get(PUBLIC_ADDRESS)) and not is_true(before.get(PUBLIC_ADDRESS)))
    if gains:
        yield Finding(Danger.OPEN_NETWORK, change.address, "instances would get public addresses")


def _public_buckets(change: PlanChange) -> Iterator[Finding]:
    if change.type == "aws_s3_bucket_public_access_block":
        off = [key for key in PUBLIC_ACCESS if not is_true(change.values.get(key))]
        was_off = [key for key in PUBLIC_ACCESS if change.before and not is_true(change.before.get(key))]
        if set(off) - set(was_off):
            yield Finding(Danger.OPEN_NETWORK, change.address, f"a bucket could be made public: {', '.join(off)} off")
    acl = change.values.get("acl")
    if change.type in ("aws_s3_bucket_acl", "aws_s3_bucket") and acl in PUBLIC_ACLS and differs(change, "acl"):
        yield Finding(Danger.OPEN_NETWORK, change.address, f"a bucket would be public: {acl}")
    if change.type == "aws_s3_bucket_policy" and _lets_everybody(change.values.get("policy")):
        yield Finding(Danger.OPEN_NETWORK, change.address, "its policy would let everybody in")


def _lets_everybody(policy: Any) -> bool:
    """Returns whether the policy allows something to everybody without a condition, or can't be read."""
    try:
        statements = json.loads(policy)["Statement"]
    except (TypeError, ValueError, KeyError):
        return policy is not Marker.UNKNOWN
    statements = statements if isinstance(statements, list) else [statements]
    everybody = ("*", {"AWS": "*"}, {"AWS": ["*"]})
    allowing = [
        s for s in statements if isinstance(s, Mapping) and s.get("Effect") == "Allow" and not s.get("Condition")
    ]
    return any(statement.get("Principal") in everybody for statement in allowing)
