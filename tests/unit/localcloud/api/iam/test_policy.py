"""What policies allow: actions, resources and conditions."""

from __future__ import annotations

from typing import Any

import pytest

from localcloud.api.iam.conditions import UnknownConditionError
from localcloud.api.iam.policy import Verdict, verdict
from localcloud.api.iam.question import Question

ALLOWED, DENIED, NOT_ALLOWED = Verdict
BUCKET = "arn:aws:s3:::centavo-1"


def policy(**entries: Any) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "s3:*", "Resource": "*", **entries}]}


@pytest.mark.parametrize(
    ("action", "expected"),
    [
        ("s3:GetObject", ALLOWED),
        ("S3:getobject", ALLOWED),
        ("s3:GetObjectVersion", NOT_ALLOWED),
        ("s3:PutObject", ALLOWED),
        ("ec2:RunInstances", NOT_ALLOWED),
    ],
)
def test_an_action_is_allowed_by_its_name_or_a_pattern(action: str, expected: Verdict) -> None:
    assert verdict([policy(Action=["s3:GetObject", "s3:Put*"])], Question(action, BUCKET)) is expected


def test_what_no_policy_allows_is_not_allowed() -> None:
    assert verdict([], Question("s3:GetObject", BUCKET)) is NOT_ALLOWED


def test_a_denial_wins_wherever_it_stands() -> None:
    denial = policy(Effect="Deny", Action="s3:DeleteObject")
    for policies in ([policy(), denial], [denial, policy()]):
        assert verdict(policies, Question("s3:DeleteObject", BUCKET)) is DENIED
        assert verdict(policies, Question("s3:GetObject", BUCKET)) is ALLOWED


def test_a_single_statement_may_stand_without_a_list() -> None:
    one = {"Statement": {"Effect": "Allow", "Action": "s3:*", "Resource": "*"}}
    assert verdict([one], Question("s3:GetObject", BUCKET)) is ALLOWED


@pytest.mark.parametrize(
    ("resource", "expected"),
    [
        (f"{BUCKET}/a/b", ALLOWED),
        (BUCKET, NOT_ALLOWED),
        ("arn:aws:s3:::payroll/a", NOT_ALLOWED),
        ("*", NOT_ALLOWED),
        ("", ALLOWED),
    ],
)
def test_a_statement_is_about_the_resources_that_it_names(resource: str, expected: Verdict) -> None:
    assert verdict([policy(Resource=f"{BUCKET}/*")], Question("s3:GetObject", resource)) is expected


def test_what_a_statement_excludes_is_not_in_it() -> None:
    excluding = {"Statement": {"Effect": "Allow", "NotAction": "iam:*", "NotResource": f"{BUCKET}/secret/*"}}
    assert verdict([excluding], Question("s3:GetObject", f"{BUCKET}/a")) is ALLOWED
    assert verdict([excluding], Question("iam:CreateRole", f"{BUCKET}/a")) is NOT_ALLOWED
    assert verdict([excluding], Question("s3:GetObject", f"{BUCKET}/secret/a")) is NOT_ALLOWED


def test_a_variable_stands_for_what_the_request_has() -> None:
    own = policy(Action="ssm:*", Resource="arn:aws:ssm:*:*:session/${aws:userid}-*")
    asked = Question("ssm:ResumeSession", "arn:aws:ssm:us-east-1:1:session/AROA:me-7", {"aws:userid": "AROA:me"})
    assert verdict([own], asked) is ALLOWED
    assert verdict([own], Question(asked.action, asked.resource, {"aws:userid": "AROA:other"})) is NOT_ALLOWED
    assert verdict([own], Question(asked.action, asked.resource)) is NOT_ALLOWED


TAG, REGION = "aws:ResourceTag/centavo:cluster", "aws:RequestedRegion"


@pytest.mark.parametrize(
    ("condition", "context", "holds"),
    [
        ({"StringEquals": {TAG: "a"}}, {TAG: "a"}, True),
        ({"StringEquals": {TAG: "a"}}, {"AWS:resourceTag/centavo:cluster": "a"}, True),
        ({"StringEquals": {TAG: ["b", "a"]}}, {TAG: "a"}, True),
        ({"StringEquals": {TAG: "a"}}, {TAG: "A"}, False),
        ({"StringEquals": {TAG: "a*"}}, {TAG: "ab"}, False),
        ({"StringEquals": {TAG: "a"}}, {}, False),
        ({"StringEqualsIfExists": {TAG: "a"}}, {}, True),
        ({"StringEqualsIfExists": {TAG: "a"}}, {TAG: "b"}, False),
        ({"StringEqualsIgnoreCase": {TAG: "a"}}, {TAG: "A"}, True),
        ({"StringLike": {TAG: "a*"}}, {TAG: "ab"}, True),
        ({"ForAnyValue:StringLike": {TAG: "a*"}}, {TAG: "b"}, False),
        ({"StringNotEquals": {TAG: "a"}}, {TAG: "b"}, True),
        ({"StringNotEquals": {TAG: ["a", "b"]}}, {TAG: "b"}, False),
        ({"StringNotEquals": {TAG: "a"}}, {}, True),
        ({"Bool": {"aws:SecureTransport": True}}, {"aws:SecureTransport": "true"}, True),
        ({"Null": {TAG: "true"}}, {}, True),
        ({"Null": {TAG: "true"}}, {TAG: "a"}, False),
        ({"ArnLike": {"aws:SourceArn": "arn:aws:sqs:*:*:a"}}, {"aws:SourceArn": "arn:aws:sqs:r:1:a"}, True),
        ({"StringEquals": {TAG: "a", REGION: "r"}}, {TAG: "a", REGION: "other"}, False),
        ({"StringEquals": {TAG: "a"}, "StringLike": {REGION: "us-*"}}, {TAG: "a", REGION: "us-east-1"}, True),
    ],
)  # fmt: skip
def test_every_condition_must_hold(condition: dict[str, Any], context: dict[str, str], holds: bool) -> None:
    found = verdict([policy(Condition=condition)], Question("s3:GetObject", BUCKET, context))
    assert (found is ALLOWED) is holds


def test_a_condition_that_is_not_known_is_not_guessed() -> None:
    unknown = policy(Condition={"IpAddress": {"aws:SourceIp": "10.0.0.0/8"}})
    with pytest.raises(UnknownConditionError, match="IpAddress"):
        verdict([unknown], Question("s3:GetObject", BUCKET))
    assert verdict([unknown], Question("ec2:RunInstances", BUCKET)) is NOT_ALLOWED
