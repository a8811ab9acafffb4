"""What the trainer really writes is what the schema of the iteration fact describes, in every state."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any

import jsonschema
import pytest

import trainer.node
from tests.support.small_training import small
from trainer.elastic.errors import RemovedFromJobError
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.node import fact_writer
from trainer.node.fact import MembershipChange, RankFigures, State
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Instance
from trainer.worker.rank import Outcome, Rank

SCHEMA = json.loads(Path(trainer.node.__path__[0], "fact.schema.json").read_text())
STATES = [state.value for state in State]


class Reader:
    """Reads each fact that is written, and holds it against the schema."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.facts: list[dict[str, Any]] = []
        self._validator = jsonschema.Draft202012Validator(SCHEMA)
        write = fact_writer.write_atomically

        def write_and_read(path: Path, data: str, **options: bool) -> None:
            write(path, data, **options)
            self.read(path)

        monkeypatch.setattr(fact_writer, "write_atomically", write_and_read)

    def read(self, path: Path) -> None:
        fact = json.loads(path.read_text(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        self._validator.validate(fact)
        assert set(fact) == set(SCHEMA["properties"]), "each field is described, and each one is always written"
        self.facts.append(fact)

    @property
    def states(self) -> list[str]:
        """The states in the order in which they were entered."""
        return list(dict.fromkeys(fact["state"] for fact in self.facts))


@pytest.fixture
def reader(monkeypatch: pytest.MonkeyPatch) -> Reader:
    return Reader(monkeypatch)


def test_the_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_training_that_finishes(tmp_path: Path, reader: Reader) -> None:
    rank = Rank.of(small(tmp_path))
    training = rank.prepare(Silent(), resume=False)
    assert training is not None
    assert rank.train(training, Silent()) is Outcome.FINISHED
    assert reader.states == ["starting", "training", "finished"]
    last = reader.facts[-1]
    assert (last["rank"], last["world_size"], last["step"], last["share"]) == (0, 1, 12, 1.0)
    assert last["window"] == 9 and last["iteration_time_s"] > 0


def test_a_training_that_is_stopped(tmp_path: Path, reader: Reader) -> None:
    rank = Rank.of(small(tmp_path))
    training = rank.prepare(Silent(), resume=False)
    assert training is not None
    rank.requests.stop("interrupted by a test")
    assert rank.train(training, Silent()) is Outcome.STOPPED
    assert reader.states == ["starting", "training", "interrupted"]


def test_a_rank_that_is_no_longer_wanted(tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    class LastWorld(World):
        is_change_pending = True  # type: ignore[assignment]

        def reset(self) -> None:
            raise RemovedFromJobError

    rank = Rank.of(small(tmp_path))
    training = rank.prepare(Silent(), resume=False)
    assert training is not None
    monkeypatch.setattr("trainer.worker.rank.World", lambda: LastWorld({}))
    assert rank.train(training, Silent()) is Outcome.LEFT
    assert reader.states == ["starting", "training", "draining"]


@pytest.mark.parametrize(
    "sections",
    [{"corpus": {"kind": "files"}}, {"optimizer": {"learning_rate": 1e30, "warmup_steps": 0}}],
    ids=["before it begins", "while it trains"],
)
def test_a_training_that_fails(tmp_path: Path, reader: Reader, sections: dict[str, Any]) -> None:
    rank = Rank.of(small(tmp_path, **sections))
    training = rank.prepare(Silent(), resume=False)
    if training is not None:
        assert rank.train(training, Silent()) is Outcome.FAILED
    assert reader.states[-1] == "failed"


def test_every_state_with_everything_that_a_fact_can_say(tmp_path: Path, reader: Reader) -> None:
    change = MembershipChange("2026-11-21T06:00:00.000Z", 6, 11, 1.5, 3)
    figures = RankFigures(3, 11, 7, 0.5, 0.25, 64.0, 1000.5, 50, 100, 7000, -0.5, 0.3, 22_000_000, change)
    facts = FactWriter(tmp_path, Instance("i-0123456789abcdef0", "c5.18xlarge"), emulated_speed=0.25)
    for state in State:
        facts.figures = RankFigures() if state is State.STARTING else figures
        facts.announce(state, "a reason " * 1000)
    assert reader.states == STATES


def test_the_time_to_leave_runs_out(tmp_path: Path, reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr("os._exit", lambda code: ended.set())
    Rank.of(small(tmp_path)).requests.leave("interrupted by the spot service", grace_s=0.0)
    assert ended.wait(10)
    assert reader.states == ["starting", "interrupted"]


@pytest.mark.parametrize(
    "wrong",
    [{"state": "resting"}, {"rank": -1}, {"step": 1.5}, {"updated_at": "now"}, {"instance_id": ""}, {"share": 2},
     {"rank": None, "state": "training"}, {"last_change": {"at": "now"}}],
    ids=str,
)  # fmt: skip
def test_the_schema_refuses_what_no_rank_would_say(tmp_path: Path, reader: Reader, wrong: dict[str, Any]) -> None:
    FactWriter(tmp_path, Instance("i-1", "c5.large")).announce(State.STARTING)
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**reader.facts[-1], **wrong}, SCHEMA)
