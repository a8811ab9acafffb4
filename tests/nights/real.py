"""Real nights: a small cluster on localcloud loses its controller, and one switch after the other fails, too."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

import yaml

from controller.warden.waits import waits_of
from controller.words.going_away import longest_s
from controller.words.numbers import duration, usd
from tests.support.local_cloud import REPOSITORY, LocalCloud
from tests.support.night import SWITCH, Cluster

PRICES = REPOSITORY / "terraform" / "environments" / "local" / "prices.yml"
POLL_S = 0.5
PAID = ("pending", "running", "stopping", "shutting-down")
HEAD, WORKER = "t3.micro", "c5.large"


def _all_switches(cluster: Cluster, folder: Path) -> None:
    """Nothing but the controller fails."""


def _no_head(cluster: Cluster, folder: Path) -> None:
    cluster.cloud.ec2.terminate_instances(InstanceIds=[cluster.head])


def _no_warden(cluster: Cluster, folder: Path) -> None:
    for instance_id in (cluster.head, *cluster.workers):
        cluster.hang_warden(instance_id)


@dataclass(frozen=True)
class RealKind:
    """What fails in a night.

    Attributes:
        name: What fails beside the controller.
        by: Whose switch is left: the one that ends it, and its key in what is said at the start.
        fail: Makes it fail.
        has_reaper: Whether the reaper calls at its cluster.
    """

    name: str
    by: str
    fail: Callable[[Cluster, Path], None]
    has_reaper: bool = False


KINDS = (
    RealKind("nothing else", "head", _all_switches),
    RealKind("the head", "workers", _no_head),
    RealKind("the wardens of head and workers", "reaper", _no_warden, has_reaper=True),
)


@dataclass(frozen=True)
class RealOutcome:
    """What came of a night: what was said at the start, and what was."""

    kind: RealKind
    said_s: float
    said_usd: float
    ran_s: float
    cost_usd: float

    @property
    def is_as_said(self) -> bool:
        """Whether money ran no longer, and cost no more, than was said."""
        return self.ran_s <= self.said_s and self.cost_usd <= self.said_usd

    def __str__(self) -> str:
        said = f"said: within {duration(self.said_s)}, at most {usd(self.said_usd)}"
        was = f"it was {duration(self.ran_s)}, {usd(self.cost_usd)}"
        verdict = "" if self.is_as_said else "  LONGER OR MORE EXPENSIVE THAN SAID"
        return f"{self.kind.name:34} ended by {self.kind.by:8} {said:46} {was}{verdict}"


def play_real(number: int) -> RealOutcome:
    """Plays a night, and returns what came of it once nothing costs money any more."""
    kind = KINDS[number % len(KINDS)]
    with tempfile.TemporaryDirectory(prefix="centavo-night-") as name, LocalCloud(Path(name, "cloud")) as cloud:
        folder = Path(name, "cluster")
        folder.mkdir()
        cluster = Cluster(cloud, folder)
        try:
            return _play(kind, cluster, folder)
        finally:
            cluster.close()


def _play(kind: RealKind, cluster: Cluster, folder: Path) -> RealOutcome:
    prices = yaml.safe_load(PRICES.read_text())
    per_hour = {cluster.head: prices[HEAD], **dict.fromkeys(cluster.workers, prices[WORKER])}
    said_s = longest_s(waits_of(SWITCH), reaper=True)[kind.by]
    module = cluster.reaper(folder / "checkout") if kind.has_reaper else None
    cluster.close()
    kind.fail(cluster, folder)
    began = last = time.monotonic()
    cost_usd = ran_s = 0.0
    while paid := _paid(cluster, per_hour):
        time.sleep(POLL_S)
        now = time.monotonic()
        cost_usd += sum(per_hour[one] for one in paid) * (now - last) / 3600
        ran_s, last = now - began, now
        if ran_s > 2 * said_s:
            break
    if module is not None:
        module.destroy()
    return RealOutcome(kind, said_s, sum(per_hour.values()) * said_s / 3600, ran_s, cost_usd)


def _paid(cluster: Cluster, instances: Iterable[str]) -> list[str]:
    """Returns those of the instances that cost money. EC2 forgets an instance some time after its end."""
    filters = {"instance-id": list(instances), "instance-state-name": list(PAID)}
    answer = cluster.cloud.ec2.describe_instances(
        Filters=[{"Name": name, "Values": values} for name, values in filters.items()]
    )
    return [one["InstanceId"] for reservation in answer["Reservations"] for one in reservation["Instances"]]
