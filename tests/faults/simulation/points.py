"""Faults of single calls: which call of a run, and what goes wrong in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tests.faults.simulation.scenarios import Scenario
from tests.unit.controller.world import Manner, World

ALWAYS_S = 120.0
"""For how long a fault that stays stays."""
MOST_ALIKE = 3
"""Of calls of one name in one phase at most this many are tried, evenly spaced."""
EDGES = ("plan", "apply", "instances", "desired", "protection", "empty", "end", "reboot", "ssh", "facts")
PLAYBOOKS = ("site.yml", "hosts.yml", "start.yml", "stop.yml", "fetch.yml")
LOCAL = ("journal", "capacity", "plan", "apply", "facts", *PLAYBOOKS)
PARTIAL = ("apply", "protection", "empty", "site.yml")
EFFECTIVE = ("apply", "protection", "empty", "journal", "capacity", *PLAYBOOKS)
ALWAYS = "fail-always"
KILLS = (Manner.KILL_BEFORE, Manner.KILL_DURING, Manner.KILL_AFTER)


def manners_of(call: str) -> tuple[str, ...]:
    """Returns what may go wrong in a call of this name."""
    if call == "sleep":
        return (Manner.KILL_BEFORE.value,)
    if call == "s3-put":
        return (Manner.KILL_BEFORE.value, Manner.FAIL_BEFORE.value, ALWAYS)
    manners = [Manner.KILL_BEFORE, Manner.KILL_AFTER, Manner.FAIL_BEFORE]
    if call in (*PARTIAL, "plan", "journal"):
        manners.append(Manner.KILL_DURING)
    if call in PARTIAL:
        manners.append(Manner.FAIL_DURING)
    if call in (*EDGES, *PLAYBOOKS):
        manners += [Manner.HANG_BEFORE, Manner.SLOW]
        if call in EFFECTIVE:
            manners += [Manner.FAIL_AFTER, Manner.HANG_AFTER]
    if call in LOCAL:
        manners.append(Manner.NO_SPACE)
    return (*(manner.value for manner in manners), ALWAYS)


@dataclass
class CallFault:
    """Something goes wrong in one call, or in all calls of its name for a while.

    Attributes:
        call: The call's name.
        number: Which one of its name, from 1 on.
        manner: What goes wrong: a `Manner`, or `fail-always`.
        fired_at: When it first happened.
        until: When it is over.
    """

    call: str
    number: int
    manner: str
    fired_at: float | None = None
    until: float = 0.0
    seen: int = 0

    def plot(self, world: World, number: int, name: str) -> Manner | None:
        """Says what goes wrong in a call."""
        if name != self.call:
            return None
        self.seen += 1
        if self.manner == ALWAYS:
            if self.seen == self.number:
                self.fired_at, self.until = world.now, world.now + ALWAYS_S
            return Manner.FAIL_BEFORE if self.fired_at is not None and world.now < self.until else None
        if self.seen != self.number:
            return None
        self.fired_at, self.until = world.now, world.now + 1.0
        if self.manner.startswith("hang"):
            self.until += 100.0
        return Manner(self.manner)


def call_faults(scenario: Scenario, calls: list[tuple[str, str]]) -> Iterator[str]:
    """Yields the names of all faults of single calls, such as `overlap/plan-1/kill-before`.

    Args:
        scenario: Where the faults are put.
        calls: Name and phase of each call of a run without faults, in order.
    """
    seen: Counter[str] = Counter()
    alike: dict[tuple[str, str], list[int]] = {}
    for call, phase in calls:
        seen[call] += 1
        if phase in scenario.phases:
            alike.setdefault((call, phase), []).append(seen[call])
    tried = {(call, number) for (call, _), numbers in alike.items() for number in spread(numbers)}
    for call, number in sorted(tried):
        for manner in manners_of(call):
            yield f"{scenario.name}/{call}-{number}/{manner}"


def spread(numbers: list[int]) -> list[int]:
    """Returns at most `MOST_ALIKE` of the numbers, the first and the last among them."""
    if len(numbers) <= MOST_ALIKE:
        return numbers
    last = len(numbers) - 1
    return [numbers[round(last * i / (MOST_ALIKE - 1))] for i in range(MOST_ALIKE)]
