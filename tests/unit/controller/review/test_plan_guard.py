"""The guard for people's plans: what has to be acknowledged, and what need not be."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from controller.edges.terraform_plan import parse_plan
from controller.review.dangers import Danger
from controller.review.plan_guard import GuardVerdict, HourlyLimit, judge

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "review"
UNLIMITED = HourlyLimit()


def verdict(
    kind: str,
    before: dict[str, Any] | None,
    after: dict[str, Any] | None,
    *,
    actions: list[str] | None = None,
    acknowledged: tuple[Danger, ...] = (),
    configured: tuple[str, ...] = (),
    **change: Any,
) -> GuardVerdict:
    by_sides = {(True, False): ["create"], (False, True): ["delete"], (False, False): ["update"]}
    document = {
        "format_version": "1.2",
        "resource_changes": [
            {
                "address": f"{kind}.x",
                "type": kind,
                "name": "x",
                "mode": "managed",
                "change": {
                    "actions": actions or by_sides[before is None, after is None],
                    "before": before,
                    "after": after,
                    **change,
                },
            }
        ],
        "configuration": {
            "root_module": {"resources": [{"type": kind, "name": "x", "expressions": {key: {} for key in configured}}]}
        },
    }
    return judge(parse_plan(document), UNLIMITED, frozenset(acknowledged))


def dangers(*arguments: Any, **options: Any) -> list[Danger]:
    return [finding.danger for finding in verdict(*arguments, **options).findings]


POLICY_FOR_ALL = json.dumps({"Statement": [{"Effect": "Allow", "Principal": "*", "Action": "s3:GetObject"}]})
POLICY_REFUSING = json.dumps({"Statement": [{"Effect": "Deny", "Principal": "*", "Action": "s3:*"}]})
OPEN_BLOCK = {"cidr_blocks": ["0.0.0.0/0"], "ipv6_cidr_blocks": []}
PROTECTED = dict.fromkeys(
    ["block_public_acls", "block_public_policy", "ignore_public_acls", "restrict_public_buckets"], True
)
HEAD = {"instance_type": "t3.micro", "tags": {"centavo:role": "head"}}


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        ("aws_s3_bucket", {"bucket": "b"}, None, Danger.DESTROY_STORAGE),
        ("aws_ebs_volume", {"size": 1}, None, Danger.DESTROY_STORAGE),
        ("aws_kms_key", {"arn": "a"}, None, Danger.DESTROY_STORAGE),
        ("aws_cloudwatch_log_group", {"name": "n"}, None, Danger.DESTROY_STORAGE),
        ("aws_s3_bucket", {"force_destroy": False}, {"force_destroy": True}, Danger.DESTROY_STORAGE),
        (
            "aws_s3_bucket_versioning",
            {"versioning_configuration": [{"status": "Enabled"}]},
            {"versioning_configuration": [{"status": "Suspended"}]},
            Danger.DESTROY_STORAGE,
        ),
        ("aws_vpc_security_group_ingress_rule", None, {"cidr_ipv4": "0.0.0.0/0"}, Danger.OPEN_NETWORK),
        ("aws_vpc_security_group_ingress_rule", None, {"cidr_ipv6": "::/0"}, Danger.OPEN_NETWORK),
        (
            "aws_vpc_security_group_ingress_rule",
            {"cidr_ipv4": "10.0.0.0/8"},
            {"cidr_ipv4": "0.0.0.0/0"},
            Danger.OPEN_NETWORK,
        ),
        ("aws_vpc_security_group_ingress_rule", None, {"cidr_ipv4": "128.0.0.0/1"}, Danger.OPEN_NETWORK),
        ("aws_security_group_rule", None, {"type": "ingress", "cidr_blocks": ["0.0.0.0/0"]}, Danger.OPEN_NETWORK),
        ("aws_security_group", {"ingress": []}, {"ingress": [OPEN_BLOCK]}, Danger.OPEN_NETWORK),
        (
            "aws_s3_bucket_public_access_block",
            PROTECTED,
            {**PROTECTED, "block_public_acls": False},
            Danger.OPEN_NETWORK,
        ),
        ("aws_s3_bucket_public_access_block", PROTECTED, None, Danger.OPEN_NETWORK),
        ("aws_s3_bucket_acl", {"acl": "private"}, {"acl": "public-read"}, Danger.OPEN_NETWORK),
        ("aws_instance", None, {"associate_public_ip_address": True}, Danger.OPEN_NETWORK),
        ("aws_subnet", {"map_public_ip_on_launch": False}, {"map_public_ip_on_launch": True}, Danger.OPEN_NETWORK),
        (
            "aws_launch_template",
            {"network_interfaces": []},
            {"network_interfaces": [{"associate_public_ip_address": "true"}]},
            Danger.OPEN_NETWORK,
        ),
        ("aws_iam_role", None, {"name": "r"}, Danger.CHANGE_IAM),
        ("aws_iam_role_policy", {"policy": "{}"}, {"policy": "{ }"}, Danger.CHANGE_IAM),
        ("aws_iam_role", {"name": "r"}, None, Danger.CHANGE_IAM),
        (
            "aws_launch_template",
            {"iam_instance_profile": [{"name": "worker"}]},
            {"iam_instance_profile": [{"name": "admin"}]},
            Danger.CHANGE_IAM,
        ),
        ("aws_instance", HEAD, None, Danger.END_TRAINING),
        ("aws_autoscaling_group", {"name": "g", "desired_capacity": 3}, None, Danger.END_TRAINING),
    ],
)
def test_a_dangerous_change_is_refused_until_it_is_acknowledged(
    kind: str, before: dict[str, Any] | None, after: dict[str, Any] | None, expected: Danger
) -> None:
    refused = verdict(kind, before, after)
    assert refused.is_refused and refused.missing == (expected,)
    assert refused.options == f"--acknowledge {expected.value}"
    assert refused.findings[0].address == f"{kind}.x"
    other = next(danger for danger in Danger if danger is not expected)
    assert verdict(kind, before, after, acknowledged=(other,)).is_refused
    assert not verdict(kind, before, after, acknowledged=(expected,)).is_refused


@pytest.mark.parametrize(
    ("kind", "before", "after"),
    [
        ("aws_s3_bucket", None, {"bucket": "b", "force_destroy": True}),
        ("aws_s3_bucket", {"tags": {}}, {"tags": {"a": "b"}}),
        ("aws_vpc_security_group_ingress_rule", None, {"cidr_ipv4": "10.0.0.0/16"}),
        ("aws_vpc_security_group_ingress_rule", None, {"cidr_ipv4": "203.0.113.7/32"}),
        ("aws_vpc_security_group_ingress_rule", None, {"referenced_security_group_id": "sg-1"}),
        ("aws_vpc_security_group_ingress_rule", {"cidr_ipv4": "0.0.0.0/0"}, None),
        (
            "aws_vpc_security_group_ingress_rule",
            {"cidr_ipv4": "0.0.0.0/0"},
            {"cidr_ipv4": "0.0.0.0/0", "description": "d"},
        ),
        ("aws_vpc_security_group_egress_rule", None, {"cidr_ipv4": "0.0.0.0/0"}),
        ("aws_security_group_rule", None, {"type": "egress", "cidr_blocks": ["0.0.0.0/0"]}),
        ("aws_s3_bucket_public_access_block", None, PROTECTED),
        ("aws_instance", None, HEAD),
        ("aws_autoscaling_group", {"name": "g", "desired_capacity": 0}, None),
        ("aws_autoscaling_group", {"name": "g", "desired_capacity": 3}, {"name": "g", "desired_capacity": 0}),
        ("aws_launch_template", None, {"iam_instance_profile": [{"name": "worker"}]}),
    ],
)
def test_a_harmless_change_needs_no_acknowledgement(
    kind: str, before: dict[str, Any] | None, after: dict[str, Any] | None
) -> None:
    assert verdict(kind, before, after).findings == ()


def test_a_bucket_that_is_replaced_loses_its_content() -> None:
    for actions in (["delete", "create"], ["create", "delete"]):
        assert dangers("aws_s3_bucket", {"bucket": "a"}, {"bucket": "b"}, actions=actions) == [Danger.DESTROY_STORAGE]


def test_a_policy_that_lets_everybody_in_opens_and_changes_access() -> None:
    assert dangers("aws_s3_bucket_policy", None, {"policy": POLICY_FOR_ALL}) == [Danger.OPEN_NETWORK, Danger.CHANGE_IAM]
    assert dangers("aws_s3_bucket_policy", None, {"policy": POLICY_REFUSING}) == [Danger.CHANGE_IAM]


def test_an_address_range_that_can_not_be_seen_counts_as_open() -> None:
    rule = "aws_vpc_security_group_ingress_rule"
    assert dangers(rule, None, {"cidr_ipv4": "10.0.0.0/8"}, after_sensitive={"cidr_ipv4": True}) == [
        Danger.OPEN_NETWORK
    ]
    assert dangers(rule, None, {}, after_unknown={"cidr_ipv4": True}) == [Danger.OPEN_NETWORK]


def test_rules_that_the_provider_works_out_are_not_the_codes_but_those_that_the_code_sets_are() -> None:
    options: dict[str, Any] = {"after_unknown": {"ingress": True}}
    assert dangers("aws_security_group", None, {"name": "g"}, **options) == []
    assert dangers("aws_security_group", None, {"name": "g"}, configured=("ingress",), **options) == [
        Danger.OPEN_NETWORK
    ]


def test_what_stays_as_it_is_is_not_judged() -> None:
    open_rule = {"cidr_ipv4": "0.0.0.0/0"}
    assert dangers("aws_vpc_security_group_ingress_rule", open_rule, open_rule, actions=["no-op"]) == []


@pytest.mark.parametrize(
    ("limit", "after", "is_refused"),
    [
        (None, 99.0, False),
        (0.5, 0.5, False),
        (0.5, 0.500001, True),
        (0.5, 0.4, False),
        (0.5, None, True),
    ],
)
def test_exceeding_the_hourly_limit_has_to_be_meant(limit: float | None, after: float | None, is_refused: bool) -> None:
    plan = parse_plan(json.loads((GOLDEN / "move.json").read_text(encoding="utf-8")))
    judged = judge(plan, HourlyLimit(limit, after))
    assert judged.is_refused is is_refused
    assert judged.missing == ((Danger.EXCEED_HOURLY_LIMIT,) if is_refused else ())


def test_a_plan_that_leaves_the_fleet_alone_does_not_exceed_the_limit() -> None:
    plan = parse_plan(json.loads((GOLDEN / "nothing.json").read_text(encoding="utf-8")))
    assert not judge(plan, HourlyLimit(0.01, 99.0)).is_refused


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("nothing", ()),
        ("move", ()),
        ("flavor", ()),
        ("bucket", (Danger.DESTROY_STORAGE, Danger.CHANGE_IAM)),
    ],
)
def test_real_plans_are_judged_as_they_should_be(name: str, missing: tuple[Danger, ...]) -> None:
    plan = parse_plan(json.loads((GOLDEN / f"{name}.json").read_text(encoding="utf-8")))
    assert judge(plan, UNLIMITED).missing == missing
