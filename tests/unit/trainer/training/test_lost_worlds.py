"""A training whose ranks are lost again and again, with no new step in between, ends with the reason."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import mxnet as mx
import pytest

from tests.support.fleet import ROOT, SOCKET, Fleet, Host
from tests.support.small_training import small
from trainer.elastic.world import World
from trainer.training import ending, step
from trainer.worker.rank import Outcome, Rank

LOST = "Horovod has been shut down. This was caused by an exception on one of the ranks."


class ElasticWorld(World):
    """A world of one rank that begins anew as often as it is asked to."""

    def __init__(self) -> None:
        super().__init__({})
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1


class Messages:
    """Keeps what a rank tells its launcher."""

    def __init__(self) -> None:
        self.sent: list[tuple[str, dict[str, Any]]] = []

    def send(self, event: str, **details: Any) -> None:
        self.sent.append((event, details))


def end(directory: Path, monkeypatch: pytest.MonkeyPatch, **sections: Any) -> tuple[Outcome, ElasticWorld, Messages]:
    world, messages = ElasticWorld(), Messages()
    monkeypatch.setattr("trainer.worker.rank.World", lambda: world)
    rank = Rank.of(small(directory, **sections))
    training = rank.prepare(messages, resume=False)
    assert training is not None
    return rank.train(training, messages), world, messages


def test_a_collective_that_always_fails_ends_the_training(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise mx.base.MXNetError(LOST)

    monkeypatch.setattr(step, "sum_vector", fail)
    outcome, world, messages = end(tmp_path, monkeypatch)
    event, details = messages.sent[-1]
    assert (outcome, world.resets, event) == (Outcome.FAILED, 4, "failed")
    assert (
        "ranks were lost 5 times (elastic.max_failures_without_step) with no new step after step 0"
        in (details["reason"])
    )
    assert LOST in details["reason"]
    fact = json.loads((tmp_path / "facts.d" / "iteration.fact").read_text())
    assert (fact["state"], fact["reason"]) == ("failed", details["reason"])


def test_a_step_that_is_always_lost_ends_it_although_others_are_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sum_vector = step.sum_vector

    def fail_in_step_8(values: Any, name: str) -> Any:
        if training_step["next"] == 8:
            raise mx.base.MXNetError(LOST)
        return sum_vector(values, name)

    training_step = follow_steps(monkeypatch)
    monkeypatch.setattr(step, "sum_vector", fail_in_step_8)
    sections = {"elastic": {"commit_every_steps": 5, "max_failures_without_step": 3}}
    outcome, world, messages = end(tmp_path, monkeypatch, **sections)
    assert (outcome, world.resets) == (Outcome.FAILED, 2)
    assert "ranks were lost 3 times" in messages.sent[-1][1]["reason"]
    assert "after step 7" in messages.sent[-1][1]["reason"]


def test_ranks_that_are_lost_now_and_then_do_not_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sum_vector, failed = step.sum_vector, set()

    def fail_once(values: Any, name: str) -> Any:
        if (number := training_step["next"]) % 2 and number not in failed:
            failed.add(number)
            raise mx.base.MXNetError(LOST)
        return sum_vector(values, name)

    training_step = follow_steps(monkeypatch)
    monkeypatch.setattr(step, "sum_vector", fail_once)
    sections = {"elastic": {"commit_every_steps": 1, "max_failures_without_step": 2}}
    outcome, world, _ = end(tmp_path, monkeypatch, **sections)
    assert (outcome, world.resets) == (Outcome.FINISHED, 6)


def test_a_checkpoint_that_was_asked_for_is_made_also_where_the_step_that_tells_of_it_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    take, asked_for = step.TrainingStep.take, list[bool]()

    def lose_the_first(self: step.TrainingStep, world: World, number: int, asked: step.Asked) -> step.TakenStep:
        asked_for.append(asked.checkpoint)
        if len(asked_for) == 1:
            raise mx.base.MXNetError(LOST)
        return take(self, world, number, asked)

    monkeypatch.setattr("trainer.worker.rank.World", ElasticWorld)
    rank, messages = Rank.of(small(tmp_path, stop={"steps": 2}, checkpoint={"keep": 5})), Messages()
    training = rank.prepare(messages, resume=False)
    assert training is not None
    monkeypatch.setattr(step.TrainingStep, "take", lose_the_first)
    training._requests.keep()
    assert rank.train(training, messages) is Outcome.FINISHED
    assert asked_for == [True, True, False]


def test_an_end_that_always_fails_ends_it_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise mx.base.MXNetError(LOST)

    monkeypatch.setattr(ending, "broadcast_object", fail)
    outcome, world, messages = end(tmp_path, monkeypatch, stop={"steps": 3})
    assert (outcome, world.resets) == (Outcome.FAILED, 4)
    assert "with no new step after step 3" in messages.sent[-1][1]["reason"]


def follow_steps(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Returns a dictionary in which `next` is the number of the step that is being made."""
    following, take = {"next": 0}, step.TrainingStep.take

    def take_and_tell(self: Any, world: World, steps_made: int, is_stop_asked: bool) -> Any:
        following["next"] = steps_made + 1
        return take(self, world, steps_made, is_stop_asked)

    monkeypatch.setattr(step.TrainingStep, "take", take_and_tell)
    return following


def faulty_hosts(fleet: Fleet, count: int, faults: list[dict[str, Any]]) -> list[Host]:
    """Adds hosts whose warm workers have `faults`; see `faulty_rank.py`."""
    hosts = [fleet.add(number, warm=False) for number in range(1, count + 1)]
    for host in hosts:
        program = [
            sys.executable,
            "-W",
            "ignore",
            str(ROOT / "tests" / "support" / "faulty_rank.py"),
            json.dumps(faults),
        ]
        arguments = ["warm", "--socket", SOCKET, "--config", str(host.config)]
        host.worker = subprocess.Popen([*program, *arguments], cwd=host.home, env=host.environment)
    return hosts


@pytest.mark.slow
def test_done_json_says_that_the_ranks_were_lost_again_and_again(tmp_path: Path) -> None:
    training = small(
        tmp_path, balance={"enabled": False}, elastic={"commit_every_steps": 2, "max_failures_without_step": 3}
    )
    settings = training.model_dump(mode="json", exclude_unset=True, exclude={"facts"})
    faults = [{"rank": rank, "step": 4, "what": "collective"} for rank in (0, 1)]
    with Fleet(tmp_path / "fleet", settings, net=40) as fleet:
        hosts = faulty_hosts(fleet, 2, faults)
        fleet.write_hosts(hosts)
        assert fleet.launch(min_np=2).wait(200) == 1, fleet.log()
        done = json.loads((fleet.results / "done.json").read_text())
        assert done["status"] == "failed"
        assert (
            "ranks were lost 3 times (elastic.max_failures_without_step) with no new step after step 3"
            in (done["reason"])
        )


@pytest.mark.slow
def test_a_rank_that_dies_while_it_translates_the_validation_split_costs_a_rank_and_no_validation(
    tmp_path: Path,
) -> None:
    training = small(
        tmp_path,
        stop={"steps": 6, "validate_every_steps": 2},
        validation={"decode": "greedy", "measure": "chrf"},
        checkpoint={"every_steps": 4, "keep_best": 2, "average_of": "best"},
        translate={"beam_size": 1, "max_length": 8, "batch_size": 2},
    )
    settings = training.model_dump(mode="json", exclude_unset=True, exclude={"facts"})
    with Fleet(tmp_path / "fleet", settings, net=44) as fleet:
        fleet.write_hosts(faulty_hosts(fleet, 3, [{"rank": 2, "step": 4, "what": "dies translating"}]))
        assert fleet.launch(min_np=1).wait(300) == 0, fleet.log()
        scores = json.loads((fleet.results / "scores.json").read_text())
        lines = [json.loads(line) for line in (fleet.results / "train.log").read_text().splitlines()]
    assert [line["step"] for line in lines if "validation_chrf" in line] == [2, 4, 6]
    assert [(change["from_size"], change["to_size"]) for change in scores["changes"]] == [(3, 2)]
    assert (scores["steps"], scores["replicas_identical"]) == (6, True)
    assert scores["model_of_steps"][0] in (2, 4, 6)
    assert len(set(scores["parameters_sha256"].values())) == 1
