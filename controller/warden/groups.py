"""The cluster's Auto Scaling groups, and giving back what they run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .clients import AWS_ERRORS, CLUSTER_TAG, client

IN_SERVICE = "InService"
BATCH = 50
"""As many instances as one SetInstanceProtection call takes (EC2 Auto Scaling API reference)."""


@dataclass(frozen=True)
class Group:
    """An Auto Scaling group.

    Attributes:
        name: Its name.
        cluster: The cluster that it belongs to.
        desired: Its desired capacity.
        instances: The ids of its instances.
        protected: Those that a scale-in may not end.
        in_service: Those that run and are healthy.
    """

    name: str
    cluster: str
    desired: int
    instances: tuple[str, ...]
    protected: tuple[str, ...]
    in_service: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether it runs nothing and asks for nothing."""
        return self.desired == 0 and not self.instances


class Groups:
    """The Auto Scaling groups of a region."""

    def __init__(self, region: str, tell: Callable[[str], None], autoscaling: Any = None) -> None:
        self._groups = client("autoscaling", region) if autoscaling is None else autoscaling
        self._tell = tell

    def all(self, cluster: str | None = None) -> list[Group]:
        """Returns the groups of a cluster, or of all clusters. Raises one of AWS_ERRORS."""
        found = {"Name": "tag-key", "Values": [CLUSTER_TAG]}
        wanted = found if cluster is None else {"Name": f"tag:{CLUSTER_TAG}", "Values": [cluster]}
        pages = self._groups.get_paginator("describe_auto_scaling_groups").paginate(Filters=[wanted])
        return [_group(raw) for page in pages for raw in page["AutoScalingGroups"]]

    def give_back(self, group: Group) -> bool:
        """Lets a group end all its instances. Returns whether AWS took it; what failed is told.

        The capacity is lowered first. An instance that just starts is protected, and its protection cannot be lifted
        yet: the next call does it.
        """
        done = True
        if group.desired:
            done = self._call(
                f"set the capacity of {group.name} from {group.desired} to 0",
                self._groups.set_desired_capacity,
                AutoScalingGroupName=group.name,
                DesiredCapacity=0,
            )
        for start in range(0, len(group.protected), BATCH):
            batch = group.protected[start : start + BATCH]
            done = self._unprotect(group.name, batch) and done
        return done

    def end_worker(self, instance_id: str) -> bool:
        """Ends one instance and lowers its group's capacity with it. Returns whether AWS took it."""
        return self._call(
            f"end {instance_id} and lower its group's capacity",
            self._groups.terminate_instance_in_auto_scaling_group,
            InstanceId=instance_id,
            ShouldDecrementDesiredCapacity=True,
        )

    def _unprotect(self, group: str, instances: tuple[str, ...]) -> bool:
        if self._call(f"lift the protection of {', '.join(instances)}", self._lift, group=group, ids=list(instances)):
            return True
        # One instance that is about to start or to end makes the whole call fail.
        lifted = [self._unprotect(group, (one,)) for one in instances] if len(instances) > 1 else [False]
        return all(lifted)

    def _lift(self, group: str, ids: list[str]) -> None:
        self._groups.set_instance_protection(AutoScalingGroupName=group, InstanceIds=ids, ProtectedFromScaleIn=False)

    def _call(self, what: str, call: Callable[..., object], **arguments: object) -> bool:
        try:
            call(**arguments)
        except AWS_ERRORS as error:
            self._tell(f"AWS did not {what}: {error}")
            return False
        self._tell(f"AWS was told to {what}")
        return True


def _group(raw: dict[str, Any]) -> Group:
    tags = {tag["Key"]: tag["Value"] for tag in raw.get("Tags", [])}
    members = raw.get("Instances", [])
    return Group(
        name=raw["AutoScalingGroupName"],
        cluster=str(tags.get(CLUSTER_TAG, "")),
        desired=int(raw["DesiredCapacity"]),
        instances=tuple(one["InstanceId"] for one in members),
        protected=tuple(one["InstanceId"] for one in members if one.get("ProtectedFromScaleIn")),
        in_service=tuple(one["InstanceId"] for one in members if one.get("LifecycleState") == IN_SERVICE),
    )
