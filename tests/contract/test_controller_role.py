"""The IAM policy of a controller on the head: what one does there is allowed, and nothing of anybody else's is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from localcloud.api.iam.question import ANY
from tests.support.iam_policy import allows, policy_of_the_head

BUCKET = "arn:aws:s3:::centavo-1"
POLICY = policy_of_the_head("centavo", BUCKET)
CALLS = Path(__file__).parents[2] / "tests" / "golden" / "aws" / "calls_of_head.txt"
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
    assert len(called) > 60
    lacking = [action for action in called if action not in OF_ALL_NODES and not allows(POLICY, action, ANY, OURS)]
    assert lacking == []


def test_it_fits_into_a_role_beside_the_policies_of_every_head() -> None:
    """All inline policies of a role have 10,240 characters at most, white space left out (IAM quotas)."""
    assert len(json.dumps(POLICY, separators=(",", ":"))) < 6_000


@pytest.mark.parametrize(
    ("action", "resource"),
    [
        ("autoscaling:UpdateAutoScalingGroup", GROUP),
        ("autoscaling:SetInstanceProtection", GROUP),
        ("autoscaling:TerminateInstanceInAutoScalingGroup", GROUP),
        ("ec2:RebootInstances", NODE),
        ("ec2:CreateTags", NODE),
        ("ec2:CreateTags", "arn:aws:ec2:us-east-1:1:volume/vol-1"),
        ("autoscaling:CreateOrUpdateTags", GROUP),
        ("cloudwatch:PutMetricData", "*"),
        ("iam:GetRolePolicy", "arn:aws:iam::1:role/centavo-head"),
        ("kms:GetKeyPolicy", "arn:aws:kms:us-east-1:1:key/k"),
        ("lambda:GetFunction", "arn:aws:lambda:us-east-1:1:function:centavo-reaper"),
        ("lambda:ListTags", "arn:aws:lambda:us-east-1:1:function:centavo-reaper"),
        ("sns:GetSubscriptionAttributes", "*"),
        ("s3:GetBucketPolicy", BUCKET),
        ("s3:ListAllMyBuckets", "*"),
        ("s3:GetBucketTagging", "arn:aws:s3:::centavo-of-another-cluster"),
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
        ("ec2:CreateTags", NODE, THEIRS),
        ("ec2:CreateTags", "arn:aws:ec2:us-east-1:1:vpc/vpc-1", OURS),
        ("autoscaling:CreateOrUpdateTags", GROUP, THEIRS),
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
