"""One night: a cluster, what fails in it, and the warden's real decisions. Only AWS, S3 and time are played."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from random import Random

from controller.warden.lease import Lease
from controller.warden.look import Look, Standing
from controller.warden.memory import Memory, Signs
from controller.warden.service import pause_s
from controller.warden.verdict import Verdict, head_verdict, reaper_verdict, worker_verdict
from controller.warden.waits import Waits

NIGHT_S = 12 * 3600.0
REAPED_EVERY_S = 600.0
CHECKPOINT_S = (5.0, 150.0)
"""How long a service takes to stop: the ranks write a checkpoint."""
NEVER = float("inf")


@dataclass(frozen=True)
class Faults:
    """What fails, and from when on, in seconds from the beginning of the night.

    Attributes:
        controller_dies_s: It renews the lease no more.
        renews_anyway: Whether a controller that hangs goes on renewing the lease.
        crashes_from_s: It crashes again and again from then on: it takes the lease each time, and gives it back.
        head_dies_s: The head hangs: its warden is dead and it answers nobody, and it is paid for.
        head_is_cut_off_s: The head cannot read the bucket.
        head_is_refused_s: The head's clock is off, so that S3 and AWS refuse what it signs.
        workers_are_refused_s: AWS refuses what the workers ask for, such as for a permission that is missing.
        reaper_fails_until_s: The function fails until then.
        steps_end_s: No step is made any more.
        training_ends_s: The training ends.
        waits_from_s: The run waits for capacity from then on: no step is made.
        outages: The times at which nobody reaches the bucket, with their ends.
    """

    controller_dies_s: float = NEVER
    renews_anyway: bool = False
    crashes_from_s: float = NEVER
    head_dies_s: float = NEVER
    head_is_cut_off_s: float = NEVER
    head_is_refused_s: float = NEVER
    workers_are_refused_s: float = NEVER
    reaper_fails_until_s: float = 0.0
    steps_end_s: float = NEVER
    training_ends_s: float = NEVER
    waits_from_s: float = NEVER
    outages: tuple[tuple[float, float], ...] = ()


@dataclass
class Node:
    """An instance with its warden. `ends_s` is when it stops costing money."""

    usd_per_hour: float
    memory: Memory
    ends_s: float = NEVER
    has_acted: bool = False

    def is_up(self, now: float) -> bool:
        return now < self.ends_s


@dataclass
class Night:
    """A night of one cluster."""

    seed: int
    waits: Waits
    faults: Faults
    workers_count: int = 3
    usd_per_hour: float = 0.34
    fired: list[tuple[float, str, str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._random = Random(self.seed)
        self.lease = Lease("night", "run-1", 1, lasts_s=self.waits.lease_s, stage="training", waits=self.waits)
        self._written_s = 0.0
        self.head = Node(0.02, Memory.begun(0.0))
        self.workers = [Node(self.usd_per_hour, Memory.begun(0.0)) for _ in range(self.workers_count)]
        self._events: list[tuple[float, int, Callable[[float], float]]] = []

    def play(self) -> None:
        """Plays the night to its end, or until nothing costs money any more."""
        for order, (task, begin) in enumerate(self._tasks()):
            heapq.heappush(self._events, (begin, order, task))
        while self._events:
            now, order, task = heapq.heappop(self._events)
            if now > NIGHT_S or not any(node.is_up(now) for node in self.nodes):
                return
            pause = task(now)
            if pause != NEVER:
                heapq.heappush(self._events, (now + pause, order, task))

    @property
    def nodes(self) -> list[Node]:
        """All instances."""
        return [self.head, *self.workers]

    @property
    def workers_end_s(self) -> float:
        """When the last worker has ended; NEVER where one goes on."""
        return max(worker.ends_s for worker in self.workers)

    @property
    def all_end_s(self) -> float:
        """When the last instance has ended."""
        return max(node.ends_s for node in self.nodes)

    def cost_after_usd(self, since_s: float) -> float:
        """Returns what all instances have cost since a time."""
        return sum(max(0.0, min(n.ends_s, NIGHT_S) - since_s) * n.usd_per_hour / 3600 for n in self.nodes)

    def _tasks(self) -> Iterator[tuple[Callable[[float], float], float]]:
        yield self._renew, 0.0
        yield self._watch_as_head, self._random.uniform(0, 60)
        for worker in self.workers:
            yield lambda now, worker=worker: self._watch_as_worker(worker, now), self._random.uniform(0, 60)
        yield self._reap, self._random.uniform(0, REAPED_EVERY_S)

    # who acts

    def _renew(self, now: float) -> float:
        """Lets the controller renew its lease."""
        faults = self.faults
        if now >= faults.controller_dies_s and not faults.renews_anyway:
            return NEVER
        if not self._is_out(now):
            has_ended = now >= faults.training_ends_s
            self.lease = replace(
                self.lease,
                stage="ended" if has_ended else "training",
                step=self._step(now),
                lacks_capacity=now >= faults.waits_from_s,
            )
            if now >= faults.crashes_from_s:
                self.lease = replace(self.lease, generation=self.lease.generation + 1, released=True)
            self._written_s = now
        return self.waits.lease_s / 4

    def _watch_as_head(self, now: float) -> float:
        faults, head = self.faults, self.head
        if now >= faults.head_dies_s or not head.is_up(now):
            return NEVER
        cut_off = now >= min(faults.head_is_cut_off_s, faults.head_is_refused_s)
        head.memory = head.memory.after(self._look(now, cut_off), Signs(step=self._step(now), head_answers=True), now)
        situation = head.memory.situation(now)
        verdict = head_verdict(situation)
        if verdict.fires and not head.has_acted and now < faults.head_is_refused_s:
            self._fire("head", verdict, now, marks=not cut_off)
            head.has_acted = True
            self._end_all(now)
        return pause_s(situation)

    def _watch_as_worker(self, worker: Node, now: float) -> float:
        if not worker.is_up(now):
            return NEVER
        answers = now < self.faults.head_dies_s and self.head.is_up(now)
        worker.memory = worker.memory.after(self._look(now), Signs(head_answers=answers), now)
        situation = worker.memory.situation(now)
        verdict = worker_verdict(situation)
        if verdict.fires and now < self.faults.workers_are_refused_s:
            self.fired.append((now, "worker", str(verdict)))
            worker.ends_s = min(worker.ends_s, now + self._random.uniform(*CHECKPOINT_S))
        return pause_s(situation)

    def _reap(self, now: float) -> float:
        look = self._look(now)
        verdict = reaper_verdict(look.standing, look.lease, look.age_s, None)
        if verdict.fires and now >= self.faults.reaper_fails_until_s:
            self._fire("reaper", verdict, now)
            self._end_all(now)
        return REAPED_EVERY_S

    # what is there

    def _look(self, now: float, cut_off: bool = False) -> Look:
        if cut_off or self._is_out(now):
            return Look(Standing.UNREAD, problem="nobody answers")
        return Look(Standing.FOUND, self.lease, age_s=float(round(now - self._written_s)))

    def _is_out(self, now: float) -> bool:
        return any(begin <= now < end for begin, end in self.faults.outages)

    def _step(self, now: float) -> int:
        faults = self.faults
        return int(min(now, faults.steps_end_s, faults.training_ends_s, faults.waits_from_s) // 30)

    def _fire(self, by: str, verdict: Verdict, now: float, *, marks: bool = True) -> None:
        self.fired.append((now, by, str(verdict)))
        if marks:
            self.lease, self._written_s = replace(self.lease, fired_by=by), now

    def _end_all(self, now: float) -> None:
        for node in self.nodes:
            node.ends_s = min(node.ends_s, now + self._random.uniform(*CHECKPOINT_S))
