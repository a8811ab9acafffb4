"""What of all clusters is there in a region, found by the tag of the cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..clients import CLUSTER_TAG, ROLE_TAG, client
from ..clock import moment
from ..groups import Group, Groups

LIVING = ["pending", "running", "stopping", "stopped"]
BUCKET_ARN = "arn:aws:s3:::"


@dataclass(frozen=True)
class Thing:
    """Something of a cluster that costs money.

    Attributes:
        cluster: The cluster.
        kind: "head", "worker", "group", "NAT gateway", "address" or "volume".
        name: Its id or name.
        state: What it does, in a word or two.
        age_s: How old it is; None where AWS does not tell.
    """

    cluster: str
    kind: str
    name: str
    state: str
    age_s: float | None = None

    @property
    def runs(self) -> bool:
        """Whether it is an instance that computes, and that ending saves money."""
        return self.kind in ("head", "worker") and self.state in ("pending", "running")


@dataclass(frozen=True)
class FoundCluster:
    """All that a region has of one cluster."""

    name: str
    region: str
    buckets: tuple[str, ...]
    things: tuple[Thing, ...]
    groups: tuple[Group, ...]


class Region:
    """Finds clusters in one region. Every call raises one of AWS_ERRORS."""

    def __init__(self, region: str, tell: Callable[[str], None], **clients: Any) -> None:
        self.name = region
        self.ec2: Any = clients.get("ec2") or client("ec2", region)
        self.groups = Groups(region, tell, clients.get("autoscaling"))
        self._tagging: Any = clients.get("tagging") or client("resourcegroupstaggingapi", region)

    def clusters(self, only: str | None = None) -> list[FoundCluster]:
        """Returns the clusters of the region that have anything but a bucket, or `only` that one, by name."""
        groups = self.groups.all(only)
        things = self.things(only, groups)
        names = sorted({thing.cluster for thing in things})
        return [
            FoundCluster(
                name,
                self.name,
                self.buckets(name),
                tuple(thing for thing in things if thing.cluster == name),
                tuple(group for group in groups if group.cluster == name),
            )
            for name in names
        ]

    def things(self, only: str | None, groups: Sequence[Group]) -> list[Thing]:
        """Returns what costs money, the groups among it."""
        return [*self._instances(only), *(_group(one) for one in groups), *self._rest(only)]

    def buckets(self, cluster: str) -> tuple[str, ...]:
        """Returns the buckets that carry the cluster's tag."""
        pages = self._tagging.get_paginator("get_resources").paginate(
            ResourceTypeFilters=["s3"], TagFilters=[{"Key": CLUSTER_TAG, "Values": [cluster]}]
        )
        arns = [one["ResourceARN"] for page in pages for one in page["ResourceTagMappingList"]]
        return tuple(sorted(arn.removeprefix(BUCKET_ARN) for arn in arns if arn.startswith(BUCKET_ARN)))

    def _instances(self, only: str | None) -> Iterator[Thing]:
        living = {"Name": "instance-state-name", "Values": LIVING}
        for page in self.ec2.get_paginator("describe_instances").paginate(Filters=[_tagged(only), living]):
            now = moment(page["ResponseMetadata"]["HTTPHeaders"]["date"])
            for raw in (one for reservation in page["Reservations"] for one in reservation["Instances"]):
                tags = _tags(raw)
                role = "head" if tags.get(ROLE_TAG) == "head" else "worker"
                age_s = max(0.0, (now - raw["LaunchTime"]).total_seconds())
                yield Thing(tags[CLUSTER_TAG], role, raw["InstanceId"], raw["State"]["Name"], age_s)

    def _rest(self, only: str | None) -> Iterator[Thing]:
        """Yields what only Terraform can remove, as parts of a network."""
        is_open = {"Name": "state", "Values": ["pending", "available"]}
        for raw in self.ec2.describe_nat_gateways(Filters=[_tagged(only), is_open])["NatGateways"]:
            yield Thing(_tags(raw)[CLUSTER_TAG], "NAT gateway", raw["NatGatewayId"], raw["State"])
        for raw in self.ec2.describe_addresses(Filters=[_tagged(only)])["Addresses"]:
            yield Thing(_tags(raw)[CLUSTER_TAG], "address", raw["PublicIp"], "allocated")
        unused = {"Name": "status", "Values": ["available"]}
        for raw in self.ec2.describe_volumes(Filters=[_tagged(only), unused])["Volumes"]:
            yield Thing(_tags(raw)[CLUSTER_TAG], "volume", raw["VolumeId"], "unused")


def _tagged(only: str | None) -> dict[str, Any]:
    tag_key = {"Name": "tag-key", "Values": [CLUSTER_TAG]}
    return tag_key if only is None else {"Name": f"tag:{CLUSTER_TAG}", "Values": [only]}


def _tags(raw: dict[str, Any]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in raw.get("Tags", [])}


def _group(group: Group) -> Thing:
    return Thing(group.cluster, "group", group.name, f"capacity {group.desired}, {len(group.instances)} running")
