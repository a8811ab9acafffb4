"""Functions that clients call: their process, its environment, its end and its log."""

from __future__ import annotations

import io
import json
import textwrap
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError

from tests.support.local_cloud import LocalCloud, is_alive, processes_with, wait_until

ROLE = "arn:aws:iam::123456789012:role/caller"
CODE = """
import json, os, subprocess, sys, time, boto3

def who(event, context):
    print("asked for", event)
    told = {"id": context.aws_request_id, "left": context.get_remaining_time_in_millis()}
    told |= {"variables": sorted(os.environ), "cluster": os.environ["CENTAVO_CLUSTER"]}
    return {**boto3.client("sts").get_caller_identity(), **told}

def keys(event, context):
    names = ("aws_access_key_id", "aws_secret_access_key", "aws_session_token")
    return {name: os.environ[name.upper()] for name in names}

def fail(event, context):
    raise ValueError("no such thing")

def leave(event, context):
    os._exit(7)

def hang(event, context):
    child = subprocess.Popen(["sleep", "1000"])
    open(event["file"], "w").write(str(child.pid))
    print("hangs", flush=True)
    time.sleep(1000)

def write(event, context):
    open(event["file"], "w").write("called")
"""


class Caller:
    """Makes and calls functions."""

    def __init__(self, cloud: LocalCloud) -> None:
        self.cloud, self.lambda_ = cloud, cloud.client("lambda", read_timeout=120)
        iam = cloud.client("iam")
        if not any(role["RoleName"] == "caller" for role in iam.list_roles()["Roles"]):
            iam.create_role(RoleName="caller", AssumeRolePolicyDocument="{}")
        code = io.BytesIO()
        with zipfile.ZipFile(code, "w") as archive:
            archive.writestr("package/__init__.py", "")
            archive.writestr("package/code.py", textwrap.dedent(CODE))
        self.code = code.getvalue()

    def make(self, name: str, **entries: Any) -> None:
        self.cloud.client("logs").create_log_group(logGroupName=f"/unit/{name}")
        self.lambda_.create_function(
            FunctionName=name, Runtime="python3.11", Role=ROLE, Handler=f"package.code.{name}",
            Code={"ZipFile": self.code}, LoggingConfig={"LogGroup": f"/unit/{name}"},
            **{"Timeout": 60, "Environment": {"Variables": {"CENTAVO_CLUSTER": "unit"}}, **entries},
        )  # fmt: skip

    def __call__(self, name: str, event: object = None, **options: Any) -> tuple[dict[str, Any], Any]:
        answer = self.lambda_.invoke(FunctionName=name, Payload=json.dumps(event or {}), **options)
        body = answer["Payload"].read()
        return answer, json.loads(body) if body else None

    def log(self, name: str) -> str:
        logs = self.cloud.client("logs")
        events = logs.filter_log_events(logGroupName=f"/unit/{name}")["events"]
        return "\n".join(event["message"] for event in events)


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Caller]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        yield Caller(cloud)


def test_a_function_runs_with_its_environment_and_its_role_and_what_it_prints_is_logged(caller: Caller) -> None:
    caller.make("who")
    answer, said = caller("who", {"a": 1}, LogType="Tail")
    assert answer["StatusCode"] == 200 and "FunctionError" not in answer, said
    assert said["Arn"] == "arn:aws:sts::123456789012:assumed-role/caller/who"
    assert said["cluster"] == "unit" and 0 < said["left"] <= 60_000
    assert not [name for name in said["variables"] if name.startswith(("LOCALCLOUD", "PYTEST", "HOME"))]
    assert "asked for {'a': 1}" in caller.log("who") and f"REPORT RequestId: {said['id']}" in caller.log("who")
    assert not list((caller.cloud.state_dir / "functions").iterdir())


def test_the_tags_of_a_function_are_told_to_whoever_may_list_them(caller: Caller) -> None:
    caller.make("tagged", Tags={"centavo:cluster": "unit"})
    iam = caller.cloud.client("iam")
    iam.create_user(UserName="reader")
    key = iam.create_access_key(UserName="reader")["AccessKey"]
    keys = {"aws_access_key_id": key["AccessKeyId"], "aws_secret_access_key": key["SecretAccessKey"]}
    reader = boto3.client("lambda", endpoint_url=caller.cloud.endpoint, region_name="us-east-1", **keys)
    told = []
    for actions in (["lambda:GetFunction"], ["lambda:GetFunction", "lambda:ListTags"]):
        policy = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": actions, "Resource": "*"}]}
        iam.put_user_policy(UserName="reader", PolicyName="read", PolicyDocument=json.dumps(policy))
        told.append(reader.get_function(FunctionName="tagged").get("Tags"))
    assert told == [None, {"centavo:cluster": "unit"}]


def test_the_credentials_of_a_call_end_with_it(caller: Caller) -> None:
    caller.make("keys")
    key = caller("keys")[1]
    old = boto3.client("sts", endpoint_url=caller.cloud.endpoint, region_name="us-east-1", **key)
    with pytest.raises(ClientError, match="not one of this cloud"):
        old.get_caller_identity()


def test_a_function_that_raises_or_leaves_is_an_error(caller: Caller) -> None:
    caller.make("fail")
    answer, said = caller("fail")
    assert answer["FunctionError"] and said["errorType"] == "ValueError" and said["errorMessage"] == "no such thing"
    assert "Traceback" in caller.log("fail") and "[ERROR]" in caller.log("fail")
    caller.make("leave")
    answer, said = caller("leave")
    assert answer["FunctionError"] and "exit status 7" in said["errorMessage"]


def test_a_function_that_takes_too_long_is_killed_with_its_children(caller: Caller, tmp_path: Path) -> None:
    caller.make("hang", Timeout=5)
    answer, said = caller("hang", {"file": str(tmp_path / "child")})
    assert answer["FunctionError"] and "Task timed out after 5.00 seconds" in said["errorMessage"]
    child = int((tmp_path / "child").read_text())
    wait_until(lambda: not is_alive(child), "the end of the function's child")
    assert "hangs" in caller.log("hang") and "timed out" in caller.log("hang")


def test_a_call_in_the_background_returns_at_once(caller: Caller, tmp_path: Path) -> None:
    caller.make("write")
    answer, said = caller("write", {"file": str(tmp_path / "called")}, InvocationType="Event")
    assert answer["StatusCode"] == 202 and said is None
    wait_until((tmp_path / "called").exists, "the call")


def test_a_function_that_runs_ends_with_the_cloud(tmp_path: Path) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        caller = Caller(cloud)
        caller.make("hang", Timeout=300)
        caller("hang", {"file": str(tmp_path / "child")}, InvocationType="Event")
        wait_until((tmp_path / "child").exists, "the function's child")
    assert not processes_with(f"CENTAVO_LOCALCLOUD_STATE={cloud.state_dir}")
    assert not is_alive(int((tmp_path / "child").read_text()))
