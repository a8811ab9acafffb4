"""A take-over from a machine with another SSH key: the nodes of a cluster let it in, and no longer than needed."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller.edges.bucket.objects import BucketObjects
from controller.owning.bringing import offer_key
from tests.support.local_cloud import LocalCloud, wait_until
from tests.support.night import Cluster
from tests.unit.controller.warden.stand_ins import document

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]
LET_IN_S = 60.0


class Home:
    """A second home folder, with a key of its own."""

    def __init__(self, folder: Path, cluster: Cluster) -> None:
        folder.mkdir()
        self.cluster, self.key_file = cluster, folder / "id_ed25519"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", self.key_file], check=True)

    def take_over(self, name: str, generation: int) -> None:
        """Does with lease and key what `centavo take-over` does."""
        lease = document(cluster="unit", generation=generation, lasts_s=600)
        self.cluster.s3.put_object(Bucket="unit-bucket", Key="control/lease.json", Body=json.dumps(lease).encode())
        environment: Any = SimpleNamespace(public_key_file=self.key_file.with_suffix(".pub"))
        offer_key(BucketObjects("us-east-1", "unit-bucket"), environment, name, generation)

    def may_enter(self, instance_id: str) -> bool:
        cloud = self.cluster.cloud
        arguments = cloud.ssh_arguments(cloud.address(instance_id), "true")
        own = [word.replace(str(cloud.key_file), str(self.key_file)) for word in arguments]
        return subprocess.run(own, capture_output=True, timeout=120, check=False).returncode == 0


def test_the_nodes_let_in_who_takes_over_within_a_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with LocalCloud(tmp_path / "cloud") as cloud:
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        cluster = Cluster(cloud, tmp_path)
        cluster.close()
        second, third = (Home(tmp_path / name, cluster) for name in ("second", "third"))
        nodes = (cluster.head, *cluster.workers)
        assert not any(second.may_enter(node) for node in nodes)

        began = time.monotonic()
        second.take_over("second", 2)
        wait_until(lambda: all(second.may_enter(node) for node in nodes), "the second home's way in", LET_IN_S)
        print(f"let in after {time.monotonic() - began:.0f} s")
        assert cloud.ssh(cloud.address(cluster.head), "true").returncode == 0, "the cluster's own key stays"

        third.take_over("third", 3)
        wait_until(lambda: all(third.may_enter(node) for node in nodes), "the third home's way in", LET_IN_S)
        wait_until(lambda: not any(second.may_enter(node) for node in nodes), "the end of the second's", LET_IN_S)
