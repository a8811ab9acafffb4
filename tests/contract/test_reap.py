"""`centavo reap` and the Lambda function on a mess of clusters: on localcloud, with the real API calls."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.local_cloud import LocalCloud, wait_until
from tests.unit.controller.warden.stand_ins import document

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
AT_ONCE = {"lease_s": 1, "ended_s": 1, "reaper_s": 1, "head": "stop"}


class Mess:
    """A cloud with clusters that are used, forgotten, without a lease, and of one name."""

    def __init__(self, cloud: LocalCloud, root: Path) -> None:
        self.cloud, self.root = cloud, root
        self.s3 = cloud.client("s3")
        here = root / "terraform" / "environments" / "local"
        shutil.copytree(ROOT / "terraform" / "environments" / "local", here)
        settings = yaml.safe_load((here / "centavo.yml").read_text())
        settings["aws"]["credentials_file"] = str(cloud.state_dir / "credentials")
        settings["aws"]["environment"]["AWS_ENDPOINT_URL"] = cloud.endpoint
        (here / "centavo.yml").write_text(yaml.safe_dump(settings))
        for folder in ("trainer", "controller"):
            (root / folder).symlink_to(ROOT / folder)

    def bucket(self, cluster: str, name: str, **lease: Any) -> None:
        self.s3.create_bucket(Bucket=name)
        tags = [{"Key": "centavo:cluster", "Value": cluster}]
        self.s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": tags})
        body = json.dumps(document(cluster=cluster, **lease)).encode()
        self.s3.put_object(Bucket=name, Key="control/lease.json", Body=body)

    def head(self, cluster: str) -> str:
        tags = [{"Key": "centavo:cluster", "Value": cluster}, {"Key": "centavo:role", "Value": "head"}]
        return self.cloud.run(TagSpecifications=[{"ResourceType": "instance", "Tags": tags}])

    def workers(self, cluster: str, nodes: int) -> str:
        tags = {"centavo:cluster": cluster, "centavo:role": "worker"}
        return self.cloud.group(
            nodes,
            NewInstancesProtectedFromScaleIn=True,
            Tags=[{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()],
        )

    def centavo(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "controller", "--root", str(self.root), "--env", "local", "reap", *arguments],
            cwd=ROOT, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def function(self, cluster: str, bucket: str) -> subprocess.CompletedProcess[str]:
        """Calls the Lambda function's handler, from the archive that Terraform uploads and from nothing else."""
        archive = ROOT / "terraform" / "modules" / "reaper" / "warden.zip"
        names = {"CENTAVO_CLUSTER": cluster, "CENTAVO_BUCKET": bucket, "PYTHONPATH": str(archive), "PATH": ""}
        code = "import json; from warden.reaper.function import handler; print(json.dumps(handler({}, None)))"
        return subprocess.run(
            [sys.executable, "-c", code],
            cwd="/", env={**self.cloud.environment, **names}, capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip

    def schedule(self, cluster: str, bucket: str) -> None:
        """Makes the function and the rule that calls it each minute, as Terraform declares them."""
        archive = (ROOT / "terraform" / "modules" / "reaper" / "warden.zip").read_bytes()
        functions, events = self.cloud.client("lambda"), self.cloud.client("events")
        may = {"Effect": "Allow", "Action": ["autoscaling:*", "ec2:*", "s3:*"], "Resource": "*"}
        iam = self.cloud.client("iam")
        role = iam.create_role(RoleName="reaper", AssumeRolePolicyDocument="{}")["Role"]["Arn"]
        policy = json.dumps({"Version": "2012-10-17", "Statement": [may]})
        iam.put_role_policy(RoleName="reaper", PolicyName="reap", PolicyDocument=policy)
        self.cloud.client("logs").create_log_group(logGroupName="/reaper")
        function = functions.create_function(
            FunctionName="reaper", Runtime="python3.11", Role=role, Handler="warden.reaper.function.handler",
            Code={"ZipFile": archive}, Timeout=300, LoggingConfig={"LogGroup": "/reaper"},
            Environment={"Variables": {"CENTAVO_CLUSTER": cluster, "CENTAVO_BUCKET": bucket}},
        )["FunctionArn"]  # fmt: skip
        rule = events.put_rule(Name="reaper", ScheduleExpression="rate(1 minute)")["RuleArn"]
        events.put_targets(Rule="reaper", Targets=[{"Id": "1", "Arn": function}])
        functions.add_permission(
            FunctionName="reaper", StatementId="schedule", Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com", SourceArn=rule,
        )  # fmt: skip

    def scheduled_log(self) -> str:
        events = self.cloud.client("logs").filter_log_events(logGroupName="/reaper")["events"]
        return "\n".join(event["message"] for event in events)

    def is_empty(self, group: str) -> bool:
        return self.cloud.members(group) == []


@pytest.fixture
def mess(tmp_path: Path) -> Iterator[Mess]:
    with LocalCloud(tmp_path / "cloud") as cloud:
        yield Mess(cloud, tmp_path / "checkout")


def test_what_is_forgotten_is_ended_and_what_is_used_or_cannot_be_judged_stays(mess: Mess) -> None:
    mess.bucket("used", "used-bucket")
    mess.bucket("forgotten", "forgotten-bucket", lasts_s=1, switch=AT_ONCE)
    mess.bucket("twice", "twice-a", lasts_s=1, switch=AT_ONCE)
    mess.bucket("twice", "twice-b", lasts_s=1, switch=AT_ONCE)
    heads = {name: mess.head(name) for name in ("used", "forgotten", "twice", "bare")}
    groups = {name: mess.workers(name, 1) for name in ("used", "forgotten")}
    for group in groups.values():
        mess.cloud.in_service(group, 1)
    time.sleep(3)

    print(mess.centavo("--dry-run").stdout)
    told = mess.centavo("--dry-run", "--json")
    assert told.returncode == 8, told.stderr  # two buckets of one name are an error
    judged = {one["cluster"]: one for one in json.loads(told.stdout)}
    assert set(judged) == set(heads)
    assert {name for name, one in judged.items() if one["would_end"]} == {"forgotten"}
    assert groups["forgotten"] in judged["forgotten"]["would_end"]
    assert "valid for" in judged["used"]["reason"] and "ada on laptop" in judged["used"]["reason"]
    assert "no lease" in judged["bare"]["reason"]
    assert "twice-a, twice-b" in judged["twice"]["reason"] and "twice-a, twice-b" in told.stderr
    assert mess.centavo("--dry-run", "--cluster", "forgotten").returncode == 2
    assert mess.centavo("--dry-run", "--cluster", "used").returncode == 0
    assert not mess.is_empty(groups["forgotten"]), "a dry run ends nothing"

    done = mess.centavo()
    assert "would be" not in done.stdout and "the cluster has outlived its lease" in done.stdout
    wait_until(lambda: mess.is_empty(groups["forgotten"]), "the end of the forgotten workers")
    wait_until(lambda: mess.cloud.state(heads["forgotten"]) == "stopped", "the end of the forgotten head")
    assert {mess.cloud.state(heads[name]) for name in ("used", "twice", "bare")} == {"running"}
    assert len(mess.cloud.members(groups["used"])) == 1
    again = mess.centavo("--dry-run", "--cluster", "forgotten", "--json")
    assert again.returncode == 0 and json.loads(again.stdout)[0]["would_end"] == []


def test_the_lambda_function_ends_its_own_cluster_and_no_other(mess: Mess) -> None:
    mess.bucket("forgotten", "forgotten-bucket", lasts_s=1, switch=AT_ONCE)
    mess.bucket("other", "other-bucket", lasts_s=1, switch=AT_ONCE)
    heads = {name: mess.head(name) for name in ("forgotten", "other")}
    group = mess.workers("forgotten", 2)
    mess.cloud.in_service(group, 2)
    time.sleep(3)
    called = mess.function("forgotten", "forgotten-bucket")
    assert called.returncode == 0, called.stderr
    wait_until(lambda: mess.is_empty(group), "the end of the workers")
    wait_until(lambda: mess.cloud.state(heads["forgotten"]) == "stopped", "the end of the head")
    assert mess.cloud.state(heads["other"]) == "running"
    lease = json.loads(mess.s3.get_object(Bucket="forgotten-bucket", Key="control/lease.json")["Body"].read())
    assert lease["fired"]["by"] == "reaper"

    mess.s3.put_object(Bucket="other-bucket", Key="control/lease.json", Body=b"{")
    failed = mess.function("other", "other-bucket")
    assert failed.returncode != 0 and "ReapingError" in failed.stderr and "cannot be understood" in failed.stderr
    assert mess.cloud.state(heads["other"]) == "running"


def test_the_schedule_calls_the_function_which_ends_what_has_outlived_its_lease(mess: Mess) -> None:
    mess.bucket("forgotten", "forgotten-bucket", lasts_s=1, switch=AT_ONCE)
    head = mess.head("forgotten")
    group = mess.workers("forgotten", 1)
    mess.cloud.in_service(group, 1)
    mess.schedule("forgotten", "forgotten-bucket")
    wait_until(lambda: mess.is_empty(group), "the end of the worker", 240)
    wait_until(lambda: mess.cloud.state(head) == "stopped", "the end of the head", 240)
    wait_until(lambda: "the cluster has outlived its lease" in mess.scheduled_log(), "the function's log", 240)
    called = json.loads(mess.cloud.client("lambda").invoke(FunctionName="reaper")["Payload"].read())
    assert called["cluster"] == "forgotten" and called["ended"] == [], "nothing is left"
