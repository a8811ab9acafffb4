"""A head's role that lacks a permission is told before the hand-over: which permission, and what for."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace

import boto3
import pytest
from botocore.stub import Stubber

from controller.domain.errors import ConfigError
from controller.edges.account import roles
from controller.edges.account.roles import Need, refused_to, role_of
from controller.edges.terraform import FlavorOutput, HeadOutput, Outputs
from controller.handover.permissions import POLICY, needs_of, require_permissions
from tests.support.iam_policy import allows, policy_of_the_head

ROLE = "arn:aws:iam::123456789012:role/centavo-head"
MADE = Outputs(
    "centavo", "us-east-1", "centavo-1", HeadOutput("i-head", "10.0.0.1", None, "t3.small"),
    {"c5.large": FlavorOutput("centavo-c5", "on-demand", 4, 2, None)}, reaper="centavo-reaper",
)  # fmt: skip


def require(lacking: list[Need] | None, role: str | None = ROLE) -> None:
    def refused(region: str, asked: str, needs: Iterable[Need]) -> list[Need] | None:
        assert (region, asked) == ("us-east-1", ROLE) and [*needs]
        return lacking

    require_permissions(MADE, lambda region, instance: role, refused)


def test_what_the_role_lacks_is_named_with_its_purpose_and_what_to_do() -> None:
    lacking = [need for need in needs_of(MADE, ROLE) if need.action.startswith("autoscaling:Update")]
    with pytest.raises(ConfigError, match=r"UpdateAutoScalingGroup \(to change the number of workers\)") as raised:
        require(lacking)
    assert POLICY in raised.value.next_step and "goes on here" in raised.value.next_step


@pytest.mark.parametrize(("lacking", "role"), [([], ROLE), (None, ROLE), (None, None)])
def test_a_role_that_suffices_or_is_not_told_goes_on(lacking: list[Need] | None, role: str | None) -> None:
    require(lacking, role)


def test_the_policy_that_is_named_allows_all_of_it() -> None:
    assert (Path(__file__).parents[4] / POLICY).is_file()
    policy = policy_of_the_head("centavo", "arn:aws:s3:::centavo-1")
    lacking = [
        need.action for need in needs_of(MADE, ROLE) if not allows(policy, need.action, need.resource, need.context)
    ]
    assert lacking == ["s3:PutObject"], "every node may write the bucket's objects"


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> SimpleNamespace:
    """AWS's clients, which answer as they are told."""
    made = {
        name: boto3.client(name, "us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
        for name in ("ec2", "iam")
    }
    monkeypatch.setattr(roles, "boto3", SimpleNamespace(client=lambda name, **options: made[name]))
    stubs = {name: Stubber(client) for name, client in made.items()}
    for stub in stubs.values():
        stub.activate()
    return SimpleNamespace(**stubs)


def test_the_role_is_the_one_of_the_instances_profile(clients: SimpleNamespace) -> None:
    profile = {"Arn": "arn:aws:iam::123456789012:instance-profile/mine", "Id": "AIPA"}
    clients.ec2.add_response(
        "describe_instances",
        {"Reservations": [{"Instances": [{"InstanceId": "i-head", "IamInstanceProfile": profile}]}]},
    )
    made = "2026-11-23T00:00:00Z"
    role = {"Path": "/", "RoleName": "other", "RoleId": "AROA0123456789012", "Arn": ROLE, "CreateDate": made}
    clients.iam.add_response(
        "get_instance_profile",
        {"InstanceProfile": {
            "Path": "/", "InstanceProfileName": "mine", "InstanceProfileId": "AIPA0123456789012",
            "Arn": profile["Arn"], "CreateDate": made, "Roles": [role],
        }},
        {"InstanceProfileName": "mine"},
    )  # fmt: skip
    assert role_of("us-east-1", "i-head") == ROLE


def test_iam_is_asked_about_each_need_with_its_resource(clients: SimpleNamespace) -> None:
    needs = [Need("ec2:RebootInstances", "arn:aws:ec2:us-east-1:1:instance/i", "to", {"aws:ResourceTag/a": "b"})]
    answer = {"EvaluationResults": [{"EvalActionName": "ec2:RebootInstances", "EvalDecision": "implicitDeny"}]}
    asked = {
        "PolicySourceArn": ROLE, "ActionNames": ["ec2:RebootInstances"], "ResourceArns": [needs[0].resource],
        "ContextEntries": [
            {"ContextKeyName": "aws:ResourceTag/a", "ContextKeyValues": ["b"], "ContextKeyType": "string"}
        ],
    }  # fmt: skip
    clients.iam.add_response("simulate_principal_policy", answer, asked)
    assert refused_to("us-east-1", ROLE, needs) == needs
    clients.iam.add_client_error("simulate_principal_policy", "AccessDenied")
    assert refused_to("us-east-1", ROLE, needs) is None
