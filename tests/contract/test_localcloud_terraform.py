"""The shipped environments against localcloud with the real AWS provider: apply, clean plan, tags, move, destroy."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
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

LABEL = """
import sys
from types import SimpleNamespace as Given
from controller.act.labels import Labels
from controller.domain.observed.fact import TrainingState
from controller.edges.aws import Aws
cluster, run, worker, *groups = sys.argv[1:]
aws, calls = Aws("us-east-1"), []
made = Given(outputs=Given(flavors={group: Given(autoscaling_group=group) for group in groups}))
labels = Labels(aws, made, run, lambda: calls.append(1))
training = Given(state=TrainingState.TRAINING, rank=0, world_size=1, instance_id=worker)
labels.keep_true(aws.instances(cluster), Given(facts=[training]))
wrote = len(calls)
labels.keep_true(aws.instances(cluster), Given(facts=[training]))
sys.exit(0 if len(calls) == wrote else "a second pass writes tags again")
"""
"""Does what a pass of a run does with names, by the program of the run."""
RUN = "20261123T000000Z"
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

        groups = sorted(flavor["autoscaling_group"] for flavor in outputs["flavors"]["value"].values())
        (other,) = cloud.in_service(outputs["flavors"]["value"]["t2.medium"]["autoscaling_group"], 1)
        label(terraform, outputs["cluster"]["value"], worker, groups)
        tags = tags_of(cloud, groups)
        assert {*tags.of_instances} == {worker, other, head["instance_id"]}
        assert tags.runs_of_groups == tags.runs_of_instances == tags.runs_of_volumes == {RUN}, tags
        ranked = (tags.of_instances[worker], *tags.volumes_of[worker])
        assert {one[key] for one in ranked for key in ("centavo:rank", "Name")} == {f"centavo-{RUN}-0"}
        again = terraform("plan", "-detailed-exitcode", "-input=false")
        assert again.returncode == NO_CHANGES, f"Terraform would take the names away again: {again.stdout}"

        terraform.write_capacity(t2_medium=1, c5_large=3)
        assert terraform("plan", "-detailed-exitcode", "-input=false").returncode == CHANGES
        moved = terraform("apply", "-auto-approve", "-input=false")
        assert moved.returncode == 0, moved.stderr
        assert worker in cloud.in_service(group, 3)
        tags = tags_of(cloud, groups)
        assert tags.runs_of_groups == tags.runs_of_instances == {RUN}, "an apply keeps them, and new nodes have the run"
        assert tags.of_instances[worker]["centavo:rank"] == f"centavo-{RUN}-0"
        label(terraform, outputs["cluster"]["value"], worker, groups)
        assert tags_of(cloud, groups).runs_of_volumes == {RUN}
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


@dataclass(frozen=True)
class Tags:
    """The tags as AWS tells them.

    Attributes:
        of_groups: By the group's name.
        of_instances: By the id of an instance that lives.
        volumes_of: Those of each volume, by the id of the instance that has it.
    """

    of_groups: dict[str, dict[str, str]]
    of_instances: dict[str, dict[str, str]]
    volumes_of: dict[str, list[dict[str, str]]]

    @property
    def runs_of_groups(self) -> set[str]:
        return {tags.get("centavo:run", "") for tags in self.of_groups.values()}

    @property
    def runs_of_instances(self) -> set[str]:
        return {tags.get("centavo:run", "") for tags in self.of_instances.values()}

    @property
    def runs_of_volumes(self) -> set[str]:
        assert all(self.volumes_of[one] for one in self.of_instances)
        return {tags.get("centavo:run", "") for found in self.volumes_of.values() for tags in found}


def tags_of(cloud: LocalCloud, groups: list[str]) -> Tags:
    """Reads the tags of groups, of all instances that live, and of their volumes.

    moto gives an instance of a group a volume too many. Only those count that the instance shows.
    """
    living = [{"Name": "instance-state-name", "Values": ["pending", "running"]}]
    found = cloud.ec2.describe_instances(Filters=living)["Reservations"]
    instances = {one["InstanceId"]: one for reservation in found for one in reservation["Instances"]}
    described = cloud.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=groups)["AutoScalingGroups"]
    volumes = {one["VolumeId"]: _pairs(one.get("Tags", [])) for one in cloud.ec2.describe_volumes()["Volumes"]}
    return Tags(
        {one["AutoScalingGroupName"]: _pairs(one["Tags"]) for one in described},
        {instance_id: _pairs(one.get("Tags", [])) for instance_id, one in instances.items()},
        {
            instance_id: [volumes[device["Ebs"]["VolumeId"]] for device in one["BlockDeviceMappings"]]
            for instance_id, one in instances.items()
        },
    )


def _pairs(tags: list[dict[str, str]]) -> dict[str, str]:
    return {tag["Key"]: tag["Value"] for tag in tags}


def label(terraform: Terraform, cluster: str, worker: str, groups: list[str]) -> None:
    """Writes the names of run and rank, as a run's passes do, in a process that takes this cloud's credentials."""
    done = subprocess.run(
        [sys.executable, "-c", LABEL, cluster, RUN, worker, *groups],
        cwd=REPOSITORY, env=terraform.environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


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
