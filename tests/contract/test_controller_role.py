"""The IAM policy of a controller on the head: what one does there is allowed, and nothing of anybody else's is."""

from __future__ import annotations

import json
from pathlib import Path
from string import Template
from typing import Any

import pytest

from tests.support.iam_policy import ANY, allows

ROOT = Path(__file__).parents[2]
TEMPLATE = ROOT / "terraform" / "modules" / "access" / "controller.json.tftpl"
BUCKET = "arn:aws:s3:::centavo-1"
POLICY: dict[str, Any] = json.loads(Template(TEMPLATE.read_text()).substitute(cluster="centavo", bucket_arn=BUCKET))
CALLS = ROOT / "tests" / "golden" / "aws" / "calls_of_head.txt"
"""What the role of the head calls in `make rehearse OPTIONS=--detached`, one action a line."""
OURS = {"aws:ResourceTag/centavo:cluster": "centavo", "cloudwatch:namespace": "Centavo"}
THEIRS = {"aws:ResourceTag/centavo:cluster": "payroll", "cloudwatch:namespace": "Payroll"}
OF_ALL_NODES = {
    "logs:CreateLogStream",
    "logs:PutLogEvents",
    "s3:AbortMultipartUpload",
    "s3:CreateMultipartUpload",
    "s3:DeleteObject",
    "s3:GetObject",
    "s3:ListBucket",
    "s3:ListMultipartUploadParts",
    "s3:PutObject",
    "sts:GetCallerIdentity",
}
"""What other policies of modules/access allow. GetCallerIdentity needs no permission."""
GROUP = "arn:aws:autoscaling:us-east-1:1:autoScalingGroup:u:autoScalingGroupName/g"
NODE = "arn:aws:ec2:us-east-1:1:instance/i-1"


def test_every_action_that_the_head_calls_is_allowed() -> None:
    called = CALLS.read_text().split()
    assert len(called) > 40
    lacking = [action for action in called if action not in OF_ALL_NODES and not allows(POLICY, action, ANY, OURS)]
    assert lacking == []


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("autoscaling:UpdateAutoScalingGroup", GROUP),
        ("autoscaling:SetInstanceProtection", GROUP),
        ("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP),
        ("ec2:RebootInstances", NODE),
        ("cloudwatch:PutMetricData", "*"),
        ("iam:GetRolePolicy", "arn:aws:iam::1:role/centavo-head"),
        ("kms:GetKeyPolicy", "arn:aws:kms:us-east-1:1:key/k"),
        ("lambda:GetFunction", "arn:aws:lambda:us-east-1:1:function:centavo-reaper"),
        ("s3:GetBucketPolicy", BUCKET),
        ("logs:ListTagsForResource", "arn:aws:logs:us-east-1:1:log-group:/centavo/centavo"),
    ],
)
def test_it_may_do_so_with_this_cluster(action: str, resource: str) -> None:
    assert allows(POLICY, action, resource, OURS)


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        ("autoscaling:UpdateAutoScalingGroup", GROUP, THEIRS),
        ("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP, THEIRS),
        ("ec2:RebootInstances", NODE, THEIRS),
        ("cloudwatch:PutMetricData", "*", THEIRS),
        ("iam:GetRole", "arn:aws:iam::1:role/payroll", OURS),
        ("kms:GetKeyPolicy", "arn:aws:kms:us-east-1:1:key/k", THEIRS),
        ("lambda:GetFunction", "arn:aws:lambda:us-east-1:1:function:payroll", OURS),
        ("s3:GetBucketPolicy", "arn:aws:s3:::payroll", OURS),
        ("ec2:RunInstances", "*", OURS),
        ("ec2:TerminateInstances", NODE, OURS),
        ("ec2:CreateLaunchTemplateVersion", "*", OURS),
        ("autoscaling:CreateAutoScalingGroup", GROUP, OURS),
        ("autoscaling:DeleteAutoScalingGroup", GROUP, OURS),
        ("iam:PassRole", "arn:aws:iam::1:role/centavo-head", OURS),
        ("iam:PutRolePolicy", "arn:aws:iam::1:role/centavo-head", OURS),
        ("lambda:UpdateFunctionCode", "arn:aws:lambda:us-east-1:1:function:centavo-reaper", OURS),
        ("s3:DeleteObjectVersion", f"{BUCKET}/run/checkpoint", OURS),
        ("s3:PutBucketPolicy", BUCKET, OURS),
        ("s3:GetObject", "arn:aws:s3:::payroll/secret", OURS),
        ("ssm:StartSession", NODE, OURS),
    ],
)
def test_it_may_do_nothing_else(action: str, resource: str, context: dict[str, str]) -> None:
    assert not allows(POLICY, action, resource, context)
