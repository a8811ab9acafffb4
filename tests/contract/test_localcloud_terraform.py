"""The shipped environments against localcloud with the real AWS provider: apply, a clean plan, a move, destroy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.iam_policy import allowed
from tests.support.local_cloud import REPOSITORY, LocalCloud, wait_until

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,
    pytest.mark.timeout(2400),
    pytest.mark.needs_tool("terraform"),
]

NO_CHANGES = 0
CHANGES = 2
STATE_BUCKET = "centavo-state"
CALLS = REPOSITORY / "tests" / "golden" / "aws" / "calls.txt"


class Terraform:
    """A copy of an environment, with the ports and the slice of loopback of one cloud."""

    def __init__(self, root: Path, cloud: LocalCloud, name: str) -> None:
        self.directory = root / "terraform" / "environments" / name
        shutil.copytree(
            REPOSITORY / "terraform",
            root / "terraform",
            ignore=shutil.ignore_patterns(".terraform*", "*.tfstate*", "*.json", "backend.hcl"),
        )
        self.environment = {
            **os.environ,
            **cloud.environment,
            "TF_IN_AUTOMATION": "1",
            "TF_VAR_ssh_public_key": cloud.key_file.with_suffix(".pub").read_text(),
        }
        (self.directory / "sandbox_override.tf").write_text(self._override(cloud))
        if name == "aws":
            self._provide_state_bucket(cloud)
        init = [sys.executable, root / "terraform" / "init", name]
        subprocess.run(init, cwd=root, env=self.environment, check=True, timeout=900)
        if (root / ".centavo" / "terraform.rc").exists():
            self.environment["TF_CLI_CONFIG_FILE"] = str(root / ".centavo" / "terraform.rc")

    def _override(self, cloud: LocalCloud) -> str:
        """Returns the addresses and the SSH port of this cloud. Terraform merges them into main.tf."""
        return f"""
            provider "aws" {{ s3_use_path_style = true }}
            module "centavo" {{
              vpc_cidr = "{cloud.config["vpc_cidr"]}"
              ssh_port = {cloud.config["ssh_port"]}
            }}
            """

    def _provide_state_bucket(self, cloud: LocalCloud) -> None:
        cloud.client("s3").create_bucket(Bucket=STATE_BUCKET)
        backend = f'bucket = "{STATE_BUCKET}"\nregion = "us-east-1"\nuse_path_style = true\n'
        (self.directory / "backend.hcl").write_text(backend)

    def write_capacity(self, **flavors: int) -> None:
        capacity = {name.replace("_", "."): nodes for name, nodes in flavors.items()}
        (self.directory / "capacity.auto.tfvars.json").write_text(json.dumps({"capacity": capacity}))

    def __call__(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["terraform", *arguments, "-no-color"], cwd=self.directory, env=self.environment,
            capture_output=True, text=True, timeout=900, check=False,
        )  # fmt: skip


@pytest.mark.parametrize("environment", ["local", "aws"])
def test_an_environment_applies_plans_clean_follows_the_capacity_and_is_destroyed(
    tmp_path: Path, environment: str
) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        # The modules make a network of their own in the same slice.
        cloud.ec2.delete_subnet(SubnetId=cloud.subnet)
        cloud.ec2.delete_vpc(VpcId=cloud.vpc)
        terraform = Terraform(tmp_path, cloud, environment)
        terraform.write_capacity(t2_medium=1, c5_large=1)
        applied = terraform("apply", "-auto-approve", "-input=false")
        assert applied.returncode == 0, applied.stderr
        again = terraform("plan", "-detailed-exitcode", "-input=false")
        assert again.returncode == NO_CHANGES, again.stdout + again.stderr

        outputs = json.loads(terraform("output", "-json").stdout)
        group = outputs["flavors"]["value"]["c5.large"]["autoscaling_group"]
        (worker,) = cloud.in_service(group, 1)
        head = outputs["head"]["value"]
        for instance_id in (worker, head["instance_id"]):
            cloud.ready(instance_id)
        if environment == "local":
            for instance_id in (worker, head["instance_id"]):
                answer = cloud.ssh(cloud.address(instance_id), "echo $CENTAVO_LOCALCLOUD_INSTANCE")
                assert answer.stdout.strip() == instance_id

        terraform.write_capacity(t2_medium=1, c5_large=3)
        assert terraform("plan", "-detailed-exitcode", "-input=false").returncode == CHANGES
        moved = terraform("apply", "-auto-approve", "-input=false")
        assert moved.returncode == 0, moved.stderr
        assert worker in cloud.in_service(group, 3)
        again = terraform("plan", "-detailed-exitcode", "-input=false")
        assert again.returncode == NO_CHANGES, again.stdout + again.stderr

        if environment == "aws":
            use_what_the_controller_uses(cloud, terraform, group, worker)

        destroyed = terraform("destroy", "-auto-approve", "-input=false")
        assert destroyed.returncode == 0, destroyed.stderr
        wait_until(
            lambda: {entry["state"] for entry in cloud.control("status")["instances"]} <= {"terminated"},
            "the end of all",
        )
        if environment == "aws":
            assert_policy_allows_all(cloud)
        assert left_over(cloud) == {}


def use_what_the_controller_uses(cloud: LocalCloud, terraform: Terraform, group: str, worker: str) -> None:
    """Calls AWS as the controller does during a run, in a process of its own, which takes this cloud's credentials."""
    script = (
        "import sys; from controller.edges.aws import Aws; from controller.edges.prices import AwsPrices;"
        "from controller.edges.account.left_over import left_over;"
        "from controller.domain.prices.standing import EXTRAS; group, worker = sys.argv[1:]; aws = Aws('us-east-1');"
        "aws.instances('centavo'); aws.failures(group, 0); aws.desired([group]);"
        "aws.set_protection(group, [worker], protected=False); aws.reboot(worker); aws.end_instance(worker);"
        "aws.empty([group]); prices = AwsPrices('us-east-1'); prices.on_demand(['c5.large', *EXTRAS]);"
        "prices.spot({'c5.large': group}); left_over('us-east-1', 'centavo')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, group, worker], cwd=REPOSITORY, env=terraform.environment, check=False
    )
    assert done.returncode == 0


def assert_policy_allows_all(cloud: LocalCloud) -> None:
    """The policies of the person at the keyboard allow each call, and tests/golden/aws/calls.txt has each action.

    UPDATE_GOLDEN=1 writes the file anew.
    """
    here = {"aws:RequestedRegion": "us-east-1", "kms:ResourceAliases": "alias/centavo"}
    calls = [(call["action"], call["resource"]) for call in cloud.control("calls")["calls"]]
    actions = sorted({action for action, _ in calls})
    if os.environ.get("UPDATE_GOLDEN"):
        CALLS.parent.mkdir(exist_ok=True)
        CALLS.write_text("\n".join(actions) + "\n")
    assert [call for call in calls if not allowed(*call, here)] == []
    assert set(actions) <= set(CALLS.read_text().split())


def left_over(cloud: LocalCloud) -> dict[str, list[str]]:
    """Returns what a destroy should have removed and did not, except keys that wait for their deletion."""
    ec2, buckets = cloud.ec2, cloud.client("s3").list_buckets()["Buckets"]
    found = {
        "networks": [vpc["VpcId"] for vpc in ec2.describe_vpcs()["Vpcs"] if not vpc["IsDefault"]],
        "interfaces": [found["NetworkInterfaceId"] for found in ec2.describe_network_interfaces()["NetworkInterfaces"]],
        "addresses": [address["PublicIp"] for address in ec2.describe_addresses()["Addresses"]],
        "templates": [it["LaunchTemplateName"] for it in ec2.describe_launch_templates()["LaunchTemplates"]],
        "placement": [it["GroupName"] for it in ec2.describe_placement_groups()["PlacementGroups"]],
        "groups": [
            group["AutoScalingGroupName"]
            for group in cloud.autoscaling.describe_auto_scaling_groups()["AutoScalingGroups"]
        ],
        "buckets": [bucket["Name"] for bucket in buckets if bucket["Name"] != STATE_BUCKET],
        "logs": [group["logGroupName"] for group in cloud.client("logs").describe_log_groups()["logGroups"]],
        "roles": [role["RoleName"] for role in cloud.client("iam").list_roles()["Roles"]],
    }
    return {kind: names for kind, names in found.items() if names}
