"""Making the machine image in a rehearsal's cloud: `make image`'s script with the real Packer."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from tests.rehearse.place import HEAD, REGION, Place
from tests.rehearse.running import RehearsalError
from tests.support.packer import has_plugins, own_folder, without_what_is_too_new

CIDR = "10.20.240.0/24"
"""Where the image is made: in the cloud's range, and in none of the cluster's subnets."""
OWN_INIT = '#!/bin/sh\n[ "$1" != init ] || exit 0\nexec {packer} "$@"\n'
"""A Packer without plugins has no command `init`, and needs none."""


@dataclass(frozen=True)
class Bakery:
    """A subnet to make images in, and Packer's own folder. The template is a copy that leads to the cloud."""

    place: Place
    folder: Path

    def start(self, output: IO[str]) -> subprocess.Popen[str]:
        """Starts to make an image."""
        self._prepare_packer()
        variables = {"subnet_id": self._subnet(), "ssh_from": json.dumps(HEAD["ssh_from"]), "region": REGION}
        options = [word for name, value in variables.items() for word in ("-var", f"{name}={value}")]
        return subprocess.Popen(
            [self.place.root / "terraform" / "image" / "build", *options],
            cwd=self.place.root, env=self._environment(), text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def image(self) -> dict[str, Any]:
        """Returns the account's only image, as EC2 describes it."""
        (image,) = self.place.client("ec2").describe_images(Owners=["self"])["Images"]
        return dict(image)

    def left(self) -> list[str]:
        """Returns what Packer has left beside the image: instances, keys and security groups."""
        ec2 = self.place.client("ec2")
        living = [{"Name": "instance-state-name", "Values": ["pending", "running", "stopping", "stopped"]}]
        found = [
            one["InstanceId"]
            for reservation in ec2.describe_instances(Filters=living)["Reservations"]
            for one in reservation["Instances"]
        ]
        found += [key["KeyName"] for key in ec2.describe_key_pairs()["KeyPairs"]]
        groups = ec2.describe_security_groups()["SecurityGroups"]
        return found + [group["GroupName"] for group in groups if group["GroupName"] != "default"]

    def _prepare_packer(self) -> None:
        """Lets the template lead to the cloud, and be what the Packer of this machine can read."""
        file = self.place.root / "terraform" / "image" / "centavo.pkr.hcl"
        source = 'source "amazon-ebs" "node" {\n'
        template = file.read_text().replace(source, f'{source}  custom_endpoint_ec2 = "{self.place.endpoint}"\n')
        self.folder.mkdir()
        packer = shutil.which("packer")
        if packer is None:
            raise RehearsalError("Packer is missing. Install it: apt-get install packer")
        if not has_plugins(subprocess.run([packer, "version"], capture_output=True, text=True, check=True).stdout):
            template = without_what_is_too_new(template)
            program = self.folder / "packer"
            program.write_text(OWN_INIT.format(packer=packer))
            program.chmod(0o755)
        file.write_text(template)

    def _environment(self) -> dict[str, str]:
        usual = self.place.process_environment()
        return {**usual, **own_folder(self.folder), "PATH": f"{self.folder}:{usual['PATH']}", "PYTHON": sys.executable}

    def _subnet(self) -> str:
        """Makes a network with one subnet, which an internet gateway leads out of."""
        ec2 = self.place.client("ec2")
        vpc = ec2.create_vpc(CidrBlock=CIDR)["Vpc"]["VpcId"]
        subnet = ec2.create_subnet(VpcId=vpc, CidrBlock=CIDR, AvailabilityZone=f"{REGION}a")["Subnet"]["SubnetId"]
        gateway = ec2.create_internet_gateway()["InternetGateway"]["InternetGatewayId"]
        ec2.attach_internet_gateway(InternetGatewayId=gateway, VpcId=vpc)
        table = ec2.create_route_table(VpcId=vpc)["RouteTable"]["RouteTableId"]
        ec2.create_route(RouteTableId=table, DestinationCidrBlock="0.0.0.0/0", GatewayId=gateway)
        ec2.associate_route_table(RouteTableId=table, SubnetId=subnet)
        return str(subnet)
