"""A training over real processes and SSH goes on, or ends, whatever hangs or is killed. One story, told once."""

from __future__ import annotations

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from tests.support.fleet import Fleet, Host, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LIMIT_S = 200.0
VOTE_TIMEOUT_S, GLOO_TIMEOUT_S = 4, 5
TRAINING: dict[str, Any] = {
    "stop": {"steps": 100_000},
    "corpus": {"kind": "generated", "pairs": 1500, "held_out": 20},
    "vocabulary": {"size": 400},
    "model": {"preset": "tiny", "layers": 1, "units": 32, "hidden": 32, "heads": 2},
    "batch": {"tokens": 768, "max_tokens": 120},
    "checkpoint": {"every_steps": 100_000},
    "translate": {"beam_size": 1, "max_length": 8},
    "horovod": {"cycle_time_ms": 10, "vote_timeout_s": VOTE_TIMEOUT_S, "gloo_timeout_s": GLOO_TIMEOUT_S},
}


@dataclass
class Story:
    """What was seen on the way."""

    fleet: Fleet
    listening: list[str] = field(default_factory=list)
    healed_after_s: float = 0.0
    dropped: list[dict[str, Any]] = field(default_factory=list)
    hung_code: int | None = None
    killed_at_step: int = 0
    codes_without_launcher: list[int] = field(default_factory=list)
    codes_when_stopped: list[int] = field(default_factory=list)
    stopped_after_s: float = 0.0


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with Fleet(tmp_path_factory.mktemp("faults") / "fleet", TRAINING, net=39) as fleet:
        yield tell(fleet)


def tell(fleet: Fleet) -> Story:
    """Freezes a rank for good, freezes the launcher for a while and kills it, and stops the next one."""
    story = Story(fleet)
    hosts = [fleet.add(number, speed=0.1) for number in (1, 2, 3)]
    fleet.write_hosts(hosts)
    launcher = fleet.launch()
    await_world(fleet, hosts)
    story.listening = listening({launcher.pid, *(pid(host) for host in hosts)})

    frozen, *others = sorted(hosts, key=lambda host: int(host.fact()["rank"]))  # rank 0, of all ranks
    began = time.monotonic()
    freeze(frozen)
    await_world(fleet, others)
    story.healed_after_s = time.monotonic() - began
    story.dropped = wait_until(lambda: launcher_fact(fleet)["dropped"], LIMIT_S, "the fact names the dropped rank")
    fleet.write_hosts(others)
    assert frozen.worker is not None
    frozen.worker.send_signal(signal.SIGCONT)
    story.hung_code = frozen.worker.wait(LIMIT_S)

    launcher.send_signal(signal.SIGSTOP)
    train_on(fleet, 3)
    launcher.send_signal(signal.SIGCONT)
    train_on(fleet, 3)
    story.killed_at_step = fleet.step()
    launcher.kill()
    launcher.wait()
    story.codes_without_launcher = [wait_for_end(host) for host in others]
    fleet.tend()
    launcher = fleet.launch()
    await_world(fleet, others)

    began = time.monotonic()
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(LIMIT_S) == 143
    story.codes_when_stopped = [wait_for_end(host) for host in others]
    story.stopped_after_s = time.monotonic() - began
    return story


def pid(host: Host) -> int:
    assert host.worker is not None
    return host.worker.pid


def freeze(host: Host) -> None:
    assert host.worker is not None
    host.worker.send_signal(signal.SIGSTOP)


def wait_for_end(host: Host) -> int:
    assert host.worker is not None
    return host.worker.wait(LIMIT_S)


def launcher_fact(fleet: Fleet) -> dict[str, Any]:
    (path,) = fleet.directory.rglob("launcher.fact")
    return dict(json.loads(path.read_text()))


def train_on(fleet: Fleet, steps: int) -> None:
    goal = fleet.step() + steps
    wait_until(lambda: fleet.step() >= goal, LIMIT_S, f"step {goal}")


def await_world(fleet: Fleet, hosts: list[Host]) -> None:
    def is_there() -> bool:
        facts = [host.fact() for host in hosts]
        return all(fact.get("state") == "training" and fact["world_size"] == len(hosts) for fact in facts)

    wait_until(is_there, LIMIT_S, f"a world of {len(hosts)}")
    train_on(fleet, 3)


def listening(pids: set[int]) -> list[str]:
    """Returns the local addresses on which one of the processes listens, without their ports."""
    lines = subprocess.run(["ss", "-ltnpH"], capture_output=True, text=True, check=True).stdout.splitlines()
    return [line.split()[3].rpartition(":")[0] for line in lines if any(f"pid={pid}," in line for pid in pids)]


def test_the_launcher_listens_on_its_interface_and_ranks_listen_nowhere(story: Story) -> None:
    assert story.listening == ["127.0.0.1"]


def test_a_frozen_rank_is_dropped_and_the_others_go_on_in_bounded_time(story: Story) -> None:
    """Gloo's time limit, the time for votes, and what a loaded machine takes for the rest."""
    assert story.healed_after_s < GLOO_TIMEOUT_S + VOTE_TIMEOUT_S + 45
    assert "is dropped for 60 s: it did not come to the next world" in story.fleet.log()


def test_the_launcher_s_fact_names_the_dropped_rank(story: Story) -> None:
    (dropped,) = story.dropped
    assert dropped["address"] in story.fleet.hosts
    assert (dropped["count"], "did not come" in dropped["reason"]) == (1, True)


def test_a_frozen_rank_that_wakes_up_begins_anew(story: Story) -> None:
    assert story.hung_code == 3


def test_ranks_whose_launcher_was_killed_keep_their_last_step_and_begin_anew(story: Story) -> None:
    assert story.codes_without_launcher == [3, 3]
    steps = [int(line.rpartition(" ")[2]) for line in story.fleet.log().splitlines() if "resumed from the" in line]
    assert steps and steps[0] >= story.killed_at_step


def test_a_stopped_launcher_leaves_no_rank_behind(story: Story) -> None:
    assert story.codes_when_stopped == [3, 3]
    assert story.stopped_after_s < 90
