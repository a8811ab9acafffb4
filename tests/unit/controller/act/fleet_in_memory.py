"""A cluster in memory for tests of moves: EC2, nodes, hosts file and a training, in which every call is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.domain import (
    Fact,
    Fleet,
    HeadSeen,
    Instance,
    LauncherState,
    NodeSeen,
    Observation,
    TrainingState,
    WorkerState,
)
from controller.domain.errors import AwsError, CentavoError

BEGAN_AT = 1000.0


class Clock:
    """A clock that moves only when somebody waits. `at_each_sleep` is called whenever somebody does."""

    def __init__(self) -> None:
        self.at = BEGAN_AT
        self.at_each_sleep: Callable[[], None] = lambda: None

    def now(self) -> float:
        return self.at

    def sleep(self, seconds: float) -> None:
        self.at += max(0.1, seconds)
        self.at_each_sleep()


@dataclass
class Cluster:
    """Instances that run at once, and ranks that train as soon as the hosts file names them, unless told otherwise."""

    clock: Clock
    instances: list[Instance] = field(default_factory=list)
    hosts: list[str] = field(default_factory=list)
    calls: list[str] = field(default_factory=list)
    hosts_written_at: float | None = None
    left: set[str] = field(default_factory=set)
    """The nodes whose workers have left the training and have ended."""
    capacities: list[Fleet] = field(default_factory=list)
    """Every capacity that was asked for, in order."""
    hosts_files: list[tuple[str, ...]] = field(default_factory=list)
    """Every hosts file that was written, in order."""
    unprotected: set[str] = field(default_factory=set)
    configured: list[str] = field(default_factory=list)
    max_running: Mapping[str, int] = field(default_factory=dict)
    """By flavor the most nodes that EC2 gives."""
    launch_errors: dict[str, str] = field(default_factory=dict)
    mute: Mapping[str, str] = field(default_factory=dict)
    """By flavor what SSH says of nodes that don't answer."""
    errors: dict[str, list[CentavoError]] = field(default_factory=dict)
    """The errors of the next calls of a name, one each."""
    fact_of: Callable[[Cluster, Instance, Fact], Fact | None] = lambda cluster, instance, fact: fact
    """What becomes of the fact that a rank would write."""
    ends_at_step: int | None = None
    """After so many looks the training has ended."""
    looks: int = 0
    _launched: int = 0

    def __post_init__(self) -> None:
        self.asked_for = Fleet({})
        self.seen: tuple[Instance, ...] = ()
        self.launcher = LauncherState.RUNNING

    @classmethod
    def training(cls, fleet: Fleet, clock: Clock) -> Cluster:
        """Returns a cluster in which this fleet trains."""
        cluster = cls(clock)
        cluster._scale(fleet)
        cluster.hosts = [i.instance_id for i in cluster.instances]
        cluster.configured = [*cluster.hosts]
        return cluster

    @property
    def fleet(self) -> Fleet:
        return Fleet.counted(i.flavor for i in self.instances)

    # what is seen

    def workers(self) -> tuple[Instance, ...]:
        self._call("workers")
        return tuple(self.instances)

    def last_workers(self) -> tuple[Instance, ...]:
        return self.seen

    def desired(self) -> Fleet:
        self._call("desired")
        return self.asked_for

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        return {flavor: self.launch_errors[flavor] for flavor in flavors if flavor in self.launch_errors}

    def observe(self) -> Observation:
        self._call("observe")
        self.looks += 1
        try:
            self.seen = self.workers()
        except AwsError:
            return Observation(self.clock.now(), self.fleet)
        silent = {i.instance_id: self.mute[i.flavor] for i in self.seen if i.flavor in self.mute}
        training = [i for i in self.seen if i.instance_id in self.hosts and self._worker(i) is WorkerState.WARM]
        facts = [self.fact_of(self, i, self._fact(i)) for i in training if i.instance_id not in silent]
        return Observation(
            self.clock.now(),
            self.fleet,
            tuple(fact for fact in facts if fact is not None),
            head=HeadSeen(self.launcher, frozenset(map(address_of, self.hosts)), self.hosts_written_at),
            nodes=tuple(
                NodeSeen(i.instance_id, self._worker(i))
                for i in self.seen
                if i.is_running and i.instance_id not in silent
            ),
            silent=silent,
        )

    def _worker(self, instance: Instance) -> WorkerState:
        if instance.instance_id in self.left:
            return WorkerState.LEFT
        return WorkerState.WARM if instance.instance_id in self.configured else WorkerState.ABSENT

    def training_has_ended(self) -> bool:
        return self.ends_at_step is not None and self.looks >= self.ends_at_step

    def _fact(self, instance: Instance) -> Fact:
        return Fact(
            instance.instance_id,
            instance.flavor,
            self.hosts.index(instance.instance_id),
            len(self.hosts),
            TrainingState.TRAINING,
            100,
            0.2,
            0.1,
            8.0,
            100.0,
            50,
            self.clock.now(),
        )

    # what is done

    def set_capacity(self, fleet: Fleet) -> None:
        self._call("set_capacity")
        self.capacities.append(fleet)
        self._scale(fleet)

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        self._call("lift_protection")
        self.unprotected |= {i.instance_id for i in instances}
        self._scale(self.asked_for)

    def empty_groups(self) -> None:
        self._call("empty_groups")
        self._scale(Fleet({}))

    def configure(self, instances: Sequence[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        self._call("configure")
        self.configured += [i.instance_id for i in instances]
        self.left -= {i.instance_id for i in instances}

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        self._call("set_hosts")
        self.left |= {*self.hosts} - {i.instance_id for i in instances}
        self.hosts, self.hosts_written_at = [i.instance_id for i in instances], self.clock.now()
        self.hosts_files.append(tuple(self.hosts))

    def start_training(self) -> None:
        self._call("start_training")
        self.launcher = LauncherState.RUNNING

    def stop_training(self) -> None:
        self._call("stop_training")
        self.launcher = LauncherState.DEAD

    def lose(self, instance_id: str) -> None:
        """An instance ends by itself, and nobody replaces it."""
        self.instances = [i for i in self.instances if i.instance_id != instance_id]

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    def _scale(self, fleet: Fleet) -> None:
        """Launches what is missing, and ends unprotected nodes that are too many. A rank that trains must not end."""
        self.asked_for = fleet
        training = Fleet.counted(i.flavor for i in self.instances if i.instance_id in self.hosts)
        assert not training.beyond(fleet).size, f"{fleet} is less than what trains: {training}"
        for flavor in fleet.union(self.fleet):
            own = [i for i in self.instances if i.flavor == flavor]
            given = min(fleet.count(flavor), self.max_running.get(flavor, 1000))
            for _ in range(given - len(own)):
                self._launched += 1
                name = f"i-{self._launched}"
                self.instances.append(Instance(name, flavor, "worker", "running", address_of(name)))
            leaving = [i for i in own if i.instance_id in self.unprotected][: max(0, len(own) - fleet.count(flavor))]
            for node in leaving:
                assert node.instance_id not in self.hosts, f"{node.instance_id} ended while it took part"
                self.instances.remove(node)


def address_of(instance_id: str) -> str:
    """Returns the private address of an instance."""
    return f"10.0.0.{instance_id.removeprefix('i-')}"


def pending(instance: Instance) -> Instance:
    """Returns the instance as one that does not run yet."""
    return replace(instance, state="pending")


def unreachable() -> AwsError:
    """Returns the error of a cloud that does not answer."""
    return AwsError("AWS did not list the instances: no route")
