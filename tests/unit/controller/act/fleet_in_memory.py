"""A cluster in memory for tests of moves: EC2, nodes, hosts file and a training, in which every call is noted."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from controller.domain import Fact, Fleet, Instance, Observation, TrainingState
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
        self.desired = Fleet({})

    @classmethod
    def training(cls, fleet: Fleet, clock: Clock) -> Cluster:
        """Returns a cluster in which this fleet trains."""
        cluster = cls(clock)
        cluster._scale(fleet)
        cluster.hosts = [i.instance_id for i in cluster.instances]
        return cluster

    @property
    def fleet(self) -> Fleet:
        return Fleet.counted(i.flavor for i in self.instances)

    # what is seen

    def workers(self) -> tuple[Instance, ...]:
        self._call("workers")
        return tuple(self.instances)

    def members(self) -> frozenset[str]:
        return frozenset(self.hosts)

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        return {flavor: self.launch_errors[flavor] for flavor in flavors if flavor in self.launch_errors}

    def silent(self, instances: Sequence[Instance]) -> Mapping[str, str]:
        return {i.instance_id: self.mute[i.flavor] for i in instances if i.flavor in self.mute}

    def observe(self) -> Observation:
        self._call("observe")
        self.looks += 1
        facts = [self.fact_of(self, i, self._fact(i)) for i in self.instances if i.instance_id in self.hosts]
        return Observation(self.clock.now(), self.fleet, tuple(fact for fact in facts if fact is not None))

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
        self._scale(self.desired)

    def configure(self, instances: Sequence[Instance], timeout_s: float) -> None:
        self._call("configure")
        self.configured += [i.instance_id for i in instances]

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        self._call("set_hosts")
        self.hosts = [i.instance_id for i in instances]
        self.hosts_files.append(tuple(self.hosts))

    def lose(self, instance_id: str) -> None:
        """An instance ends by itself, and nobody replaces it."""
        self.instances = [i for i in self.instances if i.instance_id != instance_id]

    def _call(self, name: str) -> None:
        self.calls.append(name)
        if self.errors.get(name):
            raise self.errors[name].pop(0)

    def _scale(self, fleet: Fleet) -> None:
        """Launches what is missing, and ends unprotected nodes that are too many. A rank that trains must not end."""
        self.desired = fleet
        for flavor in fleet.union(self.fleet):
            own = [i for i in self.instances if i.flavor == flavor]
            given = min(fleet.count(flavor), self.max_running.get(flavor, 1000))
            for _ in range(given - len(own)):
                self._launched += 1
                name = f"i-{self._launched}"
                self.instances.append(Instance(name, flavor, "worker", "running", f"10.0.0.{self._launched}"))
            leaving = [i for i in own if i.instance_id in self.unprotected][: max(0, len(own) - fleet.count(flavor))]
            for node in leaving:
                assert node.instance_id not in self.hosts, f"{node.instance_id} ended while it took part"
                self.instances.remove(node)


def pending(instance: Instance) -> Instance:
    """Returns the instance as one that does not run yet."""
    return replace(instance, state="pending")


def unreachable() -> AwsError:
    """Returns the error of a cloud that does not answer."""
    return AwsError("AWS did not list the instances: no route")
