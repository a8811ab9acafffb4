"""The supervisor, with hosts of a kind that only notes what it is told."""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Awaitable, Callable

from localcloud.hosts.supervisor import Supervisor
from localcloud.link.spec import HostSpec

SPEC = HostSpec(
    instance_id="i-1",
    flavor="c5.large",
    address="127.0.0.1",
    availability_zone="us-east-1a",
    region="us-east-1",
    account="123456789012",
    image_id="ami-1",
    hostname="ip-127-0-0-1.ec2.internal",
)


class Notes:
    """A kind of host. `notes` holds what all of its hosts were told."""

    def __init__(self, fails: bool = False) -> None:
        self.notes: list[str] = []
        self.fails = fails

    def __call__(self, spec: HostSpec) -> NotingHost:
        return NotingHost(spec, self)


class NotingHost:
    def __init__(self, spec: HostSpec, kind: Notes) -> None:
        self.spec = spec
        self.kind = kind

    def _note(self, word: str) -> None:
        self.kind.notes.append(f"{word} {self.spec.instance_id} boot {self.spec.boot}")

    async def start(self) -> None:
        self._note("start")
        await asyncio.sleep(0)
        if self.kind.fails:
            raise RuntimeError("a defect")

    def update(self, spec: HostSpec) -> None:
        if spec != self.spec:
            self.spec = spec
            self._note("update")

    async def stop(self) -> None:
        await asyncio.sleep(0)
        self._note("stop")


def supervise(kind: Notes, steps: Callable[[Supervisor], Awaitable[None]]) -> list[str]:
    """Runs `steps` and the end, and returns the notes."""

    async def run() -> None:
        supervisor = Supervisor(kind)
        await steps(supervisor)
        await supervisor.end()

    asyncio.run(run())
    return kind.notes


async def settle() -> None:
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_wanted_host_is_started_once_and_stopped_at_the_end() -> None:
    async def steps(supervisor: Supervisor) -> None:
        supervisor.want([SPEC])
        await settle()

    assert supervise(Notes(), steps) == ["start i-1 boot 1", "stop i-1 boot 1"]


def test_a_host_with_another_boot_is_stopped_and_started_again() -> None:
    async def steps(supervisor: Supervisor) -> None:
        supervisor.want([SPEC])
        await settle()
        supervisor.want([dataclasses.replace(SPEC, boot=2)])
        await settle()

    notes = supervise(Notes(), steps)
    assert notes == ["start i-1 boot 1", "stop i-1 boot 1", "start i-1 boot 2", "stop i-1 boot 2"]


def test_a_change_of_tags_is_an_update() -> None:
    async def steps(supervisor: Supervisor) -> None:
        supervisor.want([SPEC])
        await settle()
        supervisor.want([dataclasses.replace(SPEC, tags={"Name": "a"})])
        await settle()

    assert supervise(Notes(), steps) == ["start i-1 boot 1", "update i-1 boot 1", "stop i-1 boot 1"]


def test_a_host_that_is_not_wanted_any_more_finishes_its_start_before_it_stops() -> None:
    async def steps(supervisor: Supervisor) -> None:
        supervisor.want([SPEC])
        await asyncio.sleep(0)
        supervisor.want([])
        await settle()

    assert supervise(Notes(), steps) == ["start i-1 boot 1", "stop i-1 boot 1"]


def test_a_defect_in_one_host_leaves_the_others_alone() -> None:
    async def steps(supervisor: Supervisor) -> None:
        supervisor.want([SPEC, dataclasses.replace(SPEC, instance_id="i-2")])
        await settle()

    assert sorted(supervise(Notes(fails=True), steps))[:2] == ["start i-1 boot 1", "start i-2 boot 1"]
