"""What the head's role has to be allowed before a controller runs there, and what for."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from controller.domain.errors import ConfigError
from controller.edges.account.roles import Need, refused_to, role_of
from controller.edges.terraform import Outputs

POLICY = "terraform/modules/access/controller.json.tftpl"
ANY_ID = "00000000-0000-0000-0000-000000000000"
"""Of a group. No policy here asks for it."""
Refused = Callable[[str, str, Iterable[Need]], list[Need] | None]


def require_permissions(
    made: Outputs, role_of: Callable[[str, str], str | None] = role_of, refused: Refused = refused_to
) -> None:
    """Asks IAM whether the head's role suffices. Where IAM does not tell, the head's first try does.

    Args:
        made: What Terraform has made.
        role_of: Returns the ARN of an instance's role in a region.
        refused: Returns what a role in a region needs and may not do.

    Raises:
        ConfigError: The role lacks a permission.
    """
    role = role_of(made.region, made.head.instance_id)
    lacking = None if role is None else refused(made.region, role, needs_of(made, role))
    if lacking:
        raise ConfigError(
            f"The head's role {role} may not do what a controller on the head does: {', '.join(map(str, lacking))}.",
            f"Set `controller_on_head` in main.tf and apply that, or give the role the policy {POLICY}. "
            "`centavo optimize` goes on here.",
        )


def needs_of(made: Outputs, role: str) -> list[Need]:
    """Returns what a controller on the head does that not every node may do."""
    _, partition, _, _, account, *_ = role.split(":")
    prefix, ours = f"{made.region}:{account}", {"aws:ResourceTag/centavo:cluster": made.cluster}
    bucket = f"arn:{partition}:s3:::{made.bucket}"
    head = f"arn:{partition}:ec2:{prefix}:instance/{made.head.instance_id}"
    found = [
        Need("ec2:DescribeInstances", "*", "to see the workers"),
        Need("autoscaling:DescribeScalingActivities", "*", "to see why a worker could not be had"),
        Need("ec2:DescribeLaunchTemplates", "*", "to plan with Terraform"),
        Need("s3:ListAllMyBuckets", "*", "to find the cluster's bucket"),
        Need("s3:PutObject", f"{bucket}/control/lease.json", "to keep the cluster's lease"),
        Need("s3:GetBucketPolicy", bucket, "to plan with Terraform"),
        Need("ec2:RebootInstances", head, "to reboot a node that hangs", ours),
        Need("cloudwatch:PutMetricData", "*", "to send metrics", {"cloudwatch:namespace": "Centavo"}),
    ]
    if made.reaper:
        reaper = f"arn:{partition}:lambda:{prefix}:function:{made.reaper}"
        found.append(Need("lambda:ListTags", reaper, "to plan with Terraform"))
    for name in sorted(flavor.autoscaling_group for flavor in made.flavors.values())[:1]:
        group = f"arn:{partition}:autoscaling:{prefix}:autoScalingGroup:{ANY_ID}:autoScalingGroupName/{name}"
        found += [
            Need("autoscaling:UpdateAutoScalingGroup", group, "to change the number of workers", ours),
            Need("autoscaling:SetInstanceProtection", group, "to give workers back", ours),
            Need("autoscaling:TerminateInstanceInAutoScalingGroup", group, "to replace a worker", ours),
        ]
    return found
