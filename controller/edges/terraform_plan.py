"""A Terraform plan, typed: what `terraform show -json PLAN` says would change, sensitive values never kept.

Both guards judge these values, and the review shows them. Format: https://developer.hashicorp.com/terraform/internals/json-format
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from controller.domain import Fleet
from controller.domain.errors import CentavoError

FORMAT_MAJOR = "1"
GROUP_TYPE = "aws_autoscaling_group"
INSTANCE_TYPE = "aws_ec2_instance_type"
"""The data source of what EC2 states of an instance type."""
FLAVOR_TAG = "centavo:flavor"
ROLE_TAG = "centavo:role"


class PlanError(CentavoError):
    """A plan's JSON can't be read, or the plan is of no use."""


class Marker(Enum):
    """What stands in for a value that must not be shown, or that is not known before the apply."""

    SENSITIVE = "(sensitive)"
    SENSITIVE_CHANGED = "(sensitive, changed)"
    UNKNOWN = "(known after apply)"

    def __str__(self) -> str:
        return str(self.value)


class Action(str, Enum):
    """What happens to a resource, the dangerous ones first."""

    DESTROY = "destroy"
    REPLACE = "replace"
    FORGET = "forget"
    UPDATE = "update"
    CREATE = "create"
    READ = "read"
    NONE = "none"
    UNKNOWN = "unknown"
    """Something that this program does not know; only the controller's guard looks at such a plan, and refuses it."""

    @property
    def destroys(self) -> bool:
        return self in (Action.DESTROY, Action.REPLACE)

    @property
    def is_change(self) -> bool:
        return self not in (Action.READ, Action.NONE)


_ACTIONS: Mapping[tuple[str, ...], Action] = {
    ("no-op",): Action.NONE,
    ("read",): Action.READ,
    ("create",): Action.CREATE,
    ("update",): Action.UPDATE,
    ("delete",): Action.DESTROY,
    ("forget",): Action.FORGET,
    ("delete", "create"): Action.REPLACE,
    ("create", "delete"): Action.REPLACE,
    ("create", "forget"): Action.FORGET,
    ("forget", "create"): Action.FORGET,
}
_ORDER = tuple(Action)


@dataclass(frozen=True)
class AttributeChange:
    """One leaf of a resource that becomes another. A side that is not there is None."""

    path: str
    before: Any
    after: Any
    forces_replacement: bool = False


@dataclass(frozen=True)
class PlanChange:
    """What happens to one resource. `before` and `after` hold markers in place of sensitive and unknown values."""

    address: str
    type: str
    action: Action
    before: Mapping[str, Any] | None = None
    after: Mapping[str, Any] | None = None
    index: str | None = None
    """The key of the innermost module or resource instance in the address; for a group, its flavor."""
    reason: str | None = None
    """Terraform's own word for why, such as `replace_because_cannot_update`."""
    replace_paths: tuple[str, ...] = ()
    previous_address: str | None = None
    is_import: bool = False
    configured: frozenset[str] = frozenset()
    """The attributes that the code sets; the provider works out the others."""

    @property
    def is_change(self) -> bool:
        """Whether an apply does anything for it: a mere move or import changes the state, and counts."""
        return self.action.is_change or self.previous_address is not None or self.is_import

    @property
    def values(self) -> Mapping[str, Any]:
        """The resource as it will be, or as it was when it goes."""
        return self.after if self.after is not None else self.before or {}

    def tag(self, key: str) -> str | None:
        """Returns a tag, from a `tags` map or from an Auto Scaling group's `tag` blocks."""
        tags = self.values.get("tags_all") or self.values.get("tags")
        if isinstance(tags, Mapping) and isinstance(tags.get(key), str):
            return str(tags[key])
        blocks = self.values.get("tag")
        for block in blocks if isinstance(blocks, (list, tuple)) else ():
            if isinstance(block, Mapping) and block.get("key") == key and isinstance(block.get("value"), str):
                return str(block["value"])
        return None

    def changed_keys(self) -> tuple[str, ...]:
        """Returns the top-level attributes that differ, or that nobody knows before the apply."""
        return tuple(dict.fromkeys(_top(attribute.path) for attribute in self.attributes()))

    def attributes(self) -> tuple[AttributeChange, ...]:
        """Returns every leaf that differs, in order of path."""
        before, after = dict(_leaves(self.before or {})), dict(_leaves(self.after or {}))
        return tuple(
            AttributeChange(path, before.get(path), after.get(path), _is_under(path, self.replace_paths))
            for path in sorted({*before, *after})
            if before.get(path) != after.get(path)
        )

    def telling_attributes(self) -> tuple[AttributeChange, ...]:
        """Returns those of `attributes` that tell a reader something. What only the provider works out is left out."""
        worked_out = {key for key, value in (self.after or {}).items() if value is Marker.UNKNOWN} - self.configured
        return tuple(
            attribute
            for attribute in self.attributes()
            if attribute.forces_replacement or _top(attribute.path) not in worked_out
        )


@dataclass(frozen=True)
class OutputChange:
    """An output of the root module that becomes another."""

    name: str
    action: Action


@dataclass(frozen=True)
class Plan:
    """All that a plan does. Changes are ordered: dangerous first, then by address."""

    changes: tuple[PlanChange, ...]
    """Every resource that the plan mentions, also those that stay as they are."""
    outputs: tuple[OutputChange, ...] = ()
    terraform_version: str = ""
    memory_bytes: Mapping[str, int] = field(default_factory=dict)
    """By instance type the memory that EC2 states, of the types that the plan has asked about."""
    worker_zones: int = 1
    """Over how many availability zones workers spread after the plan."""

    @property
    def changed(self) -> tuple[PlanChange, ...]:
        return tuple(change for change in self.changes if change.is_change)

    @property
    def is_empty(self) -> bool:
        """Whether an apply would change nothing, outputs included."""
        return not self.changed and not any(output.action.is_change for output in self.outputs)

    @property
    def groups(self) -> tuple[PlanChange, ...]:
        """The Auto Scaling groups of workers."""
        return tuple(change for change in self.changes if change.type == GROUP_TYPE and flavor_of(change) is not None)

    @property
    def fleet_before(self) -> Fleet:
        """Desired capacities as they are in the state; flavors without a group are left out."""
        return _capacities((group, group.before) for group in self.groups)

    @property
    def fleet_after(self) -> Fleet:
        """Desired capacities as they will be."""
        return _capacities((group, group.after) for group in self.groups)

    @property
    def instance_types(self) -> frozenset[str]:
        """The instance types that there will be nodes of: every declared flavor, and the head's."""
        flavors = {flavor_of(group) for group in self.groups if group.after is not None}
        return frozenset(kind for kind in (*flavors, self.head_type(after=True)) if kind is not None)

    def head_type(self, after: bool) -> str | None:
        """Returns the head's instance type before or after; None where there is no head."""
        kind = self.head(after).get("instance_type")
        return kind if isinstance(kind, str) else None

    @property
    def has_private_head(self) -> bool:
        """Whether there will be a head without a public address."""
        head = self.head(after=True)
        return bool(head) and head.get("associate_public_ip_address") is not True

    def head(self, after: bool) -> Mapping[str, Any]:
        """Returns the head's attributes before or after; nothing where there is no head."""
        for change in self.changes:
            if change.type == "aws_instance" and change.tag(ROLE_TAG) == "head":
                return (change.after if after else change.before) or {}
        return {}


def parse_plan(document: Any) -> Plan:
    """Returns the typed plan of a parsed `terraform show -json`. Raises PlanError saying what is wrong with it."""
    if not isinstance(document, Mapping) or not isinstance(document.get("format_version"), str):
        raise PlanError("This is not the JSON of a Terraform plan.", "Make it with `terraform show -json PLANFILE`.")
    version = document["format_version"]
    if version.partition(".")[0] != FORMAT_MAJOR:
        raise PlanError(
            f"The plan's format is {version}; formats {FORMAT_MAJOR}.x can be read.",
            "Plan with a Terraform version that versions.tf allows.",
        )
    if document.get("errored"):
        raise PlanError("Terraform could not finish this plan.", "Correct what Terraform names, and plan again.")
    changes = parse_changes(document)
    for change in changes:
        if change.action is Action.UNKNOWN:
            step = "Plan with a version of Terraform that fits versions.tf."
            raise PlanError(f"The plan does something to {change.address} that is not known here.", step)
    outputs = [
        OutputChange(name, _action(raw.get("actions")))
        for name, raw in sorted((document.get("output_changes") or {}).items())
    ]
    return Plan(
        changes=tuple(sorted(changes, key=lambda change: (_ORDER.index(change.action), change.address))),
        outputs=tuple(outputs),
        terraform_version=str(document.get("terraform_version", "")),
        memory_bytes=dict(_memory(_at(_at(document.get("prior_state"), "values"), "root_module"))),
        worker_zones=_worker_zones(document),
    )


def parse_changes(document: Mapping[str, Any]) -> tuple[PlanChange, ...]:
    """Returns what a plan's JSON says of each managed resource, in its order. Data sources are left out."""
    root = (document.get("configuration") or {}).get("root_module") or {}
    resources = document.get("resource_changes") or ()
    return tuple(_change(raw, root) for raw in resources if raw.get("mode", "managed") == "managed")


def _worker_zones(document: Mapping[str, Any]) -> int:
    """Returns over how many zones workers spread, as the output `network` says; 1 where it does not say."""
    zones = _at(_at(_at(document.get("output_changes"), "network"), "after"), "worker_zones")
    return max(1, len(zones)) if isinstance(zones, list) else 1


def _memory(module: Any) -> Iterator[tuple[str, int]]:
    """Yields the instance types that a module and those inside it have asked EC2 about, with their memory in bytes."""
    for resource in _at(module, "resources") or ():
        if resource.get("type") == INSTANCE_TYPE and resource.get("mode") == "data":
            name, mebibytes = _at(resource.get("values"), "instance_type"), _at(resource.get("values"), "memory_size")
            if isinstance(name, str) and isinstance(mebibytes, (int, float)):
                yield name, int(mebibytes) * 1024**2
    for inner in _at(module, "child_modules") or ():
        yield from _memory(inner)


def flavor_of(change: PlanChange) -> str | None:
    """Returns the flavor of a group of workers: its tag, or else its key in Terraform's `for_each`."""
    return change.tag(FLAVOR_TAG) or change.index


def _change(raw: Mapping[str, Any], root: Mapping[str, Any]) -> PlanChange:
    change = raw["change"]
    action = _action(change.get("actions"))
    raw_before, raw_after = change.get("before"), change.get("after")
    sensitive = _Either(change.get("before_sensitive"), change.get("after_sensitive"))
    before = _masked(raw_before, sensitive, None, raw_before)
    after = _masked(raw_after, sensitive, change.get("after_unknown"), raw_before)
    return PlanChange(
        address=raw["address"],
        type=raw["type"],
        action=action,
        before=before if isinstance(before, Mapping) else None,
        after=after if isinstance(after, Mapping) and action is not Action.DESTROY else None,
        index=_index(raw),
        reason=raw.get("action_reason"),
        replace_paths=tuple(_path(steps) for steps in change.get("replace_paths") or ()),
        previous_address=raw.get("previous_address"),
        is_import=bool(change.get("importing")),
        configured=_configured(raw, root),
    )


def _action(actions: Any) -> Action:
    return _ACTIONS.get(tuple(actions or ()), Action.UNKNOWN)


def _index(raw: Mapping[str, Any]) -> str | None:
    """Returns the resource's own key, or the innermost key in its module's address: `module.flavor["c5.large"]`."""
    if isinstance(raw.get("index"), str):
        return str(raw["index"])
    _, opening, rest = str(raw.get("module_address", "")).rpartition('["')
    return rest.partition('"]')[0] if opening else None


def _configured(raw: Mapping[str, Any], root: Mapping[str, Any]) -> frozenset[str]:
    """Returns the attributes that the code sets of a resource, looked up along its module's path."""
    module = root
    keyless = re.sub(r"\[[^\]]*\]", "", str(raw.get("module_address", "")))
    for name in keyless.split(".")[1::2]:
        module = module.get("module_calls", {}).get(name, {}).get("module", {})
    for resource in module.get("resources", ()):
        if resource.get("type") == raw.get("type") and resource.get("name") == raw.get("name"):
            return frozenset(resource.get("expressions", ()))
    return frozenset()


@dataclass(frozen=True)
class _Either:
    """Two marks of the same shape, of before and after: what either calls sensitive is sensitive on both sides, as in
    Terraform's own output, or a mark that is taken off would give the old secret away."""

    first: Any
    second: Any

    @property
    def is_marked(self) -> bool:
        return self.first is True or self.second is True

    def at(self, key: Any) -> _Either:
        return _Either(_at(self.first, key), _at(self.second, key))


def _masked(value: Any, sensitive: _Either, unknown: Any, before: Any) -> Any:
    """Returns the value with markers where it is sensitive or unknown. A sensitive one tells whether it has changed."""
    if sensitive.is_marked:
        return Marker.SENSITIVE if value == before and unknown is not True else Marker.SENSITIVE_CHANGED
    if unknown is True:
        return Marker.UNKNOWN
    if isinstance(value, Mapping) or isinstance(unknown, Mapping):
        keys = dict.fromkeys([*(value or ()), *(unknown or ())])
        masked = {key: _masked(_at(value, key), sensitive.at(key), _at(unknown, key), _at(before, key)) for key in keys}
        return {key: part for key, part in masked.items() if key in (value or ()) or _says_something(part)}
    if isinstance(value, list) or isinstance(unknown, list):
        length = max(len(value or ()), len(unknown or ()))
        parts = [_masked(_at(value, i), sensitive.at(i), _at(unknown, i), _at(before, i)) for i in range(length)]
        return [part for i, part in enumerate(parts) if i < len(value or ()) or _says_something(part)]
    return value


def _says_something(part: Any) -> bool:
    """Returns whether a part that is only in the unknowns holds an unknown: `after_unknown` also has false and {}."""
    if isinstance(part, Mapping):
        return any(_says_something(inner) for inner in part.values())
    return any(_says_something(inner) for inner in part) if isinstance(part, list) else isinstance(part, Marker)


def _at(container: Any, key: Any) -> Any:
    """Returns the part of a value that may be a mapping, a list or neither."""
    if isinstance(container, Mapping):
        return container.get(key)
    if isinstance(container, list) and isinstance(key, int) and key < len(container):
        return container[key]
    return None


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Returns all leaves of a value with their paths.

    Nulls, empty texts and containers are no leaves: providers built on the older SDK mix them up (a group's
    `capacity_reservation_preference` turns from null to ""), and Terraform shows no such change.
    """
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _leaves(part, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for number, part in enumerate(value):
            yield from _leaves(part, f"{path}[{number}]")
    elif value is not None and value != "":
        yield path, value


def _path(steps: list[Any]) -> str:
    """Returns Terraform's path of keys and numbers as a person writes it: `tag[0].value`."""
    text = ""
    for step in steps:
        text += f"[{step}]" if isinstance(step, int) else f".{step}" if text else str(step)
    return text


def _top(path: str) -> str:
    """Returns the attribute that a path begins with."""
    return re.split(r"[.\[]", path)[0]


def _is_under(path: str, parents: tuple[str, ...]) -> bool:
    return any(path == parent or path.startswith((f"{parent}.", f"{parent}[")) for parent in parents)


def _capacities(groups: Iterator[tuple[PlanChange, Mapping[str, Any] | None]]) -> Fleet:
    counts: dict[str, int] = {}
    for group, side in groups:
        flavor, capacity = flavor_of(group), (side or {}).get("desired_capacity")
        if flavor is not None and isinstance(capacity, (int, float)):
            counts[flavor] = counts.get(flavor, 0) + int(capacity)
    return Fleet(counts)
