"""What is checked before an apply buys anything."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.stub import ANY, Stubber

from controller.commands.shared import before_apply
from controller.commands.shared.before_apply import check_before_apply
from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain.errors import CentavoError, ConfigError
from controller.edges.account import permissions
from controller.edges.account.permissions import declared_actions, principal_of, refused_actions
from controller.edges.terraform_plan import Plan, parse_plan
from tests.unit.controller.harness import SETTINGS

ROOT = Path(__file__).resolve().parents[5]
POLICIES = ROOT / "terraform" / "environments" / "aws" / "policies"


def environment(root: Path, jump: bool = True) -> Environment:
    settings = {**SETTINGS, "ssh": {**SETTINGS["ssh"], "jump_through_head": jump}}
    made = Environment("test", root, parse_settings(settings, root / "centavo.yml"))
    made.directory.mkdir(parents=True, exist_ok=True)
    return made


def plan_of(public: bool) -> Plan:
    head = {"tags": {"centavo:role": "head"}, "instance_type": "t3.small", "associate_public_ip_address": public}
    change = {"actions": ["create"], "before": None, "after": head}
    resource = {"address": "aws_instance.this", "type": "aws_instance", "change": change}
    return parse_plan({"format_version": "1.2", "resource_changes": [resource]})


def test_a_private_head_needs_the_programs_of_a_session_before_it_is_bought(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(CentavoError, match="session-manager-plugin"):
        check_before_apply(environment(tmp_path), plan_of(public=False))
    check_before_apply(environment(tmp_path), plan_of(public=True))
    check_before_apply(environment(tmp_path, jump=False), plan_of(public=False))
    check_before_apply(environment(tmp_path), Plan(()))


@pytest.mark.parametrize(
    ("action", "bucket", "is_second"),
    [("create", "test-1", True), ("create", None, False), ("no-op", "test-1", False), ("update", "test-1", False)],
)
def test_a_second_cluster_of_one_name_is_refused_before_anything_is_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, action: str, bucket: str | None, is_second: bool
) -> None:
    asked: list[str] = []

    def find(region: str, cluster: str) -> str | None:
        asked.append(cluster)
        return bucket

    monkeypatch.setattr(before_apply, "find_bucket", find)
    change = {"actions": [action], "before": None if action == "create" else {}, "after": {}}
    resource = {"address": "aws_s3_bucket.this", "type": "aws_s3_bucket", "change": change}
    plan = parse_plan({"format_version": "1.2", "resource_changes": [resource]})
    if not is_second:
        check_before_apply(environment(tmp_path), plan)
        assert asked == (["test"] if action == "create" else [])
        return
    with pytest.raises(
        ConfigError, match=r"A cluster test exists, with the bucket test-1\..* Nothing was made"
    ) as error:
        check_before_apply(environment(tmp_path), plan)
    assert "take-over` controls that cluster" in error.value.next_step and "another name" in error.value.next_step


def test_credentials_that_lack_a_permission_are_told_which_and_what_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = environment(tmp_path)
    shutil.copytree(POLICIES, made.directory / "policies")
    refused = [f"ec2:Action{number}" for number in range(10)]
    for answer in ([], None):
        monkeypatch.setattr(before_apply, "refused_actions", lambda *_, answer=answer: answer)
        check_before_apply(made, Plan(()))
    monkeypatch.setattr(before_apply, "refused_actions", lambda *_: refused)
    with pytest.raises(CentavoError, match=r"ec2:Action0, .*ec2:Action7 and 2 more\. Nothing was made") as error:
        check_before_apply(made, Plan(()))
    assert str(made.directory / "policies") in error.value.next_step


def test_who_only_changes_capacities_needs_no_right_to_make_things(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, asked = environment(tmp_path), []
    shutil.copytree(POLICIES, made.directory / "policies")
    monkeypatch.setattr(before_apply, "refused_actions", lambda region, actions: asked.append(set(actions)))
    group = {"address": "aws_autoscaling_group.this", "type": "aws_autoscaling_group"}
    change = {"actions": ["update"], "before": {"desired_capacity": 1}, "after": {"desired_capacity": 2}}
    moving = parse_plan({"format_version": "1.2", "resource_changes": [{**group, "change": change}]})
    for plan in (moving, Plan(()), plan_of(public=True)):
        check_before_apply(made, plan)
    assert ["ec2:CreateVpc" in actions for actions in asked] == [False, False, True]
    assert all("ec2:RunInstances" in actions for actions in asked)


def test_the_simulator_is_asked_about_the_user_or_role_in_use(monkeypatch: pytest.MonkeyPatch) -> None:
    sts, iam = (boto3.client(s, "us-east-1", aws_access_key_id="x", aws_secret_access_key="x") for s in ("sts", "iam"))
    clients: dict[str, Any] = {"sts": sts, "iam": iam}
    monkeypatch.setattr(permissions.boto3, "client", lambda service, **_: clients[service])
    arn = "arn:aws:sts::123456789012:assumed-role/deploy/me"
    results = [
        {"EvalActionName": "ec2:RunInstances", "EvalDecision": "implicitDeny"},
        {"EvalActionName": "ec2:CreateVpc", "EvalDecision": "allowed"},
    ]
    with Stubber(sts) as asked, Stubber(iam) as told:
        asked.add_response("get_caller_identity", {"Arn": arn})
        wanted = {
            "PolicySourceArn": "arn:aws:iam::123456789012:role/deploy",
            "ActionNames": ["ec2:CreateVpc", "ec2:RunInstances"],
            "ContextEntries": ANY,
        }
        told.add_response("simulate_principal_policy", {"EvaluationResults": results}, wanted)
        assert refused_actions("us-east-1", ["ec2:CreateVpc", "ec2:RunInstances"]) == ["ec2:RunInstances"]
        asked.add_response("get_caller_identity", {"Arn": arn})
        told.add_client_error("simulate_principal_policy", "AccessDenied")
        assert refused_actions("us-east-1", ["ec2:CreateVpc"]) is None, "IAM does not tell"


def test_the_roots_of_accounts_may_do_everything_and_users_are_named_as_they_are() -> None:
    assert principal_of({"Arn": "arn:aws:iam::1:root"}) is None
    assert principal_of({"Arn": "arn:aws:iam::1:user/me"}) == "arn:aws:iam::1:user/me"


def test_actions_that_can_be_simulated_are_taken_from_the_policy() -> None:
    actions = declared_actions(POLICIES / "build.json")
    assert {"ec2:CreateVpc", "autoscaling:CreateAutoScalingGroup", "ec2:CreateNatGateway"} <= set(actions)
    assert not any("*" in action for action in actions)
    assert "ec2:RunInstances" in declared_actions(POLICIES / "run.json")
