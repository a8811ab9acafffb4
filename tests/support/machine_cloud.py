"""A localcloud with machines for tests: its own ranges, a VPC with a public and a private subnet, two groups."""

from __future__ import annotations

import ipaddress
import json
import random
import subprocess
from pathlib import Path
from typing import Any

from tests.support.local_cloud import LocalCloud, wait_until

DEBIAN = "136693071363"
BOOT_LIMIT_S = 300.0


def random_ranges() -> dict[str, str]:
    """Returns ranges that hardly any other test uses at the same time."""
    second, eighth = random.SystemRandom().randrange(64, 250), random.SystemRandom().randrange(8)
    return {"private_cidr": f"10.{second}.0.0/16", "public_cidr": f"198.51.100.{32 * eighth}/27"}


class MachineCloud(LocalCloud):
    """A running cloud of machines. Its network: a public subnet, a private one behind a NAT gateway, two groups."""

    def __init__(self, directory: Path, **entries: Any) -> None:
        self.ranges = random_ranges()
        super().__init__(directory, hosts="machine", machines=self.ranges, **entries)

    @property
    def outside(self) -> str:
        """The address from which this machine calls public addresses."""
        return str(ipaddress.IPv4Network(self.ranges["public_cidr"])[-2])

    def _make_network(self) -> None:
        self.ec2, self.autoscaling = self.client("ec2"), self.client("autoscaling")
        self.vpc = self.ec2.create_vpc(CidrBlock=self.ranges["private_cidr"])["Vpc"]["VpcId"]
        prefix = self.ranges["private_cidr"].removesuffix(".0.0/16")
        self.public_subnet, self.subnet = self._subnet(f"{prefix}.128.0/20"), self._subnet(f"{prefix}.0.0/20")
        gateway = self.ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        self.ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=self.vpc)
        self._route(self.public_subnet, GatewayId=gateway)
        address = self.ec2.allocate_address(Domain="vpc")["AllocationId"]
        answer = self.ec2.create_nat_gateway(SubnetId=self.public_subnet, AllocationId=address)
        self.nat_gateway = answer["NatGateway"]["NatGatewayId"]
        self._route(self.subnet, NatGatewayId=self.nat_gateway)
        self.head_group, self.worker_group = self._group("head"), self._group("worker")
        self.allow(self.head_group, 22, CidrIp=f"{self.outside}/32")
        self.allow(self.worker_group, 22, group=self.head_group)
        public_key = self.key_file.with_suffix(".pub").read_bytes()
        self.ec2.import_key_pair(KeyName="tests", PublicKeyMaterial=public_key)
        self.image = self.ec2.describe_images(Owners=[DEBIAN])["Images"][0]["ImageId"]

    def _subnet(self, cidr: str) -> str:
        subnet = self.ec2.create_subnet(VpcId=self.vpc, CidrBlock=cidr, AvailabilityZone="us-east-1a")
        return str(subnet["Subnet"]["SubnetId"])

    def _route(self, subnet: str, **target: str) -> None:
        table = self.ec2.create_route_table(VpcId=self.vpc)["RouteTable"]["RouteTableId"]
        self.ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", **target)
        self.ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)

    def _group(self, name: str) -> str:
        return str(self.ec2.create_security_group(GroupName=name, Description=name, VpcId=self.vpc)["GroupId"])

    def allow(self, to: str, port: int, group: str | None = None, **cidr: str) -> None:
        """Lets TCP pass to the members of a group."""
        self.ec2.authorize_security_group_ingress(GroupId=to, IpPermissions=[self._permission(port, group, cidr)])

    def forbid(self, to: str, port: int, group: str | None = None, **cidr: str) -> None:
        """Takes back what `allow` allowed."""
        self.ec2.revoke_security_group_ingress(GroupId=to, IpPermissions=[self._permission(port, group, cidr)])

    @staticmethod
    def _permission(port: int, group: str | None, cidr: dict[str, str]) -> dict[str, Any]:
        peers: dict[str, Any] = {"UserIdGroupPairs": [{"GroupId": group}]} if group else {"IpRanges": [cidr]}
        return {"IpProtocol": "tcp", "FromPort": port, "ToPort": port, **peers}

    def launch(self, role: str, **entries: Any) -> str:
        """Launches a head, with a public address, or a worker, without one. Returns its id."""
        is_head = role == "head"
        interface = {
            "DeviceIndex": 0,
            "SubnetId": self.public_subnet if is_head else self.subnet,
            "Groups": [self.head_group if is_head else self.worker_group],
            "AssociatePublicIpAddress": is_head,
        }
        request = {
            "ImageId": self.image, "InstanceType": "t3.micro", "KeyName": "tests", "MinCount": 1, "MaxCount": 1,
            "NetworkInterfaces": [interface], "MetadataOptions": {"HttpTokens": "required"}, **entries,
        }  # fmt: skip
        return str(self.ec2.run_instances(**request)["Instances"][0]["InstanceId"])

    def ready(self, instance_id: str) -> str:
        """Waits until SSH answers on an instance. Returns its private address."""
        wait_until(lambda: self.host(instance_id)["host"] == "ready", f"the host of {instance_id}", BOOT_LIMIT_S)
        return self.address(instance_id)

    def finished(self, instance_id: str) -> str:
        """Waits until cloud-init has ended on an instance. Returns what became of the user data."""
        self.ready(instance_id)
        done = wait_until(
            lambda: self.host(instance_id)["user_data"] not in ("running", "none") and self.host(instance_id),
            f"the user data of {instance_id}", BOOT_LIMIT_S,
        )  # fmt: skip
        return str(done["user_data"])

    def public_address(self, instance_id: str) -> str:
        return str(self.describe(instance_id)["PublicIpAddress"])

    def ssh_arguments(self, address: str, *remote: str, options: Any = ()) -> list[str]:
        usual = [word.replace("ConnectTimeout=60", "ConnectTimeout=20") for word in self.ssh_options()]
        usual = [word.replace(f"Port={self.config['ssh_port']}", "Port=22") for word in usual]
        return ["ssh", *usual, *options, f"admin@{address}", *remote]

    def on(self, instance_id: str, command: str) -> str:
        """Runs a command on the head, and returns what it printed."""
        done = self.ssh(self.public_address(instance_id), command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def through(self, head: str, address: str, command: str, connect_s: int = 20) -> subprocess.CompletedProcess[str]:
        """Runs a command on a worker, through the head."""
        jump = " ".join(self.ssh_arguments(self.public_address(head), options=["-W", "%h:%p"]))
        return self.ssh(address, command, options=["-o", f"ProxyCommand={jump}", "-o", f"ConnectTimeout={connect_s}"])


def traces() -> dict[str, list[str]]:
    """Returns what clouds can leave on this machine, to be compared before and after."""
    routes = json.loads(subprocess.run(["ip", "-j", "-4", "route"], capture_output=True, text=True, check=True).stdout)
    listed = {
        "namespaces": ["ip", "netns"],
        "links": ["ip", "-br", "link"],
        "tables": ["nft", "list", "tables"],
        "loop devices": ["losetup", "--list", "--noheadings", "--output", "BACK-FILE"],
    }
    found = {
        name: sorted(subprocess.run(words, capture_output=True, text=True, check=True).stdout.splitlines())
        for name, words in listed.items()
    }
    found["routes"] = sorted(f"{route.get('type', '')} {route['dst']}" for route in routes)
    found["mounts"] = sorted(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines())
    found["control groups"] = sorted(str(path) for path in Path("/sys/fs/cgroup").glob("**/cv*"))
    found["forwarding"] = [
        f"{path.parent.name} {path.read_text().strip()}"
        for path in sorted(Path("/proc/sys/net/ipv4/conf").glob("*/forwarding"))
    ]
    found["machines"] = sorted(
        entry.name for entry in Path("/proc").glob("[0-9]*") if b"systemd-nspawn" in _read(entry / "cmdline")
    )
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
