"""A localcloud for tests: a daemon with free ports and its own slice of loopback, which ends with the test."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import random
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import boto3
import yaml
from botocore.config import Config

from localcloud.credentials import Credentials

REPOSITORY = Path(__file__).resolve().parents[2]
IMAGE = "ami-12c6146b"
POLL_S = 0.05


def wait_until(condition: Callable[[], Any], what: str, limit_s: float = 120.0) -> Any:
    """Returns the first true value of `condition`. After `limit_s` seconds an AssertionError names `what`."""
    limit = time.monotonic() + limit_s
    while not (value := condition()):
        assert time.monotonic() < limit, f"waited {limit_s} s in vain: {what}"
        time.sleep(POLL_S)
    return value


def free_port() -> int:
    """Returns a TCP port that nobody listens on, on any address.

    It lies below the ports that Linux gives to connections and to servers that ask for any port. A host whose instance
    is stopped gives its port up, and would otherwise find it taken when the instance is started again.
    """
    while True:
        port = random.SystemRandom().randrange(10_000, 32_768)
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("0.0.0.0", port))
            return port


def random_slice() -> str:
    """Returns a /16 network of loopback that hardly any other test uses at the same time."""
    return f"127.{random.SystemRandom().randrange(64, 250)}.0.0/16"


def command(*arguments: str, state_dir: Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs `python -m localcloud` to its end."""
    return subprocess.run(
        [sys.executable, "-m", "localcloud", *arguments, "--state-dir", str(state_dir)],
        cwd=options.pop("cwd", REPOSITORY), capture_output=True, text=True, timeout=500, check=False, **options,
    )  # fmt: skip


def write_config(path: Path, **entries: Any) -> dict[str, Any]:
    """Writes a configuration file with free ports, and returns its entries."""
    config = {
        "port": free_port(),
        "ssh_port": free_port(),
        "metadata_port": free_port(),
        "vpc_cidr": random_slice(),
        "boot_delay_s": 0.1,
        "shutdown_grace_s": 1.0,
        "scaling_retry_s": 0.3,
        **entries,
    }
    path.write_text(yaml.safe_dump(config))
    return config


SSH_FAILED = 255
"""The exit status of OpenSSH's client where the connection fails."""


class LocalCloud:
    """A running cloud with what tests need in it: clients, a network, a key, launch templates and groups."""

    def __init__(self, directory: Path, **entries: Any) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        self.state_dir = directory / "state"
        self.config_file = directory / "localcloud.yml"
        self.config = write_config(self.config_file, **entries)
        self.key_file = directory / "id_ed25519"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key_file], check=True)
        self._groups = 0

    def __enter__(self) -> LocalCloud:
        result = command("up", "--config", str(self.config_file), state_dir=self.state_dir)
        assert result.returncode == 0, result.stderr
        self._make_network()
        return self

    def __exit__(self, *_: object) -> None:
        result = command("down", state_dir=self.state_dir)
        assert result.returncode == 0, result.stderr

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.config['port']}"

    @property
    def environment(self) -> dict[str, str]:
        """The variables that make AWS clients use this cloud."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.credentials.user.access_key_id,
            "AWS_SECRET_ACCESS_KEY": self.credentials.user.secret_access_key,
            "AWS_REGION": "us-east-1",
        }

    @property
    def credentials(self) -> Credentials:
        """The secrets that the cloud made when it started."""
        return Credentials.from_text((self.state_dir / "credentials").read_text())

    def client(self, service: str, **config: Any) -> Any:
        """Returns a boto3 client, which does not retry. `config` holds further entries of botocore's configuration."""
        key = self.credentials.user
        return boto3.client(
            service, endpoint_url=self.endpoint, region_name="us-east-1",
            aws_access_key_id=key.access_key_id, aws_secret_access_key=key.secret_access_key,
            config=Config(**{"retries": {"total_max_attempts": 1}, **config}),
        )  # fmt: skip

    def _make_network(self) -> None:
        self.ec2 = self.client("ec2")
        self.autoscaling = self.client("autoscaling")
        self.vpc = self.ec2.create_vpc(CidrBlock=self.config["vpc_cidr"])["Vpc"]["VpcId"]
        prefix = self.config["vpc_cidr"].removesuffix(".0.0/16")
        self.subnet_cidr = f"{prefix}.1.0/24"
        subnet = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock=self.subnet_cidr, AvailabilityZone="us-east-1a")
        self.subnet = subnet["Subnet"]["SubnetId"]
        public_key = self.key_file.with_suffix(".pub").read_bytes()
        self.ec2.import_key_pair(KeyName="tests", PublicKeyMaterial=public_key)

    def template(self, flavor: str = "c5.large", user_data: str | None = None, **entries: Any) -> str:
        """Creates a launch template, and returns its id."""
        self._groups += 1
        data: dict[str, Any] = {
            "ImageId": IMAGE,
            "InstanceType": flavor,
            "KeyName": "tests",
            "MetadataOptions": {"HttpTokens": "required", "InstanceMetadataTags": "enabled"},
            **entries,
        }
        if user_data is not None:
            data["UserData"] = base64.b64encode(user_data.encode()).decode()
        name = f"template-{self._groups}"
        answer = self.ec2.create_launch_template(LaunchTemplateName=name, LaunchTemplateData=data)
        return str(answer["LaunchTemplate"]["LaunchTemplateId"])

    def group(self, desired: int, template: str | None = None, **entries: Any) -> str:
        """Creates an Auto Scaling group, and returns its name."""
        template = template or self.template()
        self._groups += 1
        name = f"group-{self._groups}"
        self.autoscaling.create_auto_scaling_group(
            AutoScalingGroupName=name,
            **{
                "MinSize": 0,
                "MaxSize": 20,
                "DesiredCapacity": desired,
                "VPCZoneIdentifier": self.subnet,
                "LaunchTemplate": {"LaunchTemplateId": template, "Version": "$Latest"},
                **entries,
            },
        )
        return name

    def delete_group(self, name: str) -> None:
        """Deletes a group with its instances, and waits until both are gone."""
        members = [member["InstanceId"] for member in self.members(name)]
        self.autoscaling.delete_auto_scaling_group(AutoScalingGroupName=name, ForceDelete=True)
        wait_until(lambda: not self.described(name), f"the end of {name}")
        assert {self.state(member) for member in members} <= {"terminated"}

    def members(self, group: str) -> list[dict[str, Any]]:
        """Returns a group's instances as DescribeAutoScalingGroups shows them."""
        return list(self.described(group)[0]["Instances"])

    def described(self, name: str) -> list[dict[str, Any]]:
        """Returns a list with a group as DescribeAutoScalingGroups shows it; empty if there is no such group."""
        answer = self.autoscaling.describe_auto_scaling_groups(AutoScalingGroupNames=[name])
        return list(answer["AutoScalingGroups"])

    def in_service(self, group: str, count: int) -> list[str]:
        """Waits until a group has exactly `count` instances, all in service. Returns their ids."""

        def settled() -> list[str] | None:
            members = self.members(group)
            ready = [member["InstanceId"] for member in members if member["LifecycleState"] == "InService"]
            return [*ready, ""] if len(ready) == len(members) == count else None

        return list(wait_until(settled, f"{count} instances of {group} in service"))[:-1]

    def activities(self, group: str) -> list[dict[str, Any]]:
        """Returns a group's activities, newest first."""
        return list(self.autoscaling.describe_scaling_activities(AutoScalingGroupName=group)["Activities"])

    def run(self, **entries: Any) -> str:
        """Launches one instance, and returns its id."""
        return str(self.launch(**entries)["InstanceId"])

    def launch(self, **entries: Any) -> dict[str, Any]:
        """Launches one instance, and returns it as RunInstances answers."""
        request = {
            "ImageId": IMAGE, "InstanceType": "t3.micro", "KeyName": "tests", "SubnetId": self.subnet,
            "MinCount": 1, "MaxCount": 1, **entries,
        }  # fmt: skip
        return dict(self.ec2.run_instances(**request)["Instances"][0])

    def describe(self, instance_id: str) -> dict[str, Any]:
        """Returns an instance as DescribeInstances shows it."""
        answer = self.ec2.describe_instances(InstanceIds=[instance_id])
        return dict(answer["Reservations"][0]["Instances"][0])

    def state(self, instance_id: str) -> str:
        return str(self.describe(instance_id)["State"]["Name"])

    def address(self, instance_id: str) -> str:
        return str(self.describe(instance_id)["PrivateIpAddress"])

    def ready(self, instance_id: str) -> str:
        """Waits until an instance's host is ready. Returns its address."""
        wait_until(lambda: self.host(instance_id)["host"] == "ready", f"the host of {instance_id}")
        return self.address(instance_id)

    def host(self, instance_id: str) -> dict[str, Any]:
        """Returns an instance as the control API shows it."""
        return next(entry for entry in self.control("status")["instances"] if entry["instance_id"] == instance_id)

    def control(self, action: str, document: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Asks the control API. Raises AssertionError with its message if it refuses."""
        body = None if document is None else json.dumps(document).encode()
        token = {"Authorization": f"Bearer {self.credentials.control_token}"}
        request = urllib.request.Request(f"{self.endpoint}/_localcloud/{action}", data=body, headers=token)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return dict(json.load(answer))
        except urllib.error.HTTPError as error:
            raise AssertionError(f"{error.code}: {json.load(error)['error']}") from None

    def ssh_options(self) -> list[str]:
        """Returns options with which OpenSSH reaches the hosts of this cloud."""
        options = {
            "IdentityFile": self.key_file,
            "IdentitiesOnly": "yes",
            "StrictHostKeyChecking": "no",
            "UserKnownHostsFile": "/dev/null",
            "LogLevel": "ERROR",
            "BatchMode": "yes",
            "ConnectTimeout": "60",
            "Port": self.config["ssh_port"],
        }
        return ["-F", "none", *(word for name, value in options.items() for word in ("-o", f"{name}={value}"))]

    def ssh_arguments(self, address: str, *remote: str, options: Sequence[str] = ()) -> list[str]:
        return ["ssh", *self.ssh_options(), *options, f"worker@{address}", *remote]

    def ssh(self, address: str, *remote: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Runs a command on a host with OpenSSH's client. One that takes longer than two minutes has failed."""
        extra = options.pop("options", ())
        arguments = self.ssh_arguments(address, *remote, options=extra)
        try:
            return subprocess.run(arguments, capture_output=True, text=True, timeout=120, check=False, **options)
        except subprocess.TimeoutExpired as error:
            return subprocess.CompletedProcess(arguments, SSH_FAILED, "", str(error))


def processes_with(marker: str) -> set[int]:
    """Returns the ids of the living processes whose environment holds `marker`."""
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            environment = (entry / "environ").read_bytes().split(b"\0")
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if marker.encode() in environment and state not in "ZX":
            found.add(int(entry.name))
    return found - {os.getpid()}


def is_alive(pid: int) -> bool:
    """Returns whether a process runs. A zombie does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    except OSError:
        return False
