"""The reaper judges what a lease alone does not tell."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import pytest

from controller.warden.bucket import Bucket
from controller.warden.groups import Groups
from controller.warden.reaper.found import FoundCluster, Region, Thing
from controller.warden.reaper.reaping import Reaper
from tests.unit.controller.warden.stand_ins import BEGIN, CLUSTER, S3, AutoScaling, Ec2, document

HOUR = 3600.0


class Forgotten:
    """A cluster of one worker whose lease is written by a controller that crashes again and again."""

    def __init__(self) -> None:
        self.s3, self.autoscaling, self.ec2 = S3(), AutoScaling(a=1), Ec2()
        self.told: list[str] = []
        self.s3.now_s = 100 * HOUR

    def lease(self, step_age_s: float | None, **entries: Any) -> None:
        at = None if step_age_s is None else BEGIN + timedelta(seconds=self.s3.now_s - step_age_s)
        step_at = None if at is None else at.isoformat()
        self.s3.write("control/lease.json", json.dumps(document(step_at=step_at, **entries)).encode())

    def wrote(self, key: str, age_s: float) -> None:
        now, self.s3.now_s = self.s3.now_s, self.s3.now_s - age_s
        self.s3.write(key, b"")
        self.s3.now_s = now

    def is_ended(self, worker_age_s: float) -> bool:
        groups = Groups("r", self.told.append, self.autoscaling)
        region = Region("r", self.told.append, ec2=self.ec2, tagging=object(), autoscaling=self.autoscaling)
        things = (
            Thing(CLUSTER, "group", "a", "capacity 1, 1 running"),
            Thing(CLUSTER, "worker", "i-a-0", "running", worker_age_s),
        )
        found = FoundCluster(CLUSTER, "r", ("b",), things, tuple(groups.all()))
        reaper = Reaper(region, self.told.append, lambda cluster, name, region: Bucket(cluster, name, region, self.s3))
        reaper.end(reaper.judge(found))
        return self.autoscaling.running == []


@pytest.fixture
def forgotten() -> Forgotten:
    return Forgotten()


@pytest.mark.parametrize("released", [True, False])
@pytest.mark.parametrize("step_age_s", [None, 4 * HOUR + 60])
def test_a_lease_that_is_written_for_ever_keeps_no_cluster_in_which_nothing_moves(
    forgotten: Forgotten, released: bool, step_age_s: float | None
) -> None:
    forgotten.lease(step_age_s, released=released)
    forgotten.wrote("run-1/checkpoint", 4 * HOUR + 60)
    forgotten.wrote("run-1/control/journal.sqlite.gz", 5)
    assert forgotten.is_ended(10 * HOUR)
    assert forgotten.s3.read_lease()["fired"]["why"] == "no-step"


@pytest.mark.parametrize(
    ("worker_age_s", "step_age_s", "checkpoint_age_s"),
    [
        (4 * HOUR, 90 * HOUR, 90 * HOUR),
        (10 * HOUR, 4 * HOUR, 90 * HOUR),
        (10 * HOUR, 90 * HOUR, 4 * HOUR),
        (10 * HOUR, -60, 90 * HOUR),
    ],
    ids=["a run that goes on after days", "steps", "checkpoints", "a clock that is ahead"],
)
def test_any_sign_of_a_training_keeps_the_cluster(
    forgotten: Forgotten, worker_age_s: float, step_age_s: float, checkpoint_age_s: float
) -> None:
    forgotten.lease(step_age_s)
    forgotten.wrote("run-1/checkpoint", checkpoint_age_s)
    assert not forgotten.is_ended(worker_age_s)
