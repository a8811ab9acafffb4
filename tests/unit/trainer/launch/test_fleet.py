"""A training over real processes and SSH, through everything that can happen to its nodes. One story, told once."""

from __future__ import annotations

import gzip
import json
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.fleet import Fleet, Host, wait_until
from tests.support.planned import planned_tokens
from trainer.launch.node_reports import FILE_NAME
from trainer.settings.file import read
from trainer.worker.rank import EXIT_AGAIN

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LIMIT_S = 200.0
STEPS = 260
TRAINING: dict[str, Any] = {
    "stop": {"steps": STEPS},
    "corpus": {"kind": "generated", "pairs": 1500, "held_out": 20},
    "vocabulary": {"size": 400},
    "model": {"preset": "tiny", "layers": 1, "units": 32, "hidden": 32, "heads": 2},
    "batch": {"tokens": 768, "max_tokens": 120},
    "checkpoint": {"every_steps": 1000},
    "translate": {"beam_size": 1, "max_length": 8},
    "horovod": {"cycle_time_ms": 10, "fusion_threshold_mb": 8, "compression": "fp16", "timeline": "~/timeline.json"},
}


@dataclass
class Story:
    """What was seen on the way.

    Attributes:
        reported: By address the facts that the launcher wrote into one file while four ranks trained.
    """

    fleet: Fleet
    scores: dict[str, Any] = field(default_factory=dict)
    reported: dict[str, Any] = field(default_factory=dict)
    drained: tuple[int | None, dict[str, Any]] = (None, {})
    interrupted: tuple[int | None, dict[str, Any]] = (None, {})
    lost: dict[str, Any] = field(default_factory=dict)
    healed_after_s: float = 0.0
    stopped_at_step: int = 0
    stop_code: int | None = None
    was_done_when_stopped: bool = True
    codes_when_stopped: list[int | None] = field(default_factory=list)


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Story]:
    with Fleet(tmp_path_factory.mktemp("fleet") / ("deep" * 20), TRAINING, net=33) as fleet:
        yield tell(fleet)


def reported(fleet: Fleet, size: int) -> dict[str, Any]:
    """Returns the facts in the launcher's file, by address; empty until as many ranks of such a world are in it."""
    try:
        document = json.loads(gzip.decompress((fleet.directory / "facts.d" / FILE_NAME).read_bytes()))
    except FileNotFoundError:
        return {}
    facts = {address: json.loads(report["fact"]) for address, report in document["nodes"].items()}
    return facts if [fact["world_size"] for fact in facts.values()] == [size] * size else {}


def tell(fleet: Fleet) -> Story:
    """Grows, drains rank 0, interrupts a rank, loses rank 0, stops the launcher, launches again, finishes."""
    story = Story(fleet)
    first, second, third, fourth = (fleet.add(number, speed=0.1) for number in (1, 2, 3, 4))
    fleet.write_hosts([first, second])
    launcher = fleet.launch()
    train_on(fleet, 10)
    wait_until(lambda: third.is_warm and fourth.is_warm, LIMIT_S, "warm workers")
    fleet.write_hosts([first, second, third, fourth])
    await_world(fleet, 4)
    story.reported = wait_until(lambda: reported(fleet, 4), LIMIT_S, "reports of a world of 4 ranks")

    drained, *stay = by_rank([first, second, third, fourth])
    fleet.write_hosts(stay)
    story.drained = leave(drained)
    await_world(fleet, 3)

    interrupted, *stay = stay
    assert interrupted.worker is not None
    interrupted.worker.send_signal(signal.SIGTERM)
    story.interrupted = leave(interrupted)
    await_world(fleet, 2)
    fleet.write_hosts(stay)

    lost, survivor = by_rank(stay)
    assert lost.worker is not None
    lost.worker.kill()
    lost.worker.wait()
    lost_at = time.monotonic()
    wait_until(lambda: survivor.fact()["world_size"] == 1, LIMIT_S, "healing")
    story.lost = lost.fact()
    story.healed_after_s = time.monotonic() - lost_at
    fleet.tend()
    await_world(fleet, 2)

    launcher.send_signal(signal.SIGTERM)
    story.stop_code = launcher.wait(LIMIT_S)
    story.codes_when_stopped = [host.worker.wait(LIMIT_S) for host in stay if host.worker is not None]
    story.was_done_when_stopped = (fleet.results / "done.json").exists()
    story.stopped_at_step = fleet.step()
    for host in stay:
        host.start_worker()
    assert fleet.launch().wait(LIMIT_S) == 0, fleet.log()
    story.scores = fleet.scores()
    return story


def by_rank(hosts: list[Host]) -> list[Host]:
    return sorted(hosts, key=lambda host: int(host.fact()["rank"]))


def train_on(fleet: Fleet, steps: int) -> None:
    goal = fleet.step() + steps
    wait_until(lambda: fleet.step() >= goal, LIMIT_S, f"step {goal}")


def await_world(fleet: Fleet, size: int) -> None:
    def is_there() -> bool:
        facts = [host.fact() for host in fleet.hosts.values()]
        return sum(fact.get("state") == "training" and fact["world_size"] == size for fact in facts) == size

    wait_until(is_there, LIMIT_S, f"a world of {size}")
    train_on(fleet, 3)


def leave(host: Host) -> tuple[int | None, dict[str, Any]]:
    assert host.worker is not None
    return host.worker.wait(LIMIT_S), host.fact()


def test_the_facts_of_all_ranks_travel_to_the_head_over_the_launchers_connections(story: Story) -> None:
    assert set(story.reported) == set(story.fleet.hosts)
    assert sorted(fact["rank"] for fact in story.reported.values()) == [0, 1, 2, 3]
    assert {fact["state"] for fact in story.reported.values()} == {"training"}


def test_the_training_finishes_and_its_results_are_fetched(story: Story) -> None:
    assert json.loads((story.fleet.results / "done.json").read_text()) == {"status": "finished", "reason": None}
    assert story.scores["steps"] == STEPS
    assert (story.fleet.results / "model.params").stat().st_size > 0


def test_all_ranks_hold_the_same_parameters_at_the_end(story: Story) -> None:
    assert story.scores["replicas_identical"]
    assert len(story.scores["parameters_sha256"]) == 2


def test_every_sample_was_trained_on_exactly_once_an_epoch(story: Story) -> None:
    """Compares with the planned global batches: a sample left out or seen twice would change the tokens."""
    cache = Path(read(story.fleet.config).cache)
    planned = planned_tokens(story.fleet.config, cache, STEPS)
    assert story.scores["tokens"] == planned


def test_planned_changes_lose_no_step(story: Story) -> None:
    sizes = [(change["from_size"], change["to_size"]) for change in story.scores["changes"]]
    assert sizes[:3] == [(2, 4), (4, 3), (3, 2)]
    assert [change["steps_lost"] for change in story.scores["changes"][:3]] == [0, 0, 0]
    assert all(change["pause_s"] > 0 for change in story.scores["changes"])


def test_a_drained_rank_zero_leaves_with_code_0_and_a_last_fact(story: Story) -> None:
    code, fact = story.drained
    assert (code, fact["rank"], fact["state"]) == (0, 0, "draining")
    assert "left the training as planned after step" in fact["reason"]


def test_an_interrupted_rank_leaves_with_code_0_and_says_so(story: Story) -> None:
    code, fact = story.interrupted
    assert (code, fact["state"]) == (0, "interrupted")
    assert fact["reason"].startswith("interrupted by SIGTERM")


def test_a_lost_rank_zero_is_healed_within_ten_seconds_and_its_host_may_come_back(story: Story) -> None:
    assert story.lost["rank"] == 0
    assert story.healed_after_s < 10.0
    sizes = [(change["from_size"], change["to_size"]) for change in story.scores["changes"]]
    assert sizes[3:5] == [(2, 1), (1, 2)]
    assert story.scores["steps_lost"] is not None and story.scores["steps_lost"] <= 10


def test_a_stopped_launcher_ends_everything_and_the_next_one_goes_on(story: Story) -> None:
    assert (story.stop_code, story.codes_when_stopped) == (143, [EXIT_AGAIN, EXIT_AGAIN])
    assert not story.was_done_when_stopped
    assert story.scores["restarts"] == 1
    assert f"resumed from the checkpoint of step {story.stopped_at_step}" in story.fleet.log()


def test_the_last_rank_zero_leaves_horovod_s_timeline_in_its_home(story: Story) -> None:
    last = [host for host in story.fleet.hosts.values() if host.fact()["state"] == "finished"]
    (zero,) = (host for host in last if host.fact()["rank"] == 0)
    timeline = (zero.home / "timeline.json").read_text()
    assert "horovod_allreduce.gradients.0" in timeline and "NEGOTIATE_ALLREDUCE" in timeline


def test_no_rank_ever_aborted_or_was_told_that_it_has_been_removed(story: Story) -> None:
    assert "has been removed from elastic job" not in story.fleet.log()
    assert "Aborted" not in story.fleet.log()


def test_the_user_s_known_hosts_are_left_alone(story: Story) -> None:
    assert (story.fleet.results / "known_hosts").exists()
    assert not (story.fleet.directory / ".ssh").exists()


def test_an_option_that_no_elastic_training_survives_is_refused_at_once(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", {**TRAINING, "horovod": {"autotune": True}}, net=35) as fleet:
        fleet.write_hosts([fleet.add(1, warm=False)])
        assert fleet.launch().wait(LIMIT_S) == 1
        done = json.loads((fleet.results / "done.json").read_text())
        assert (done["status"], "horovodrun -np" in done["reason"]) == ("failed", True)


def test_a_broken_training_ends_with_the_reason_and_a_node_too_small_takes_no_part(tmp_path: Path) -> None:
    troubled = {**TRAINING, "optimizer": {"learning_rate": 1e30, "warmup_steps": 0}}
    with Fleet(tmp_path / "fleet", troubled, net=34) as fleet:
        large, small = fleet.add(1), fleet.add(2, warm=False)
        small.environment["CENTAVO_EMULATED_MEMORY_BYTES"] = "1"
        small.start_worker()
        fleet.write_hosts([large, small])
        assert fleet.launch().wait(LIMIT_S) == 1
        done = json.loads((fleet.results / "done.json").read_text())
        assert done["status"] == "failed"
        assert f"{large.address}: the loss became" in done["reason"]
        fact = small.fact()
        assert (fact["state"], fact["rank"]) == ("failed", None)
        assert f"{small.address} takes no part: {fact['reason']}" in fleet.log()


def test_nodes_none_of_which_can_train_end_the_launch_at_once_with_the_reason(tmp_path: Path) -> None:
    missing = {"kind": "files", "target": "de", "train": [str(tmp_path / name) for name in ("no.en", "no.de")]}
    with Fleet(tmp_path / "fleet", {**TRAINING, "corpus": missing}, net=36) as fleet:
        hosts = [fleet.add(1), fleet.add(2)]
        fleet.write_hosts(hosts)
        assert fleet.launch().wait(LIMIT_S) == 1
        done = json.loads((fleet.results / "done.json").read_text())
        assert done["status"] == "failed"
        assert done["reason"] in [f"no node takes part; {host.address}: {host.fact()['reason']}" for host in hosts]
        assert "no.en" in done["reason"]
        assert "attempt" not in fleet.log()


def test_a_node_prepared_for_another_training_takes_no_part_and_says_so(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", {**TRAINING, "stop": {"steps": 20}}, net=37) as fleet:
        stranger = fleet.add(1, seed=7)
        wait_until(lambda: stranger.is_warm, LIMIT_S, "the stranger, first of all")
        fleet.write_hosts([stranger, fleet.add(2), fleet.add(3)])
        assert fleet.launch().wait(LIMIT_S) == 0
        assert f"{stranger.address} takes no part: its training.yml, corpus or version of Centavo" in fleet.log()
        assert len(json.loads((fleet.results / "scores.json").read_text())["parameters_sha256"]) == 2
        fact = stranger.fact()
        assert (fact["state"], "differs from that of the other nodes" in fact["reason"]) == ("failed", True)


def test_a_worker_that_waits_begins_anew_when_its_settings_have_changed(tmp_path: Path) -> None:
    with Fleet(tmp_path / "fleet", TRAINING, net=38) as fleet:
        host = fleet.add(1)
        wait_until(lambda: host.is_warm, LIMIT_S, "a warm worker")
        worker = host.worker
        assert worker is not None
        host.config.write_text(host.config.read_text() + "\n")
        assert worker.wait(LIMIT_S) == 1, "an error, for which its supervisor starts it again"
        assert "the settings have changed" in (host.home / "warm.log").read_text()
