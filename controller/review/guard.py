"""The guard for people's plans: what needs to be acknowledged by name before it may be applied.

A person may change anything; but destroying storage, opening the network, touching IAM, ending the training or
exceeding the hourly limit has to be meant. (The controller's own plans are judged by `controller/act/guard.py`, which
allows capacities only.)
"""

from __future__ import annotations

import ipaddress
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any

from controller.edges.terraform_plan import GROUP_TYPE, ROLE_TAG, Action, Marker, Plan, PlanChange


class Danger(str, Enum):
    """What has to be acknowledged, by the word that `--acknowledge` takes."""

    DESTROY_STORAGE = "destroy-storage"
    OPEN_NETWORK = "open-network"
    CHANGE_IAM = "change-iam"
    END_TRAINING = "end-training"
    EXCEED_HOURLY_LIMIT = "exceed-hourly-limit"


@dataclass(frozen=True)
class Finding:
    """One dangerous thing that a plan does. `address` is empty when it is about the whole plan."""

    danger: Danger
    address: str
    reason: str


@dataclass(frozen=True)
class GuardVerdict:
    """All that was found, and what of it was acknowledged."""

    findings: tuple[Finding, ...]
    acknowledged: frozenset[Danger] = frozenset()

    @property
    def is_refused(self) -> bool:
        return bool(self.missing)

    @property
    def missing(self) -> tuple[Danger, ...]:
        """What is still to be acknowledged, each once."""
        return tuple(danger for danger in self.found if danger not in self.acknowledged)

    @property
    def found(self) -> tuple[Danger, ...]:
        """Every kind of danger in the plan, each once."""
        found = {finding.danger for finding in self.findings}
        return tuple(danger for danger in Danger if danger in found)

    @property
    def options(self) -> str:
        """The options that would acknowledge what is missing."""
        return " ".join(f"--acknowledge {danger.value}" for danger in self.missing)


@dataclass(frozen=True)
class HourlyLimit:
    """The limit on what the workers may cost an hour, and what they would. None: unlimited, or not known."""

    limit_usd_per_hour: float | None = None
    after_usd_per_hour: float | None = None


def judge(plan: Plan, limit: HourlyLimit, acknowledged: frozenset[Danger] = frozenset()) -> GuardVerdict:
    """Everything dangerous in a plan, in the order of `Danger` and then of address."""
    found = [finding for change in plan.changes if change.is_change for rule in _RULES for finding in rule(change)]
    found += _hourly_limit(plan, limit)
    order = list(Danger)
    findings = sorted(found, key=lambda finding: (order.index(finding.danger), finding.address, finding.reason))
    return GuardVerdict(tuple(dict.fromkeys(findings)), acknowledged)


def _hourly_limit(plan: Plan, limit: HourlyLimit) -> Iterator[Finding]:
    if limit.limit_usd_per_hour is None or plan.fleet_after == plan.fleet_before:
        return
    most, cost = limit.limit_usd_per_hour, limit.after_usd_per_hour
    if cost is None:
        reason = f"a flavor in the fleet has no price, so the limit of {most} $/h can't be checked"
        yield Finding(Danger.EXCEED_HOURLY_LIMIT, "", reason)
    elif cost > most * (1 + 1e-9):
        reason = f"the workers would cost {cost:.4f} $/h, above the limit of {most} $/h"
        yield Finding(Danger.EXCEED_HOURLY_LIMIT, "", reason)


# ---- storage

STORAGE: Mapping[str, str] = {
    "aws_s3_bucket": "a bucket with all that is in it",
    "aws_s3_object": "an object in a bucket",
    "aws_s3_bucket_object": "an object in a bucket",
    "aws_ebs_volume": "a volume",
    "aws_ebs_snapshot": "a snapshot",
    "aws_efs_file_system": "a file system",
    "aws_fsx_lustre_file_system": "a file system",
    "aws_fsx_openzfs_file_system": "a file system",
    "aws_dynamodb_table": "a table",
    "aws_db_instance": "a database",
    "aws_rds_cluster": "a database",
    "aws_ecr_repository": "a repository of images",
    "aws_backup_vault": "a vault of backups",
    "aws_kms_key": "a key, without which what it encrypted is lost",
    "aws_cloudwatch_log_group": "logs",
}


def _storage(change: PlanChange) -> Iterator[Finding]:
    kind = STORAGE.get(change.type)
    if kind and change.action.destroys:
        verb = "replaced by an empty one" if change.action is Action.REPLACE else "destroyed"
        yield Finding(Danger.DESTROY_STORAGE, change.address, f"{kind} would be {verb}")
    if change.type == "aws_s3_bucket_versioning" and _stops_versioning(change):
        yield Finding(Danger.DESTROY_STORAGE, change.address, "old versions of objects would no longer be kept")
    if change.action is Action.UPDATE and _turns(change, "force_destroy", to=True):
        yield Finding(Danger.DESTROY_STORAGE, change.address, "it could from then on be destroyed with its content")
    if change.type == "aws_s3_bucket_lifecycle_configuration" and change.action is Action.UPDATE:
        yield Finding(Danger.DESTROY_STORAGE, change.address, "the rules by which objects expire would change")


def _stops_versioning(change: PlanChange) -> bool:
    def is_on(side: Mapping[str, Any] | None) -> bool:
        blocks = (side or {}).get("versioning_configuration")
        return isinstance(blocks, list) and any(isinstance(b, Mapping) and b.get("status") == "Enabled" for b in blocks)

    return is_on(change.before) and not is_on(change.after)


# ---- network

PUBLIC_ADDRESS = "associate_public_ip_address"
PUBLIC_ACCESS = ("block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets")
PUBLIC_ACLS = ("public-read", "public-read-write", "authenticated-read", "website")


def _network(change: PlanChange) -> Iterator[Finding]:
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
    """Every address range that a resource lets in; what is hidden or not known yet as the marker's text."""
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
    """Why an address range is too open, or can't be judged; None for a narrow one."""
    try:
        network = ipaddress.ip_network(source, strict=False)
    except ValueError:
        return f"it would let in a range that can't be judged {source}"
    # Halves and quarters of the world are the world: 0.0.0.0/1 with 128.0.0.0/1 is the usual way around such a check.
    widest = 8 if network.version == 4 else 16
    return f"it would let in {source}" if network.prefixlen < widest else None


def _public_addresses(change: PlanChange) -> Iterator[Finding]:
    gains = _turns(change, "map_public_ip_on_launch", to=True) or _turns(change, PUBLIC_ADDRESS, to=True)
    for before, after in _pairs(change, "network_interfaces"):
        gains = gains or (_is_true(after.get(PUBLIC_ADDRESS)) and not _is_true(before.get(PUBLIC_ADDRESS)))
    if gains:
        yield Finding(Danger.OPEN_NETWORK, change.address, "instances would get public addresses")


def _public_buckets(change: PlanChange) -> Iterator[Finding]:
    if change.type == "aws_s3_bucket_public_access_block":
        off = [key for key in PUBLIC_ACCESS if not _is_true(change.values.get(key))]
        was_off = [key for key in PUBLIC_ACCESS if change.before and not _is_true(change.before.get(key))]
        if set(off) - set(was_off):
            yield Finding(Danger.OPEN_NETWORK, change.address, f"a bucket could be made public: {', '.join(off)} off")
    acl = change.values.get("acl")
    if change.type in ("aws_s3_bucket_acl", "aws_s3_bucket") and acl in PUBLIC_ACLS and _differs(change, "acl"):
        yield Finding(Danger.OPEN_NETWORK, change.address, f"a bucket would be public: {acl}")
    if change.type == "aws_s3_bucket_policy" and _lets_everybody(change.values.get("policy")):
        yield Finding(Danger.OPEN_NETWORK, change.address, "its policy would let everybody in")


def _lets_everybody(policy: Any) -> bool:
    """Whether an Allow statement without a condition names everybody. A policy that can't be read counts as such."""
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


# ---- identity

IDENTITY_PREFIXES = ("aws_iam_", "aws_ssoadmin_", "aws_identitystore_", "aws_organizations_")
IDENTITY_TYPES = ("aws_s3_bucket_policy", "aws_kms_key_policy", "aws_kms_grant")
VERBS = {Action.CREATE: "created", Action.DESTROY: "destroyed", Action.REPLACE: "replaced", Action.FORGET: "forgotten"}


def _identity(change: PlanChange) -> Iterator[Finding]:
    if change.type.startswith(IDENTITY_PREFIXES) or change.type in IDENTITY_TYPES:
        reason = f"who may do what: it would be {VERBS.get(change.action, 'changed')}"
        yield Finding(Danger.CHANGE_IAM, change.address, reason)
    elif change.before is not None and change.after is not None:
        if any(attribute.path.startswith("iam_instance_profile") for attribute in change.attributes()):
            yield Finding(Danger.CHANGE_IAM, change.address, "its instances would act in another role")


# ---- the training that runs


def _training(change: PlanChange) -> Iterator[Finding]:
    if not change.action.destroys:
        return
    before = change.before or {}
    if change.type == "aws_instance" and change.tag(ROLE_TAG) == "head":
        yield Finding(Danger.END_TRAINING, change.address, "the head, which runs the training's launcher, would go")
    if change.type == GROUP_TYPE and before.get("desired_capacity"):
        reason = f"{before['desired_capacity']:.0f} nodes would end without being drained"
        yield Finding(Danger.END_TRAINING, change.address, reason)


_RULES: tuple[Callable[[PlanChange], Iterator[Finding]], ...] = (_storage, _network, _identity, _training)


def _turns(change: PlanChange, key: str, *, to: bool) -> bool:
    """Whether an attribute becomes `to` and was not before."""
    after, before = (change.after or {}).get(key), (change.before or {}).get(key)
    return _is_true(after) is to and _is_true(before) is not to and after is not None


def _differs(change: PlanChange, key: str) -> bool:
    return (change.before or {}).get(key) != (change.after or {}).get(key)


def _is_true(value: Any) -> bool:
    """Providers write some booleans as text."""
    return value is True or value == "true"


def _pairs(change: PlanChange, key: str) -> Iterator[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The blocks of one name, after with before; a block that was not there before is paired with an empty one."""
    before, after = (change.before or {}).get(key), (change.after or {}).get(key)
    old = before if isinstance(before, list) else []
    for number, block in enumerate(after if isinstance(after, list) else []):
        if isinstance(block, Mapping):
            previous = old[number] if number < len(old) and isinstance(old[number], Mapping) else {}
            yield previous, block
