"""A small cluster for a real night on localcloud, with short waits.

The wardens are real, under a real supervisor on hosts with roles. The groups protect their instances. A process that
renews the lease stands for the controller.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.support.local_cloud import LocalCloud, processes_with, wait_until
from tests.support.node_programs import place_programs, supervisor_ctl
from tests.support.roles import make_profile
from tests.support.terraform_module import TerraformModule
from tests.unit.controller.warden.stand_ins import document

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 300.0
SWITCH = {"lease_s": 30, "ended_s": 60, "stalled_s": 600, "worker_s": 40, "reaper_s": 60, "head": "stop"}
CONTROLLER = """
import sys, time, boto3
s3, body = boto3.client("s3"), sys.argv[1].encode()
while True:
    s3.put_object(Bucket="unit-bucket", Key="control/lease.json", Body=body)
    time.sleep(2)
"""
SERVICE = """[program:{name}]
command=sh -c 'trap "touch {saved}; exit 0" TERM; touch {begun}; while :; do sleep 0.2; done'
autostart=true
"""
WARDEN = """[program:warden]
command={python} -m warden {role} --config {root}/warden.json
environment=PYTHONPATH="{program}",PYTHONUNBUFFERED="1"
redirect_stderr=true
stdout_logfile={root}/log/warden.log
"""


class Cluster:
    """A head and two workers, all with a warden, and a process that renews the lease: the controller."""

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self.cloud, self.folder, self.s3 = cloud, folder, cloud.client("s3")
        (folder / "program").mkdir()
        (folder / "program" / "warden").symlink_to(ROOT / "controller" / "warden")
        self.s3.create_bucket(Bucket="unit-bucket")
        mark = [{"Key": "centavo:cluster", "Value": "unit"}]
        self.s3.put_bucket_tagging(Bucket="unit-bucket", Tagging={"TagSet": mark})
        profile = make_profile(cloud, "node", "s3:*", "autoscaling:*", "ec2:*")
        tags = [{"Key": "centavo:cluster", "Value": "unit"}, {"Key": "centavo:role", "Value": "head"}]
        self.head = cloud.run(
            IamInstanceProfile={"Name": profile}, TagSpecifications=[{"ResourceType": "instance", "Tags": tags}]
        )
        self.group = cloud.group(
            2,
            cloud.template(IamInstanceProfile={"Name": profile}),
            NewInstancesProtectedFromScaleIn=True,
            Tags=[{"Key": "centavo:cluster", "Value": "unit", "PropagateAtLaunch": True}],
        )
        self.workers = cloud.in_service(self.group, 2)
        self.controller = self._controller()
        wait_until(lambda: "Contents" in self.s3.list_objects_v2(Bucket="unit-bucket"), "the first lease", LIMIT_S)
        for instance_id in (self.head, *self.workers):
            self._prepare(instance_id)

    def _controller(self) -> subprocess.Popen[bytes]:
        lease = json.dumps(document(cluster="unit", lasts_s=SWITCH["lease_s"], switch=SWITCH))
        environment = {**self.cloud.environment, "AWS_DEFAULT_REGION": "us-east-1", "PATH": ""}
        return subprocess.Popen([sys.executable, "-c", CONTROLLER, lease], env=environment)

    def _prepare(self, instance_id: str) -> None:
        """Does what the roles do."""
        root, role = self.root(instance_id), "head" if instance_id == self.head else "worker"
        address = self.cloud.ready(instance_id)
        place_programs(root, Path(f"/tmp/centavo-{instance_id}"), root / "bin" / "start")
        (root / "facts.d").mkdir()
        settings: dict[str, Any] = {
            "cluster": "unit", "bucket": "unit-bucket", "region": "us-east-1", "instance_id": instance_id,
            "root": str(root), "fact_path": str(root / "facts.d"), "supervisor": supervisor_ctl(root).split(),
            "head_address": self.cloud.address(self.head), "head_port": self.cloud.config["ssh_port"],
        }  # fmt: skip
        (root / "warden.json").write_text(json.dumps(settings))
        (root / "run").write_text("run-1")
        service = "launcher" if role == "head" else "worker"
        begun = self.folder / f"begun-{instance_id}"
        text = SERVICE.format(name=service, saved=self.saved(instance_id), begun=begun)
        (root / "services" / f"{service}.conf").write_text(text)
        program = WARDEN.format(python=sys.executable, role=role, root=root, program=self.folder / "program")
        (root / "services" / "warden.conf").write_text(program)
        started = self.cloud.ssh(address, "centavo/bin/start")
        assert started.returncode == 0, started.stderr
        wait_until(lambda: "is held by ada on laptop" in self.log(instance_id), "the warden's first look", LIMIT_S)
        wait_until(begun.exists, "the service", LIMIT_S)

    def hang_warden(self, instance_id: str) -> None:
        """Stops the process of a node's warden, which keeps its memory and does nothing any more."""
        hanging = 0
        for pid in processes_with(f"CENTAVO_LOCALCLOUD_INSTANCE={instance_id}"):
            with contextlib.suppress(OSError):
                if b"\0warden\0" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGSTOP)
                    hanging += 1
        assert hanging == 1, f"{instance_id} has {hanging} wardens"

    def reaper(self, folder: Path) -> TerraformModule:
        """Applies the reaper's module, which calls the reaper each minute. Returns it."""
        arguments = {
            "name": "unit", "region": "us-east-1", "bucket": "unit-bucket", "bucket_arn": "arn:aws:s3:::unit-bucket",
            "minutes": 1,
        }  # fmt: skip
        module = TerraformModule(folder, self.cloud, "reaper", arguments)
        module.apply()
        return module

    def reaper_log(self) -> str:
        """Returns what the reaper's function has printed."""
        events = self.cloud.client("logs").filter_log_events(logGroupName="/centavo/unit/reaper")["events"]
        return "\n".join(event["message"] for event in events)

    def close(self) -> None:
        """Ends the process that renews the lease."""
        self.controller.kill()
        self.controller.wait()

    def root(self, instance_id: str) -> Path:
        return self.cloud.state_dir / "instances" / instance_id / "home" / "centavo"

    def saved(self, instance_id: str) -> Path:
        """What the service of a node leaves when it is stopped in order."""
        return self.folder / f"saved-{instance_id}"

    def log(self, instance_id: str) -> str:
        file = self.root(instance_id) / "log" / "warden.log"
        return file.read_text() if file.exists() else ""

    def lease(self) -> dict[str, Any]:
        answer = self.s3.get_object(Bucket="unit-bucket", Key="control/lease.json")
        return dict(json.loads(answer["Body"].read()))

    def desired(self) -> int:
        return int(self.cloud.described(self.group)[0]["DesiredCapacity"])
