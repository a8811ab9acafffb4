"""Where a rehearsal takes place: a copy of the checkout, a cloud of machines, and the variables that lead there.

The files of `terraform/environments/aws` are the shipped ones. What differs comes from environment variables, and from
the file that every user of the S3 backend writes, `backend.hcl`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import yaml

from tests.support.sandbox import LEFT_OUT, REPOSITORY, client_of, free_ports, process_environment

HERE = Path(__file__).parent
REGION = "us-east-1"
STATE_BUCKET = "centavo-rehearsal-state"
FLEET = {"t2.medium": 1, "c5.large": 1}
"""Both flavors, as in the shipped environment: the controller compares what it has measured."""
HEAD = {"instance_type": "t3.small", "volume_gb": 8, "ssh_from": ["198.51.100.254/32"]}
# How long the parts of a move take here, in seconds, and a margin that suits a training of minutes.
SWITCHING = {"boot_s": 20, "configure_s": 45, "pause_s": 3, "drain_s": 20}
FLAVORS = {"t2.medium": {"max_nodes": 3, "volume_gb": 8}, "c5.large": {"max_nodes": 3, "volume_gb": 8}}


@dataclass
class Place:
    """A copy of the checkout and its cloud. `variables` are what the rehearsal sets from outside.

    Attributes:
        desk: The checkout in which a person works; None where it is the cloud's.
    """

    root: Path
    port: int
    variables: dict[str, str] = field(default_factory=dict)
    desk: Path | None = None

    @property
    def checkout(self) -> Path:
        """The copy in which Centavo's commands run."""
        return self.desk or self.root

    def move_to(self, desk: Path) -> None:
        """Lets a person work in a new copy of the checkout from now on. It knows nothing of earlier runs."""
        shutil.copytree(REPOSITORY, desk, ignore=LEFT_OUT)
        self.desk = desk
        self._name_state_bucket()

    @property
    def environment(self) -> Path:
        """The environment's folder in the copy, whose files are as they are shipped."""
        return self.checkout / "terraform" / "environments" / "aws"

    @property
    def endpoint(self) -> str:
        """The URL of the cloud's API, on this machine and on its machines."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def latest_run(self) -> Path:
        """The folder of the last run."""
        return self.checkout / "runs" / "latest"

    def client(self, service: str) -> Any:
        """Returns a boto3 client of the cloud."""
        return client_of(self.root, self.endpoint, service)

    def centavo(self, *arguments: str, output: IO[str]) -> subprocess.Popen[str]:
        """Starts a command of Centavo for `ENV=aws` in a process group of its own."""
        root = self.checkout
        return self._start(root, "controller", "--root", str(root), "--env", "aws", *arguments, output=output)

    def localcloud(self, *arguments: str, output: IO[str]) -> subprocess.Popen[str]:
        """Starts a command of localcloud for the rehearsal's cloud."""
        cloud = ("--config", str(self.root / "cloud.yml"), "--state-dir", str(self.root / ".localcloud"))
        return self._start(self.root, "localcloud", *arguments, *cloud, output=output)

    def process_environment(self, root: Path | None = None) -> dict[str, str]:
        """Returns the environment variables of the rehearsal's processes in a copy of the checkout."""
        return {**process_environment(root or self.root), **self.variables}

    def write_backend(self) -> None:
        """Makes the bucket of Terraform's state and names it in `backend.hcl`, as a user does."""
        self.client("s3").create_bucket(Bucket=STATE_BUCKET)
        self._name_state_bucket()

    def _name_state_bucket(self) -> None:
        (self.environment / "backend.hcl").write_text(f'bucket = "{STATE_BUCKET}"\nregion = "{REGION}"\n')

    def _start(self, root: Path, module: str, *arguments: str, output: IO[str]) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", module, *arguments],
            cwd=root, env=self.process_environment(root), text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip


def make_place(root: Path) -> Place:
    """Copies the checkout to `root`, with a cloud's settings on free ports. Nothing is started."""
    shutil.copytree(REPOSITORY, root, ignore=LEFT_OUT)
    port, ssh, metadata = free_ports(3)
    cloud = yaml.safe_load((HERE / "cloud.yml").read_text())
    cloud |= {"port": port, "ssh_port": ssh, "metadata_port": metadata}
    (root / "cloud.yml").write_text(yaml.safe_dump(cloud, sort_keys=False))
    shutil.copy(root / "terraform" / "environments" / "aws" / "prices.yml", root / "prices.yml")
    place = Place(root, port)
    place.variables.update(outside(place))
    return place


def outside(place: Place) -> Mapping[str, str]:
    """Returns all that comes from outside of the environment's files: endpoints, and the number and types of nodes."""
    return {
        "AWS_ENDPOINT_URL": place.endpoint,
        "AWS_SHARED_CREDENTIALS_FILE": str(place.root / ".localcloud" / "credentials"),
        "AWS_EC2_METADATA_DISABLED": "true",
        "TF_VAR_flavors": json.dumps(FLAVORS),
        "TF_VAR_head": json.dumps(HEAD),
        "CENTAVO__FLEET__INITIAL": json.dumps(FLEET),
        "CENTAVO__LIMITS__MIN_NODES": str(sum(FLEET.values())),
        "CENTAVO__LIMITS__MAX_NODES": str(sum(FLEET.values())),
        "CENTAVO__TRAINING__CONFIG": "tests/rehearse/training.yml",
        "CENTAVO__CONTROLLER__INTERVAL_S": "15",
        "CENTAVO__CONTROLLER__MINIMUM_WINDOW": "20",
        "CENTAVO__CONTROLLER__COOLDOWN_S": "0",
        "CENTAVO__CONTROLLER__DECIDE__SWITCHING": json.dumps(SWITCHING),
        "CENTAVO__CONTROLLER__DECIDE__SWITCHING_MARGIN": "0",
    }
