"""What calls of the API do to groups: they change what is wanted, and `Scaling` sees to it."""

from __future__ import annotations

from typing import Any

from moto.autoscaling.exceptions import ValidationError
from moto.autoscaling.models import FakeAutoScalingGroup, InstanceState
from moto.core.exceptions import ServiceException

from localcloud.api.autoscaling.activities import Activity
from localcloud.api.autoscaling.members import TERMINATING
from localcloud.api.autoscaling.scaling import Scaling


class ResourceInUseError(ServiceException):
    """DeleteAutoScalingGroup was called for a group that still has instances."""

    code = "ResourceInUse"


class GroupRequests:
    """Carries out calls of the API. Every method is called with the API's lock held."""

    def __init__(self, scaling: Scaling) -> None:
        self.scaling = scaling
        self._deleted: set[str] = set()

    def set_desired_capacity(self, group: FakeAutoScalingGroup, capacity: int | None) -> None:
        """Sets a group's desired capacity; None stands for its least size.

        Raises:
            ValidationError: the capacity is outside the group's limits.
        """
        wanted = capacity if capacity is not None else group.min_size
        if wanted is None or not (group.min_size or 0) <= wanted <= (group.max_size or 0):
            raise ValidationError(
                f"Desired capacity:{wanted} must be between the specified min size:{group.min_size} "
                f"and max size:{group.max_size}"
            )
        if wanted != getattr(group, "desired_capacity", None):
            self.try_at_once(group)
        group.desired_capacity = wanted

    def try_at_once(self, group: FakeAutoScalingGroup) -> None:
        """Lets a group try again at the next tick, whatever failed before."""
        self.scaling.retries.end_pauses_of(group.name)

    def terminate_member(self, instance_id: str, decrement: bool) -> Activity:
        """Carries out TerminateInstanceInAutoScalingGroup.

        Args:
            instance_id: the instance to terminate.
            decrement: whether the desired capacity goes down by one; if not, the instance is replaced.

        Raises:
            ValidationError: no group has the instance, or the group would fall below its least size.
        """
        group, member = self._member(instance_id)
        if decrement:
            desired = group.desired_capacity or 0
            if desired <= (group.min_size or 0):
                raise ValidationError(
                    f"Currently, desiredSize equals minSize ({group.min_size}). "
                    "Terminating instance without replacement will violate group's min size constraint."
                )
            group.desired_capacity = desired - 1
        return self.scaling.terminate(group, member, "was taken out of service in response to a user request")

    def delete_group(self, name: str, force: bool) -> None:
        """Carries out DeleteAutoScalingGroup. The group exists until the last of its instances is terminated.

        Args:
            name: the group.
            force: whether its instances are terminated with it.

        Raises:
            ValidationError: there is no such group.
            ResourceInUseError: the group has instances, and `force` is not set.
        """
        group = self._groups.get(name)
        if group is None:
            raise ValidationError(f"AutoScalingGroup name not found - AutoScalingGroup '{name}' not found")
        self.scaling.follow_instances(group)
        if group.instance_states and not force:
            raise ResourceInUseError(
                "You cannot delete an AutoScalingGroup while there are instances or pending Spot instance request(s) "
                "still in the group."
            )
        group.min_size = group.desired_capacity = 0
        self._deleted.add(name)
        for member in group.instance_states:
            if member.lifecycle_state != TERMINATING:
                self.scaling.terminate(group, member, "was taken out of service as its group is deleted")
        self.remove_deleted()

    def remove_deleted(self) -> None:
        """Removes the groups that were deleted and have no instances left, with their activities."""
        for name in [name for name in self._deleted if not self._groups[name].instance_states]:
            self._deleted.remove(name)
            del self._groups[name]
        self.scaling.activities.forget_all_but(set(self._groups))

    @property
    def _groups(self) -> dict[str, FakeAutoScalingGroup]:
        groups: dict[str, FakeAutoScalingGroup] = self.scaling.backend.autoscaling_groups
        return groups

    def _member(self, instance_id: str) -> tuple[FakeAutoScalingGroup, InstanceState]:
        for group in self._groups.values():
            for member in group.instance_states:
                if member.instance.id == instance_id:
                    return group, member
        raise ValidationError(f"Instance Id not found - No managed instance found for instance ID: {instance_id}")


def update_rest(group: FakeAutoScalingGroup, request: dict[str, Any]) -> None:
    """Takes over the entries of UpdateAutoScalingGroup that moto 5.1 drops."""
    policy = request.get("MixedInstancesPolicy")
    if policy:
        group.mixed_instances_policy = policy
        group._set_launch_configuration("", {}, policy)
    if "PlacementGroup" in request:
        group.placement_group = request["PlacementGroup"] or None
    if request.get("TerminationPolicies"):
        group.termination_policies = request["TerminationPolicies"]
    if request.get("DefaultCooldown") is not None:
        group.default_cooldown = int(request["DefaultCooldown"])
    if request.get("CapacityRebalance") is not None:
        group.capacity_rebalance = request["CapacityRebalance"]
    if request.get("LaunchTemplate"):
        group.mixed_instances_policy = None
    limited = min(max(group.desired_capacity or 0, group.min_size or 0), group.max_size or 0)
    if limited != group.desired_capacity:
        group.set_desired_capacity(limited)
