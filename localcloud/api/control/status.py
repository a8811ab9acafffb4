"""The status of a cloud, as the control API shows it."""

from __future__ import annotations

from typing import Any

from moto.autoscaling.models import AutoScalingBackend

from localcloud.api.ec2.instances import Instances
from localcloud.api.ec2.tracked_instance import TrackedInstance
from localcloud.settings import Settings


def status_of(settings: Settings, instances: Instances, groups: AutoScalingBackend) -> dict[str, Any]:
    """Returns instances, groups, limits and the entries of the configuration that clients need."""
    faults = instances.faults
    return {
        "endpoint": settings.endpoint,
        "region": settings.region,
        "vpc_cidr": str(settings.host_range if settings.hosts == "machine" else settings.vpc_cidr),
        "hosts": settings.hosts,
        "capacity": faults.capacity,
        "vcpu_quotas": faults.vcpu_quotas,
        "fail_boot": faults.boot_failures,
        "instances": [_instance(tracked, settings) for tracked in instances],
        "groups": [
            {"name": group.name, "desired": group.desired_capacity, "instances": len(group.instance_states)}
            for group in groups.autoscaling_groups.values()
        ],
    }


def _instance(tracked: TrackedInstance, settings: Settings) -> dict[str, Any]:
    report = tracked.report
    tags = {tag["key"]: tag["value"] for tag in tracked.instance.get_tags()}
    return {
        "instance_id": tracked.id,
        "ip": tracked.instance.private_ip,
        "flavor": tracked.flavor,
        "speed": settings.speed_of(tracked.flavor),
        "market": "spot" if tracked.is_spot else "on-demand",
        "state": tracked.state,
        "host": report.state if report else None,
        "detail": report.detail if report else "",
        "user_data": report.user_data if report else None,
        "group": tags.get("aws:autoscaling:groupName"),
        "interrupted_at": tracked.notice.time if tracked.notice else None,
        "tags": tags,
    }
