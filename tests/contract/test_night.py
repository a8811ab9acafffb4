"""A real night on localcloud, with short waits: controller, head and wardens fail, and the money stops by itself."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.local_cloud import LocalCloud, wait_until
from tests.support.night import LIMIT_S, Cluster

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(1200)]


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with LocalCloud(tmp_path / "cloud") as cloud:
        one = Cluster(cloud, tmp_path)
        try:
            yield one
        finally:
            one.close()


def test_a_controller_that_is_killed_leaves_nothing_running(cluster: Cluster) -> None:
    assert len(cluster.cloud.members(cluster.group)) == 2 and cluster.lease()["fired"] is None
    cluster.controller.send_signal(signal.SIGKILL)
    wait_until(lambda: cluster.cloud.members(cluster.group) == [], "the end of the workers", LIMIT_S)
    wait_until(lambda: cluster.cloud.state(cluster.head) == "stopped", "the end of the head", LIMIT_S)
    assert cluster.saved(cluster.head).exists(), "the launcher was stopped in order"
    assert cluster.desired() == 0
    assert cluster.lease()["fired"]["by"] == "head" and cluster.lease()["fired"]["why"] == "no-controller"
    kept = cluster.s3.get_object(Bucket="unit-bucket", Key="run-1/control/head/log/warden.log")["Body"].read().decode()
    assert "fires: no controller has renewed the lease" in kept


def test_workers_whose_controller_and_head_are_killed_end_themselves_after_a_checkpoint(cluster: Cluster) -> None:
    cluster.controller.send_signal(signal.SIGKILL)
    cluster.cloud.ec2.terminate_instances(InstanceIds=[cluster.head])
    wait_until(lambda: cluster.cloud.members(cluster.group) == [], "the end of the workers", LIMIT_S)
    assert cluster.desired() == 0, "none of them is replaced"
    assert all(cluster.saved(worker).exists() for worker in cluster.workers)
    assert cluster.lease()["fired"] is None, "no head was there to fire"


@pytest.mark.needs_tool("terraform")
def test_the_reaper_ends_a_cluster_whose_controller_is_dead_and_whose_wardens_hang(
    cluster: Cluster, tmp_path: Path
) -> None:
    for instance_id in (cluster.head, *cluster.workers):
        cluster.hang_warden(instance_id)
    module = cluster.reaper(tmp_path / "checkout")
    wait_until(lambda: "valid for" in cluster.reaper_log(), "the first call of the schedule", LIMIT_S)
    assert len(cluster.cloud.members(cluster.group)) == 2, "a cluster that is used stays"

    cluster.controller.send_signal(signal.SIGKILL)
    wait_until(lambda: cluster.cloud.members(cluster.group) == [], "the end of the workers", LIMIT_S)
    wait_until(lambda: cluster.cloud.state(cluster.head) == "stopped", "the end of the head", LIMIT_S)
    assert cluster.desired() == 0 and cluster.lease()["fired"]["by"] == "reaper"
    wait_until(lambda: "the cluster has outlived its lease" in cluster.reaper_log(), "the reaper's log", LIMIT_S)
    assert not any(cluster.saved(worker).exists() for worker in cluster.workers), "no warden was awake"
    module.destroy()
