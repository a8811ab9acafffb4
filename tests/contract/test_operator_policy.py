"""The IAM policies of the person at the keyboard, checked against every call that a whole run makes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from localcloud.api.iam.question import ANY
from tests.support.iam_policy import FOLDER, POLICIES, allowed

ROOT = Path(__file__).parents[2]
CALLS = ROOT / "tests" / "golden" / "aws" / "calls.txt"
"""What test_localcloud_terraform.py sees environments/aws call, one action a line."""
HERE = {"aws:RequestedRegion": "us-east-1"}
MOST_CHARACTERS = 6144
"""Of a managed policy, white space left out (IAM quotas)."""


def test_every_action_that_a_run_calls_is_allowed() -> None:
    called = CALLS.read_text().split()
    assert len(called) > 80
    assert [action for action in called if not allowed(action, ANY, HERE)] == []


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        ("iam:PassRole", "arn:aws:iam::1:role/centavo-head", {"iam:PassedToService": "ec2.amazonaws.com"}),
        (
            "iam:PassRole",
            "arn:aws:iam::1:role/centavo-flow-logs",
            {"iam:PassedToService": "vpc-flow-logs.amazonaws.com"},
        ),
        (
            "iam:CreateServiceLinkedRole",
            "arn:aws:iam::1:role/aws-service-role/autoscaling.amazonaws.com/x",
            {"iam:AWSServiceName": "autoscaling.amazonaws.com"},
        ),
        ("ssm:StartSession", "arn:aws:ec2:us-east-1:1:instance/i-1", {"ssm:resourceTag/centavo:role": "head"}),
        ("ssm:StartSession", "arn:aws:ssm:us-east-1::document/AWS-StartSSHSession", {}),
        ("kms:GenerateDataKey", "arn:aws:kms:us-east-1:1:key/k", {"kms:ResourceAliases": "alias/centavo-state"}),
        ("logs:CreateLogDelivery", ANY, HERE),
        ("logs:CreateLogStream", "arn:aws:logs:us-east-1:1:log-group:/centavo/centavo:log-stream:run/controller", HERE),
        ("logs:PutLogEvents", "arn:aws:logs:us-east-1:1:log-group:/centavo/centavo:log-stream:run/controller", HERE),
        ("logs:FilterLogEvents", "arn:aws:logs:us-east-1:1:log-group:/centavo/centavo:*", HERE),
        ("logs:DescribeLogStreams", "arn:aws:logs:us-east-1:1:log-group:/centavo/centavo:*", HERE),
        ("cloudwatch:PutMetricData", "*", HERE),
        ("cloudwatch:PutCompositeAlarm", "*", HERE),
        ("sns:GetSubscriptionAttributes", "*", HERE),
        ("sns:SetSubscriptionAttributes", "*", HERE),
        ("sns:Unsubscribe", "*", HERE),
        ("ec2:ModifyVolume", "*", HERE),
        ("ssmmessages:OpenDataChannel", "arn:aws:ssm:us-east-1:1:session/me-1", HERE),
        ("cloudwatch:PutMetricAlarm", "arn:aws:cloudwatch:us-east-1:1:alarm:centavo-budget", HERE),
        ("cloudwatch:TagResource", "arn:aws:cloudwatch:us-east-1:1:alarm:centavo-budget", HERE),
        ("sns:CreateTopic", "arn:aws:sns:us-east-1:1:centavo-alarms", HERE),
        ("sns:Subscribe", "arn:aws:sns:us-east-1:1:centavo-alarms", HERE),
        ("autoscaling:EnableMetricsCollection", "*", HERE),
        ("ec2:RebootInstances", "*", HERE),
        ("lambda:CreateFunction", "arn:aws:lambda:us-east-1:1:function:centavo-reaper", HERE),
        ("events:PutTargets", "arn:aws:events:us-east-1:1:rule/centavo-reaper", HERE),
        ("iam:PassRole", "arn:aws:iam::1:role/centavo-reaper", {"iam:PassedToService": "lambda.amazonaws.com"}),
        ("tag:GetResources", "*", HERE),
        ("autoscaling:TerminateInstanceInAutoScalingGroup", "*", HERE),
        ("ec2:DescribeSpotPriceHistory", "*", HERE),
    ],
)
def test_what_aws_checks_beside_the_calls_is_allowed(action: str, resource: str, context: dict[str, str]) -> None:
    assert allowed(action, resource, context)


@pytest.mark.parametrize(
    ("action", "resource", "context"),
    [
        ("ec2:RunInstances", "*", {"aws:RequestedRegion": "eu-west-1"}),
        ("iam:PassRole", "arn:aws:iam::1:role/admin", {"iam:PassedToService": "ec2.amazonaws.com"}),
        ("iam:CreateRole", "arn:aws:iam::1:role/admin", HERE),
        ("iam:AttachUserPolicy", "arn:aws:iam::1:user/me", HERE),
        ("s3:DeleteObjectVersion", "arn:aws:s3:::payroll/2026", HERE),
        ("lambda:UpdateFunctionCode", "arn:aws:lambda:us-east-1:1:function:payroll", HERE),
        ("events:PutRule", "arn:aws:events:us-east-1:1:rule/payroll", HERE),
        ("ssm:StartSession", "arn:aws:ec2:us-east-1:1:instance/i-1", {"ssm:resourceTag/centavo:role": "other"}),
        ("kms:Decrypt", "arn:aws:kms:us-east-1:1:key/k", {"kms:ResourceAliases": "alias/payroll"}),
        ("logs:FilterLogEvents", "arn:aws:logs:us-east-1:1:log-group:/payroll:*", HERE),
        ("cloudwatch:DeleteAlarms", "arn:aws:cloudwatch:us-east-1:1:alarm:payroll", HERE),
        ("sns:DeleteTopic", "arn:aws:sns:us-east-1:1:payroll", HERE),
    ],
)
def test_what_is_not_centavos_is_refused(action: str, resource: str, context: dict[str, str]) -> None:
    assert not allowed(action, resource, context)


@pytest.mark.parametrize("name", POLICIES)
def test_iam_takes_a_policy_of_this_length_and_there_is_room_for_more(name: str) -> None:
    text = (FOLDER / f"{name}.json").read_text()
    assert len(re.sub(r"\s", "", text)) <= 0.9 * MOST_CHARACTERS


def test_there_are_two_policies_by_theme() -> None:
    assert list(POLICIES) == ["build", "run"]


MAKING = re.compile(
    r"(ec2|autoscaling|iam|s3|kms|logs|lambda|events|sns):(Create|Delete|Put|Attach|Detach|Associate|Disassociate|Import|Allocate|"
    r"Release|Authorize|Revoke|Modify|Enable|Schedule|Suspend|Add|Remove)"
)
IN_A_RUN = {"autoscaling:CreateOrUpdateTags", "ec2:CreateTags", "s3:DeleteObject", "s3:PutObject"}


def test_what_a_run_does_without_making_anything_needs_the_policy_run_only() -> None:
    """Whoever steers a cluster that another person built needs no right to make networks and roles."""
    called = [action for action in CALLS.read_text().split() if not MAKING.match(action)]
    assert len(called) > 60
    assert [action for action in called if not allowed(action, ANY, HERE, "run")] == []


def test_the_policy_run_makes_nothing_that_lasts() -> None:
    making = [action for action in CALLS.read_text().split() if MAKING.match(action)]
    assert len(making) > 50
    assert [action for action in making if allowed(action, ANY, {**HERE, **KEY}, "run")] == sorted(
        IN_A_RUN & set(making)
    )


def test_the_pipelines_role_may_do_what_the_person_may_do_with_terraform() -> None:
    """Both make the same things: an action that one of them lacks is forgotten there."""
    pipeline = (ROOT / "terraform" / "modules" / "pipeline" / "apply.tf").read_text()
    services = "ec2|autoscaling|cloudwatch|kms|logs|lambda|events|sns"
    allowed_there = set(re.findall(rf'"((?:{services}):[A-Za-z]+)"', pipeline)) - set(KEY)
    assert [action for action in sorted(allowed_there) if not allowed(action, ANY, {**HERE, **KEY})] == []


KEY = {"kms:ResourceAliases": "alias/centavo"}
