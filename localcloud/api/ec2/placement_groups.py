"""Placement groups, which moto lacks."""

from __future__ import annotations

import secrets
from dataclasses import dataclass, field
from typing import Any

from moto.ec2.exceptions import EC2ClientError
from moto.ec2.models import EC2Backend
from moto.ec2.models.core import TaggedEC2Resource
from moto.ec2.utils import generic_filter

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.states import TERMINATED

PREFIX = "pg"
STRATEGIES = ("cluster", "spread", "partition")


@dataclass
class PlacementGroup(TaggedEC2Resource):
    """A placement group. Its tags are kept where moto keeps all tags."""

    ec2_backend: EC2Backend
    name: str
    strategy: str
    partition_count: int | None
    spread_level: str | None
    id: str = field(default_factory=lambda: f"{PREFIX}-{secrets.token_hex(9)[:17]}")

    def get_filter_value(self, filter_name: str, method_name: str | None = None) -> Any:
        """Returns the value that a filter of DescribePlacementGroups compares with."""
        own = {
            "group-name": self.name,
            "strategy": self.strategy,
            "state": "available",
            "spread-level": self.spread_level,
        }
        if filter_name in own:
            return own[filter_name]
        return super().get_filter_value(filter_name, "DescribePlacementGroups")

    def to_api(self) -> dict[str, Any]:
        """Returns the placement group as the API shows it."""
        region, account = self.ec2_backend.region_name, self.ec2_backend.account_id
        return {
            "GroupName": self.name,
            "GroupId": self.id,
            "GroupArn": f"arn:aws:ec2:{region}:{account}:placement-group/{self.name}",
            "State": "available",
            "Strategy": self.strategy,
            "PartitionCount": self.partition_count,
            "SpreadLevel": self.spread_level,
            "Tags": [{"Key": tag["key"], "Value": tag["value"]} for tag in self.get_tags()],
        }


class PlacementGroups:
    """The placement groups of one region."""

    def __init__(self, ec2: EC2Backend, instances: Instances) -> None:
        self.ec2 = ec2
        self.instances = instances
        self._groups: dict[str, PlacementGroup] = {}

    def create(
        self, name: str, strategy: str | None, partitions: int | None, spread_level: str | None, tags: dict[str, str]
    ) -> dict[str, Any]:
        """Answers CreatePlacementGroup.

        Raises:
            EC2ClientError: the name is missing or taken, or the strategy is unknown.
        """
        if not name:
            raise EC2ClientError("MissingParameter", "The request must contain the parameter GroupName")
        strategy = strategy or "cluster"
        if strategy not in STRATEGIES:
            raise EC2ClientError("InvalidParameterValue", f"strategy {strategy} is not one of {', '.join(STRATEGIES)}")
        if name in self._groups:
            raise EC2ClientError("InvalidPlacementGroup.Duplicate", f"The placement group '{name}' already exists.")
        if strategy == "partition":
            partitions = partitions or 2
        if strategy == "spread":
            spread_level = spread_level or "rack"
        group = PlacementGroup(self.ec2, name, strategy, partitions, spread_level)
        self._groups[name] = group
        group.add_tags(tags)
        return group.to_api()

    def describe(self, names: list[str], ids: list[str], filters: dict[str, Any]) -> list[dict[str, Any]]:
        """Answers DescribePlacementGroups.

        Raises:
            EC2ClientError: a name or an id is unknown.
        """
        unknown = [name for name in names if name not in self._groups]
        known_ids = {group.id for group in self._groups.values()}
        unknown += [group_id for group_id in ids if group_id not in known_ids]
        if unknown:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{unknown[0]}' is unknown.")
        groups = [
            group
            for group in self._groups.values()
            if (not names or group.name in names) and (not ids or group.id in ids)
        ]
        return [group.to_api() for group in generic_filter(filters, groups)]

    def delete(self, name: str) -> None:
        """Answers DeletePlacementGroup.

        Raises:
            EC2ClientError: the name is unknown, or instances are in the group.
        """
        if name not in self._groups:
            raise EC2ClientError("InvalidPlacementGroup.Unknown", f"The Placement Group '{name}' is unknown.")
        members = [one for one in self.instances if one.instance._placement.group_name == name]
        if any(one.state != TERMINATED for one in members):
            raise EC2ClientError("InvalidPlacementGroup.InUse", f"The placement group '{name}' is in use.")
        group = self._groups.pop(name)
        self.ec2.tags.pop(group.id, None)
