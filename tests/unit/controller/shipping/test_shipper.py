"""Logs on their way to CloudWatch: through rotations, restarts, outages and a disk that is full."""

from __future__ import annotations

import itertools
import json
import os
import random
from pathlib import Path

import pytest

from controller.shipping import marks as marks_module
from controller.shipping import shipper as shipper_module
from controller.shipping import tail as tail_module
from controller.shipping.log import Source
from controller.shipping.shipper import LONGEST_PAUSE_S, Shipper
from tests.unit.controller.shipping.log_files import LogFile, Remembering


class World:
    """A node with one log, whose time a test sets."""

    def __init__(self, folder: Path) -> None:
        self.log = LogFile(folder / "worker.log")
        self.sender, self.now, self.stream = Remembering(), 1000.0, "run/worker"
        self.told: list[str] = []
        self.state = folder / "state" / "shipped.json"
        self.state.parent.mkdir(exist_ok=True)
        self.start()

    def start(self) -> None:
        """Starts a shipper, as after a restart."""
        source = Source("worker.log", self.log.path, lambda: self.stream)
        self.shipper = Shipper([source], self.sender, self.state, lambda: self.now, self.told.append)

    def go(self, later_s: float = 2.0) -> bool:
        """Lets time pass, and the shipper look."""
        self.now += later_s
        return self.shipper.go()


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_each_line_is_sent_once_with_the_time_at_which_it_appeared(world: World) -> None:
    world.log.add("one", "two")
    world.go()
    world.log.add("three")
    world.go()
    world.go()
    assert [(e.message, e.at_ms) for _, e in world.sender.got] == [
        ("one", 1002_000), ("two", 1002_000), ("three", 1004_000),
    ]  # fmt: skip


def test_a_log_that_is_not_there_yet_is_waited_for(world: World) -> None:
    assert world.go()
    world.log.add("one")
    world.go()
    assert world.sender.messages == ["one"] and world.told == []


def test_a_line_waits_for_its_end(world: World) -> None:
    with world.log.path.open("a") as file:
        file.write("half")
        file.flush()
        world.go()
        assert world.sender.messages == []
        file.write(" and half\n")
    world.go()
    assert world.sender.messages == ["half and half"]


def test_a_restart_sends_nothing_twice_and_leaves_nothing_out(world: World) -> None:
    world.log.add("one")
    world.go()
    world.log.add("two")
    world.start()
    world.go()
    assert world.sender.messages == ["one", "two"]


def test_a_shipper_that_was_killed_after_a_batch_repeats_this_batch_only(world: World) -> None:
    world.log.add("one")
    world.go()
    kept = world.state.read_bytes()
    world.log.add("two")
    world.go()
    world.state.write_bytes(kept)  # it was killed between sending and noting so
    world.log.add("three")
    world.start()
    world.go()
    assert world.sender.messages == ["one", "two", "two", "three"]


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"version": 1}', b'{"version": 9, "logs": {}}', b"\xff"])
def test_a_state_that_cannot_be_read_sends_all_again(world: World, content: bytes) -> None:
    world.log.add("one")
    world.go()
    world.state.write_bytes(content)
    world.start()
    world.go()
    assert world.sender.messages == ["one", "one"]


def test_rotations_lose_nothing(world: World) -> None:
    world.log.add("one")
    world.go()
    world.log.add("two")
    world.log.rotate()
    world.log.add("three")
    world.log.rotate()
    world.log.add("four")
    world.go()
    assert world.sender.messages == ["one", "two", "three", "four"]


def test_the_last_line_of_a_rotated_file_needs_no_end(world: World) -> None:
    world.log.add("one")
    world.go()
    with world.log.path.open("a") as file:
        file.write("torn")
    world.log.rotate()
    world.log.add("two")
    world.go()
    assert world.sender.messages == ["one", "torn", "two"]


def test_what_was_rotated_away_during_an_outage_is_told_in_the_stream(world: World) -> None:
    world.log.add("one")
    world.go()
    world.sender.is_out = True
    world.log.add("lost " * 10)
    world.go()
    for number in range(3):
        world.log.rotate()
        world.log.add(f"line {number}")
    world.go(100)
    world.sender.is_out = False
    world.go(100)
    note = "[centavo] worker.log: at least 51 bytes are missing here: the log was rotated or cut before they were sent"
    assert world.sender.messages == ["one", note, "line 0", "line 1", "line 2"]
    world.log.add("more")
    world.go()
    assert world.sender.messages[-1] == "more"


def test_a_new_file_with_the_number_of_a_deleted_one_is_read_from_its_start(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.log.add("an old line")
    world.go()
    status = os.stat(world.log.path)
    world.log.path.unlink()
    world.log.add("another line, longer than the old one")
    monkeypatch.setattr(
        tail_module.os,
        "fstat",
        lambda number: os.stat_result((*os.stat(number)[:1], status.st_ino, *os.stat(number)[2:])),
    )
    world.go()
    assert world.sender.messages[-1] == "another line, longer than the old one"


def test_a_log_that_is_cut_is_read_from_its_start(world: World) -> None:
    world.log.add("one", "two")
    world.go()
    world.log.path.write_text("new\n")
    world.go()
    assert world.sender.messages[-1] == "new" and "lines may be missing here" in world.sender.messages[-2]


def test_an_outage_delays_lines_and_keeps_their_times(world: World) -> None:
    world.sender.is_out = True
    world.log.add("one")
    world.go()
    world.log.add("two")
    world.go(600)
    world.sender.is_out = False
    world.start()
    world.go(600)
    assert [(e.message, e.at_ms) for _, e in world.sender.got] == [("one", 1002_000), ("two", 1602_000)]


def test_attempts_get_rarer_in_an_outage_which_is_told_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shipper_module.random, "uniform", lambda least, most: most)
    attempts: list[float] = []
    world.sender.is_out = True
    monkeypatch.setattr(
        world.sender, "send", lambda *_: (attempts.append(world.now), Remembering.send(world.sender, *_))[1]
    )
    world.log.add("one")
    for _ in range(600):
        world.go(1)
    waits = [after - before for before, after in itertools.pairwise(attempts)]
    assert waits[:6] == [1, 2, 4, 8, 16, 32] and set(waits[6:]) == {LONGEST_PAUSE_S}
    assert len(world.told) == 1 and "stay in their files" in world.told[0]
    world.sender.is_out = False
    world.go(60)
    assert world.told[1:] == ["CloudWatch takes logs again"] and world.sender.messages == ["one"]


def test_lines_go_to_the_stream_that_they_appeared_in(world: World) -> None:
    world.sender.is_out = True
    world.log.add("before")
    world.go()
    world.stream = "run/centavo-run-3"
    world.log.add("after")
    world.go()
    world.start()
    world.sender.is_out = False
    world.go(100)
    assert [(stream, e.message) for stream, e in world.sender.got] == [
        ("run/worker", "before"),
        ("run/centavo-run-3", "after"),
    ]


def test_a_failure_between_two_streams_repeats_nothing(world: World) -> None:
    world.sender.is_out = True
    world.log.add("before")
    world.go()
    world.stream = "run/centavo-run-3"
    world.log.add("after")
    world.sender.is_out, world.sender.takes_calls = False, 1
    world.go(100)
    world.sender.takes_calls = None
    world.go(100)
    assert world.sender.messages == ["before", "after"]


def test_empty_lines_are_left_out_and_broken_text_is_replaced(world: World) -> None:
    world.log.path.write_bytes(b"\n\r\n\xff\xfe bad\r\nprogress 1\rprogress 2\n\n")
    world.go()
    assert world.sender.messages == ["\ufffd\ufffd bad", "progress 1\rprogress 2"]


def test_a_line_without_an_end_in_sight_is_sent_in_parts(world: World) -> None:
    world.log.path.write_text("x" * 600_000)
    world.go()
    world.log.add("")
    world.go()
    assert "".join(world.sender.messages) == "x" * 600_000
    assert max(map(len, world.sender.messages)) <= 262_144 - 26


def test_a_disk_without_room_for_the_state_stops_nothing(world: World) -> None:
    world.state.parent.rmdir()
    world.log.add("one")
    world.go()
    world.log.add("two")
    world.go()
    assert world.sender.messages == ["one", "two"] and len(world.told) == 1


def test_marks_stay_few_in_a_long_outage(world: World) -> None:
    world.sender.is_out = True
    for number in range(3 * marks_module.MOST_MARKS):
        world.log.add(f"line {number}")
        world.go(1)
    assert len(json.loads(world.state.read_bytes())["logs"]["worker.log"]["marks"]) <= marks_module.MOST_MARKS
    world.sender.is_out = False
    for _ in range(3):
        world.go(100)
    times = [event.at_ms for _, event in world.sender.got]
    assert len(times) == 3 * marks_module.MOST_MARKS and times == sorted(times)


@pytest.mark.parametrize("seed", range(12))
def test_whatever_happens_in_whatever_order_nothing_is_lost_that_is_on_the_disk(tmp_path: Path, seed: int) -> None:
    chance, world, written = random.Random(seed), World(tmp_path), []
    rotations = 0
    for number in range(200):
        what = chance.randrange(10)
        if what < 5:
            written.append(f"{number} " + "x" * chance.choice([0, 10, 2000]))
            world.log.add(written[-1])
        elif what == 5 and world.log.path.exists() and rotations < 2:
            world.log.rotate()
            rotations += 1
        elif what == 6:
            world.start()
        elif what == 7:
            world.sender.is_out = not world.sender.is_out
        elif world.go(chance.choice([1, 100])) and not world.sender.is_out:
            rotations = 0
    world.sender.is_out = False
    for _ in range(5):
        world.go(100)
    assert world.sender.messages == written
    times = [event.at_ms for _, event in world.sender.got]
    assert times == sorted(times)


def test_a_rotation_in_the_middle_of_a_look_loses_and_repeats_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.log.add("one")
    world.log.rotate()
    world.log.add("two")
    world.go()
    world.log.add("three")
    really_open, rotations = Path.open, [world.log.rotate]

    def open_and_rotate(path: Path, *given: str, **named: str) -> object:
        opened = really_open(path, *given, **named)  # type: ignore[call-overload]
        if path.name.startswith("worker.log") and "rb" in given and rotations:
            rotations.pop()()
        return opened

    monkeypatch.setattr(Path, "open", open_and_rotate)
    world.go()
    world.go()
    assert world.sender.messages == ["one", "two", "three"] and not rotations


def test_a_clock_that_was_ahead_for_a_while_spoils_only_the_lines_of_that_while(world: World) -> None:
    world.now += 86_400
    world.log.add("from the future")
    world.go()
    world.now -= 86_400
    world.log.add("now")
    world.go()
    assert [event.at_ms for _, event in world.sender.got] == [87_402_000, 1004_000]


def test_a_clock_that_is_set_back_in_an_outage_does_not_make_it_longer(world: World) -> None:
    world.sender.is_out = True
    world.log.add("one")
    world.go()
    world.sender.is_out = False
    world.now -= 86_400
    world.go()
    assert world.sender.messages == ["one"]
