"""Keys of who controls a cluster, on another machine or at the head: a node lets them in, and no longer than needed."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from controller.edges.bucket.objects import BucketObjects
from controller.owning.offering import offer_head_key, offer_key
from tests.support.local_cloud import REPOSITORY, LocalCloud, wait_until
from tests.support.roles import make_profile
from tests.unit.controller.warden.stand_ins import document

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]
LET_IN_S = 60.0
BUCKET = "unit-bucket"


class Head:
    """A head on localcloud, with a warden."""

    def __init__(self, cloud: LocalCloud, folder: Path) -> None:
        self.cloud, self.s3 = cloud, cloud.client("s3")
        self.s3.create_bucket(Bucket=BUCKET)
        self.lease(1)
        instance_id = cloud.run(IamInstanceProfile={"Name": make_profile(cloud, "node", "s3:*")})
        self.address = cloud.ready(instance_id)
        root = cloud.state_dir / "instances" / instance_id / "home"
        settings = {
            "cluster": "unit", "bucket": BUCKET, "region": "us-east-1", "instance_id": instance_id, "root": str(root),
            "fact_path": str(root), "supervisor": ["false"], "head_address": self.address,
            "head_port": cloud.config["ssh_port"],
        }  # fmt: skip
        (root / "warden.json").write_text(json.dumps(settings))
        (folder / "warden").symlink_to(REPOSITORY / "controller" / "warden")
        command = f"PYTHONPATH={folder} {sys.executable} -m warden head --config {root}/warden.json"
        started = cloud.ssh(self.address, f"nohup env {command} > {root}/warden.log 2>&1 < /dev/null &")
        assert started.returncode == 0, started.stderr
        wait_until(lambda: "is held by ada" in (root / "warden.log").read_text(), "the warden's first look")

    def lease(self, generation: int, **entries: Any) -> None:
        body = json.dumps(document(cluster="unit", generation=generation, lasts_s=60, **entries)).encode()
        self.s3.put_object(Bucket=BUCKET, Key="control/lease.json", Body=body)


class Home:
    """Another home folder, with a key of its own."""

    def __init__(self, folder: Path, head: Head) -> None:
        folder.mkdir()
        self.head, self.key_file = head, folder / "id_ed25519"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key_file], check=True)

    def take_over(self, name: str, generation: int) -> None:
        """Does with lease and key what `centavo take-over` does."""
        self.head.lease(generation)
        offer_key(BucketObjects("us-east-1", BUCKET), self.public_key, name, generation)

    def have_the_run_handed_over(self, generation: int) -> None:
        """Does with lease and key what `centavo optimize --detach` does."""
        offer_head_key(BucketObjects("us-east-1", BUCKET), self.public_key, "run-1", generation)
        self.head.lease(generation, released=True)

    @property
    def public_key(self) -> bytes:
        return self.key_file.with_suffix(".pub").read_bytes()

    def may_enter(self) -> bool:
        cloud = self.head.cloud
        arguments = cloud.ssh_arguments(self.head.address, "true")
        own = [word.replace(str(cloud.key_file), str(self.key_file)) for word in arguments]
        time.sleep(1.0)
        return subprocess.run(own, capture_output=True, timeout=120, check=False).returncode == 0


def test_the_head_lets_in_who_controls_the_cluster_within_a_minute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        head = Head(cloud, tmp_path)
        second, third, at_head = (Home(tmp_path / name, head) for name in ("second", "third", "at-head"))
        assert not second.may_enter()

        began = time.monotonic()
        second.take_over("second", 2)
        wait_until(second.may_enter, "the second home's way in", LET_IN_S)
        print(f"let in after {time.monotonic() - began:.0f} s")
        assert cloud.ssh(head.address, "true").returncode == 0, "the cluster's own key stays"

        third.take_over("third", 3)
        wait_until(third.may_enter, "the third home's way in", LET_IN_S)
        assert not second.may_enter()

        at_head.have_the_run_handed_over(3)
        wait_until(at_head.may_enter, "the way in of the head's controller", LET_IN_S)
        assert third.may_enter(), "whose run it was goes on looking"
        head.lease(4, stage="ended", released=True)
        wait_until(lambda: not at_head.may_enter(), "the end of the head's key with its run", LET_IN_S)

        at_head.have_the_run_handed_over(5)
        wait_until(at_head.may_enter, "the way in of the head's next controller", LET_IN_S)
        second.take_over("second", 6)
        wait_until(second.may_enter, "the second home's way in", LET_IN_S)
        assert not at_head.may_enter() and not third.may_enter()
