"""Auto Scaling groups: calls only note what is wanted, and `Scaling` sees to it."""

from __future__ import annotations

from moto.autoscaling.models import AutoScalingBackend, FakeAutoScalingGroup
from moto.autoscaling.responses import AutoScalingResponse
from moto.core.responses import ActionResult, EmptyResult

from localcloud.api.autoscaling.activities import Activities
from localcloud.api.autoscaling.members import check_protectable
from localcloud.api.autoscaling.requests import GroupRequests, update_rest
from localcloud.api.patches.replace import replace


def patch_groups(requests: GroupRequests, activities: Activities) -> None:
    """Lets `requests` carry out what calls of the API do to groups."""
    _patch_models(requests)
    _patch_actions(requests)
    _patch_update()
    _patch_activities(activities)


def _patch_models(requests: GroupRequests) -> None:
    protect = AutoScalingBackend.set_instance_protection

    def set_desired_capacity(group: FakeAutoScalingGroup, capacity: int | None) -> None:
        requests.set_desired_capacity(group, capacity)

    def set_instance_protection(
        backend: AutoScalingBackend, group_name: str, ids: list[str], protected: bool | None
    ) -> None:
        group = backend.autoscaling_groups[group_name]
        check_protectable(group, ids)
        protect(backend, group_name, ids, protected)
        requests.try_at_once(group)

    replace(FakeAutoScalingGroup, "set_desired_capacity", set_desired_capacity)
    replace(AutoScalingBackend, "set_instance_protection", set_instance_protection)
    replace(AutoScalingBackend, "notify_terminate_instances", lambda backend, instance_ids: None)


def _patch_actions(requests: GroupRequests) -> None:
    def terminate_instance_in_auto_scaling_group(response: AutoScalingResponse) -> ActionResult:
        decrement = response._get_bool_param("ShouldDecrementDesiredCapacity", False)
        activity = requests.terminate_member(response._get_param("InstanceId"), bool(decrement))
        return ActionResult({"Activity": activity.to_api()})

    def delete_auto_scaling_group(response: AutoScalingResponse) -> ActionResult:
        force = bool(response._get_bool_param("ForceDelete", False))
        requests.delete_group(response._get_param("AutoScalingGroupName"), force)
        return EmptyResult()

    for action in (terminate_instance_in_auto_scaling_group, delete_auto_scaling_group):
        replace(AutoScalingResponse, action.__name__, action)


def _patch_update() -> None:
    update = AutoScalingResponse.update_auto_scaling_group

    def update_auto_scaling_group(response: AutoScalingResponse) -> ActionResult:
        result = update(response)
        group = response.autoscaling_backend.autoscaling_groups[response._get_param("AutoScalingGroupName")]
        update_rest(group, response._get_params())
        return result

    replace(AutoScalingResponse, "update_auto_scaling_group", update_auto_scaling_group)


def _patch_activities(activities: Activities) -> None:
    def describe_scaling_activities(response: AutoScalingResponse) -> ActionResult:
        ids = response._get_param("ActivityIds", [])
        found = activities.of(response._get_param("AutoScalingGroupName"))
        limit = response._get_int_param("MaxRecords", 100)
        start = int(response._get_param("NextToken") or 0)
        matching = [activity.to_api() for activity in found if not ids or activity.activity_id in ids]
        more = str(start + limit) if start + limit < len(matching) else None
        return ActionResult({"Activities": matching[start : start + limit], "NextToken": more})

    replace(AutoScalingResponse, "describe_scaling_activities", describe_scaling_activities)
