"""The shipped modules against localcloud with the real AWS provider: apply, a clean plan, a move, destroy."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.local_cloud import REPOSITORY, LocalCloud, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(2400),
    pytest.mark.skipif(shutil.which("terraform") is None, reason="Terraform is not installed"),
]

NO_CHANGES = 0
CHANGES = 2


class Terraform:
    """A copy of the repository's `local` environment, on a cloud's own slice of loopback and ports."""

    def __init__(self, root: Path, cloud: LocalCloud) -> None:
        self.root = root
        self.directory = root / "terraform" / "environments" / "local"
        shutil.copytree(
            REPOSITORY / "terraform",
            root / "terraform",
            ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*", "*.json"),
        )
        main = self.directory / "main.tf"
        text = re.sub(r'vpc_cidr(\s*)= "[^"]+"', f'vpc_cidr = "{cloud.config["vpc_cidr"]}"', main.read_text())
        main.write_text(re.sub(r"ssh_port(\s*)= \d+", f"ssh_port = {cloud.config['ssh_port']}", text))
        public_key = cloud.key_file.with_suffix(".pub").read_text()
        self.environment = {
            **os.environ,
            **cloud.environment,
            "TF_IN_AUTOMATION": "1",
            "TF_VAR_ssh_public_key": public_key,
        }
        subprocess.run(
            [sys.executable, root / "terraform" / "init", "local"],
            cwd=root,
            env=self.environment,
            check=True,
            timeout=900,
        )
        if (root / ".centavo" / "terraform.rc").exists():
            self.environment["TF_CLI_CONFIG_FILE"] = str(root / ".centavo" / "terraform.rc")

    def write_capacity(self, **flavors: int) -> None:
        capacity = {name.replace("_", "."): nodes for name, nodes in flavors.items()}
        (self.directory / "capacity.auto.tfvars.json").write_text(json.dumps({"capacity": capacity}))

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["terraform", *arguments, "-no-color"], cwd=self.directory, env=self.environment,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip


def test_the_modules_apply_plan_clean_follow_the_capacity_and_are_destroyed(tmp_path: Path) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        # The modules make a network of their own in the same slice.
        cloud.ec2.delete_subnet(SubnetId=cloud.subnet)
        cloud.ec2.delete_vpc(VpcId=cloud.vpc)
        terraform = Terraform(tmp_path, cloud)
        terraform.write_capacity(t2_medium=1, c5_large=1)
        applied = terraform("apply", "-auto-approve", "-input=false")
        assert applied.returncode == 0, applied.stderr
        again = terraform("plan", "-detailed-exitcode", "-input=false")
        assert again.returncode == NO_CHANGES, again.stdout

        outputs = json.loads(terraform("output", "-json").stdout)
        group = outputs["flavors"]["value"]["c5.large"]["autoscaling_group"]
        (worker,) = cloud.in_service(group, 1)
        head = outputs["head"]["value"]
        for instance_id in (worker, head["instance_id"]):
            answer = cloud.ssh(cloud.ready(instance_id), "echo $CENTAVO_LOCALCLOUD_INSTANCE")
            assert answer.stdout.strip() == instance_id

        terraform.write_capacity(t2_medium=1, c5_large=3)
        assert terraform("plan", "-detailed-exitcode", "-input=false").returncode == CHANGES
        moved = terraform("apply", "-auto-approve", "-input=false")
        assert moved.returncode == 0, moved.stderr
        assert worker in cloud.in_service(group, 3)

        destroyed = terraform("destroy", "-auto-approve", "-input=false")
        assert destroyed.returncode == 0, destroyed.stderr
        wait_until(
            lambda: {entry["state"] for entry in cloud.control("status")["instances"]} <= {"terminated"},
            "the end of all",
        )
        assert cloud.ec2.describe_network_interfaces()["NetworkInterfaces"] == []
