"""A machine that prepares itself: cloud-init runs the shipped user data, and the bundle comes by the node's role."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from controller.edges.archive import packed
from tests.support.local_cloud import wait_until
from tests.support.machine_cloud import MachineCloud
from tests.support.user_data import user_data, worker_every_boot

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.needs_tool("machines"), pytest.mark.timeout(1500)]
LIMIT_S = 300.0
BUCKET = "unit-bucket"
APPLY = """
import json, os, pathlib, sys
given = json.load(sys.stdin)
root = pathlib.Path(os.path.expanduser("~/centavo"))
(root / "services").mkdir(parents=True, exist_ok=True)
(root / "services" / "worker.conf").touch()
with open(root / "applied", "a") as file:
    file.write(given["here"]["instance_id"] + " as " + os.environ["USER"] + "\\n")
"""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MachineCloud]:
    with MachineCloud(tmp_path_factory.mktemp("cloud")) as one:
        iam = one.client("iam")
        iam.create_role(RoleName="node", AssumeRolePolicyDocument="{}")
        policy = {"Effect": "Allow", "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": "*"}
        document = json.dumps({"Version": "2012-10-17", "Statement": [policy]})
        iam.put_role_policy(RoleName="node", PolicyName="bucket", PolicyDocument=document)
        iam.create_instance_profile(InstanceProfileName="node")
        iam.add_role_to_instance_profile(InstanceProfileName="node", RoleName="node")
        one.client("s3").create_bucket(Bucket=BUCKET)
        yield one


def put(cloud: MachineCloud, key: str, content: bytes | dict[str, Any]) -> None:
    body = json.dumps(content).encode() if isinstance(content, dict) else content
    cloud.client("s3").put_object(Bucket=BUCKET, Key=key, Body=body)


def publish(cloud: MachineCloud) -> None:
    """Writes lease, bundle and pointer of a run that no controller owns."""
    bundle = packed({"variables.json": (b"{}", 0o644), "ansible/bin/apply_here.py": (APPLY.encode(), 0o644)})
    digest = hashlib.sha256(bundle).hexdigest()
    put(cloud, f"control/boot/{digest}.tar.gz", bundle)
    pointer = {"version": 1, "cluster": "unit", "run": "run-1", "sha256": digest, "root": "~/centavo"}
    put(cloud, "control/boot.json", {**pointer, "key": f"control/boot/{digest}.tar.gz", "when": "unowned"})
    lease = {"run": "run-1", "stage": "training", "fired": None, "released": True, "lasts_s": 60.0}
    put(cloud, "control/lease.json", {**lease, "holder": {"checkout": "a-checkout"}})


def said(cloud: MachineCloud, instance_id: str, command: str) -> str:
    """Returns what a command prints on a machine, which may be booting."""
    return cloud.ssh(cloud.public_address(instance_id), command).stdout


def test_a_machine_prepares_itself_at_its_boot_or_later_and_once(cloud: MachineCloud) -> None:
    data = user_data(worker_every_boot(BUCKET, "unit", login_user="admin"), login_user="admin")
    early = cloud.launch("head", UserData=data, IamInstanceProfile={"Name": "node"})
    assert cloud.finished(early) == "done"
    assert "names no bundle yet" in cloud.on(early, "sudo -n cat /var/log/cloud-init-output.log")
    publish(cloud)
    applied = "cat ~/centavo/applied 2>/dev/null || true"
    wait_until(lambda: cloud.on(early, applied), "the program goes on after cloud-init has ended", LIMIT_S)
    late = cloud.launch("head", UserData=data, IamInstanceProfile={"Name": "node"})
    assert cloud.finished(late) == "done"
    assert cloud.on(late, applied) == f"{late} as admin", "cloud-init has waited for it"
    log = cloud.on(late, "sudo -n cat /var/log/cloud-init-output.log")
    assert "the node is warm after" in log
    cloud.on(late, "sudo -n touch /run/before")
    cloud.client("ec2").reboot_instances(InstanceIds=[late])
    has_rebooted = "test -e /run/before || cloud-init status"
    wait_until(lambda: "done" in said(cloud, late, has_rebooted), "the second boot has ended", LIMIT_S)
    assert cloud.on(late, applied) == f"{late} as admin", "it was prepared before"
    assert cloud.on(early, applied) == f"{early} as admin"
