"""What a request is about: ARNs, with the values that policies' conditions look at.

The resources of EC2's and Auto Scaling's changing actions come with their tags. What is not known here has the resource
`ANY`: the actions are checked, and resources are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from moto.autoscaling.models import autoscaling_backends
from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.ec2.models import ec2_backends
from moto.kms.models import kms_backends

from localcloud.api.iam.question import ANY, EVERYTHING, Question
from localcloud.api.iam.requested import ApiRequest
from localcloud.api.iam.s3_actions import s3_questions

Target = tuple[str, Mapping[str, str]]
"""An ARN, and the context that belongs to it."""

TAGGED_GROUP = re.compile(r"Tags\.member\.\d+\.ResourceId")
"""The parameters of CreateOrUpdateTags and DeleteTags that name a group."""
UNLIMITED = ("Describe", "List", "Get")
"""How actions begin that EC2 and Auto Scaling cannot limit to a resource."""
WITHOUT_RESOURCES = ("pricing", "servicequotas", "tag", "sts")
ON_EVERYTHING = ("kms:ListAliases", "kms:CreateKey", "iam:ListRoles", "iam:ListUsers")


KINDS = {"i": "instance", "vol": "volume"}
"""By the beginning of an ID, how EC2's ARNs call such a resource. Of others the action alone is checked."""


def questions_of(request: ApiRequest) -> list[Question]:
    """Returns what policies are asked about a request: one question a resource."""
    if request.service == "s3":
        found = s3_questions(request.environ, request.body)
    else:
        found = [Question(request.name, arn, context) for arn, context in _targets(request)]
    return [Question(one.action, one.resource, {"aws:RequestedRegion": request.region, **one.context}) for one in found]


def _targets(request: ApiRequest) -> list[Target]:
    if request.service in WITHOUT_RESOURCES or request.name in ON_EVERYTHING:
        return [(EVERYTHING, {})]
    find = FINDERS.get(request.service)
    return (find(request) if find else []) or [(ANY, {})]


def _of_ec2(request: ApiRequest) -> list[Target]:
    if request.action.startswith(UNLIMITED):
        return [(EVERYTHING, {})]
    backend = ec2_backends[DEFAULT_ACCOUNT_ID][request.region]
    found: list[Target] = []
    for resource_id in [*request.numbered("InstanceId"), *request.numbered("ResourceId")]:
        kind = KINDS.get(resource_id.partition("-")[0])
        if kind:
            tags = backend.tags.get(resource_id, {})
            found.append((_arn(request, f"{kind}/{resource_id}"), _tagged(tags, "ec2")))
    return found


def _of_autoscaling(request: ApiRequest) -> list[Target]:
    if request.action.startswith(UNLIMITED):
        return [(EVERYTHING, {})]
    groups = autoscaling_backends[DEFAULT_ACCOUNT_ID][request.region].autoscaling_groups
    name, instance_id = request.text("AutoScalingGroupName"), request.text("InstanceId")
    tagged = [str(value) for key, value in request.parameters.items() if TAGGED_GROUP.fullmatch(key)]
    if tagged:
        return [_of_group(request, groups.get(one), one) for one in dict.fromkeys(tagged)]
    for group in list(groups.values()):
        members = {state.instance.id for state in list(group.instance_states)}
        if group.name == name or (not name and instance_id in members):
            return [_of_group(request, group, name)]
    return [_of_group(request, None, name)] if name else []


def _of_group(request: ApiRequest, group: Any, name: str) -> Target:
    """Returns a group with its tags; one that does not exist has none."""
    if group is None:
        return _arn(request, f"autoScalingGroup:*:autoScalingGroupName/{name}"), {}
    return group.arn, _tagged({tag["Key"]: tag["Value"] for tag in group.tags}, "autoscaling")


def _of_logs(request: ApiRequest) -> list[Target]:
    """Returns the ARN with which CloudWatch's errors name a log group or a stream."""
    group = request.text("logGroupName") or request.text("logGroupIdentifier").rpartition("log-group:")[2]
    if not group and not request.action.startswith("DescribeLogGroups"):
        return []
    return [(_arn(request, f"log-group:{group}:log-stream:{request.text('logStreamName')}"), {})]


def _of_iam(request: ApiRequest) -> list[Target]:
    kinds = {"InstanceProfileName": "instance-profile", "RoleName": "role", "UserName": "user", "GroupName": "group"}
    for parameter, kind in kinds.items():
        if request.text(parameter):
            return [(f"arn:aws:iam::{DEFAULT_ACCOUNT_ID}:{kind}/{request.text(parameter)}", {})]
    return [(request.text("PolicyArn"), {})] if request.text("PolicyArn") else []


def _of_kms(request: ApiRequest) -> list[Target]:
    """Returns the key, with its tags and its aliases. A key without an alias has no value of that condition."""
    key_id = request.text("KeyId", "TargetKeyId")
    if not key_id:
        return []
    key_id = key_id.rpartition("/")[2]
    return [(_arn(request, f"key/{key_id}"), context_of_key(key_id, request.region))]


def context_of_key(key_id: str, region: str) -> dict[str, str]:
    """Returns what conditions look at on a KMS key."""
    backend = kms_backends[DEFAULT_ACCOUNT_ID][region]
    aliases = sorted(backend.key_to_aliases.get(key_id, ()))
    tags = backend.tagger.get_tag_dict_for_resource(key_id)
    return {**_tagged(tags, "kms"), **({"kms:ResourceAliases": aliases[0]} if aliases else {})}


def _of_cloudwatch(request: ApiRequest) -> list[Target]:
    if request.action == "PutMetricData":
        return [(EVERYTHING, {"cloudwatch:namespace": request.text("Namespace")})]
    names = request.numbered("AlarmNames") or ([request.text("AlarmName")] if request.text("AlarmName") else [])
    return [(_arn(request, f"alarm:{name}"), {}) for name in names]


def _of_sns(request: ApiRequest) -> list[Target]:
    topic = request.text("TopicArn") or (_arn(request, request.text("Name")) if request.text("Name") else "")
    return [(topic, {})] if topic else []


def _of_events(request: ApiRequest) -> list[Target]:
    rule = request.text("Rule", "Name")
    return [(_arn(request, f"rule/{rule}"), {})] if rule else []


def _of_lambda(request: ApiRequest) -> list[Target]:
    name = request.text("FunctionName").rpartition("function:")[2]
    return [(_arn(request, f"function:{name}"), {})] if name else []


def _arn(request: ApiRequest, rest: str) -> str:
    return f"arn:aws:{request.service}:{request.region}:{DEFAULT_ACCOUNT_ID}:{rest}"


def _tagged(tags: Mapping[str, Any], service: str) -> dict[str, str]:
    """Returns the keys of conditions for a resource's tags, with AWS's general prefix and with the service's own."""
    prefixes: Iterable[str] = ("aws", service)
    return {f"{prefix}:ResourceTag/{name}": str(value) for prefix in prefixes for name, value in tags.items()}


FINDERS: Mapping[str, Callable[[ApiRequest], list[Target]]] = {
    "ec2": _of_ec2,
    "autoscaling": _of_autoscaling,
    "logs": _of_logs,
    "iam": _of_iam,
    "kms": _of_kms,
    "cloudwatch": _of_cloudwatch,
    "sns": _of_sns,
    "events": _of_events,
    "lambda": _of_lambda,
}
