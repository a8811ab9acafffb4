"""What the switches do, and that they may be disturbed at every point."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.warden.bucket import Bucket
from controller.warden.groups import Groups
from controller.warden.head import HeadDuty
from controller.warden.node import Node, NodeSettings, SettingsError, read_settings
from controller.warden.service import Warden
from controller.warden.worker import WorkerDuty
from tests.unit.controller.warden.stand_ins import S3, AutoScaling, Ec2

SUPERVISOR = """
import pathlib, sys
root = pathlib.Path(sys.argv[1])
with (root / "asked").open("a") as file:
    file.write(" ".join(sys.argv[2:]) + f" wanted={sorted(p.name for p in (root / 'wanted').iterdir())}\\n")
"""


class House:
    """A head, or a worker, with its warden, in a cluster of two groups. Time is the test's."""

    def __init__(self, root: Path) -> None:
        self.s3, self.groups, self.ec2 = S3(), AutoScaling(large=2, small=1), Ec2()
        self.told: list[str] = []
        self.root = root
        for folder in ("wanted", "log", "results", "facts.d"):
            (root / folder).mkdir()
        (root / "run").write_text("run-1")
        (root / "log" / "launcher.log").write_text("all was well")
        (root / "results" / "scores.json").write_text("{}")
        for service in ("controller", "launcher", "worker", "warden"):
            (root / "wanted" / service).touch()
        (root / "supervisor.py").write_text(SUPERVISOR)
        self.head_is_up = True

    def warden(self, role: str, instance_id: str = "i-head") -> Warden:
        supervisor = (sys.executable, str(self.root / "supervisor.py"), str(self.root))
        settings = NodeSettings(
            "unit", "bucket", "us-east-1", instance_id, self.root, self.root / "facts.d", supervisor, "127.0.0.1", 1
        )
        node, bucket = Node(settings, self.told.append), Bucket("unit", "bucket", "us-east-1", self.s3)
        node.head_answers = lambda: self.head_is_up  # type: ignore[method-assign]
        groups = Groups("us-east-1", self.told.append, self.groups)
        if role == "worker":
            return Warden(bucket, WorkerDuty(node, groups, self.told.append), self.told.append, self.clock)
        duty = HeadDuty(node, bucket, groups, self.told.append, self.ec2, self.wait)
        return Warden(bucket, duty, self.told.append, self.clock)

    def clock(self) -> float:
        return self.s3.now_s

    def wait(self, seconds: float) -> None:
        self.s3.now_s += seconds

    def at(self, seconds: float) -> None:
        self.s3.now_s = seconds

    def watch(self, warden: Warden, seconds: float) -> None:
        """Lets a warden look every minute, and for the last time at `seconds`."""
        while self.clock() < seconds:
            warden.pass_once()
            self.at(min(self.clock() + 60, seconds))
        warden.pass_once()

    def steps(self, step: int) -> None:
        (self.root / "facts.d" / "launcher.fact").write_text(json.dumps({"step": step}))

    @property
    def asked(self) -> list[str]:
        file = self.root / "asked"
        return file.read_text().splitlines() if file.exists() else []

    def said(self, part: str) -> bool:
        return any(part in line for line in self.told)


@pytest.fixture
def house(tmp_path: Path) -> House:
    return House(tmp_path)


def test_a_head_whose_controller_is_gone_gives_everything_back_in_order(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    house.watch(warden, 900)
    assert len(house.groups.running) == 3 and house.asked == [], "the lease is valid to its last second"
    house.at(901)
    warden.pass_once()
    assert house.asked == [
        "stop controller wanted=['launcher', 'warden', 'worker']",
        "stop launcher wanted=['warden', 'worker']",
    ], "neither is wanted any more, and no controller is left that would start the launcher again"
    assert house.groups.running == [] and house.groups.desired == {"large": 0, "small": 0}
    assert house.ec2.stopped == ["i-head"]
    assert house.s3.read_lease()["fired"]["by"] == "head"
    assert house.s3.objects["run-1/control/head/log/launcher.log"][0] == b"all was well"
    assert "run-1/control/head/results/scores.json" in house.s3.objects
    assert house.said("fires: no controller has renewed the lease for 901 s (limit 900 s)")


def test_a_run_that_waits_for_capacity_keeps_its_head_until_its_controller_dies(house: House) -> None:
    warden = house.warden("head")
    house.steps(7)
    for at in range(0, 30000, 300):
        house.s3.lease(waits_since="2026-11-23T00:00:00Z")
        house.watch(warden, at + 300)
    assert house.ec2.stopped == [] and len(house.groups.running) == 3
    house.watch(warden, 31200)
    assert house.s3.read_lease()["fired"]["why"] == "no-controller" and house.ec2.stopped == ["i-head"]


def test_a_controller_that_comes_back_at_the_last_moment_keeps_its_fleet(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    real = house.s3.get_object

    def read_and_renew(**key: str) -> object:
        answer = real(**key)
        house.s3.lease(step=8)
        return answer

    house.watch(warden, 900)
    house.s3.get_object = read_and_renew  # type: ignore[method-assign,assignment]
    house.at(901)
    warden.pass_once()
    assert len(house.groups.running) == 3 and house.ec2.stopped == [] and house.asked == []
    assert house.said("somebody has written the lease just now")
    house.s3.get_object = real  # type: ignore[method-assign]
    warden.pass_once()
    assert len(house.groups.running) == 3


def test_a_valid_lease_is_never_touched(house: House) -> None:
    warden = house.warden("head")
    for minute in range(0, 600):
        house.at(minute * 60)
        house.s3.lease(step=minute)
        warden.pass_once()
    assert len(house.groups.running) == 3 and house.s3.read_lease()["fired"] is None
    assert len(house.told) < 5, "what does not change is told once"


def test_a_cluster_of_a_controller_without_leases_is_left_alone_while_it_trains(house: House) -> None:
    warden = house.warden("head")
    for minute in range(0, 600, 10):
        house.at(minute * 60)
        house.steps(minute)
        warden.pass_once()
    assert len(house.groups.running) == 3
    house.at(590 * 60 + 900)
    warden.pass_once()
    assert len(house.groups.running) == 3
    house.at(590 * 60 + 901)
    warden.pass_once()
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]


def test_a_controller_that_never_gets_anywhere_owns_nothing_for_ever(house: House) -> None:
    """It crashes again and again, and takes and gives back the lease each time."""
    house.steps(7)
    warden = house.warden("head")
    for minute in range(32):
        house.at(minute * 60)
        house.s3.lease(generation=minute + 1, released=True)
        house.wait(10)
        warden.pass_once()
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]
    assert house.said("fires: the controller has given the lease back, and no step is made for 1860 s (limit 1800 s)")


def test_a_launcher_that_works_is_not_ended_while_it_makes_no_step(house: House) -> None:
    """After the last step come the scores. `centavo train` has given its lease back long ago."""
    house.s3.lease(released=True)
    warden = house.warden("head")
    fact = house.root / "facts.d" / "launcher.fact"
    for minute in range(119):
        house.at(minute * 60)
        fact.write_text(json.dumps({"step": 7, "state": "training", "updated_at": str(minute)}))
        warden.pass_once()
    assert len(house.groups.running) == 3
    fact.write_text(json.dumps({"step": 7, "state": "ended", "updated_at": "later"}))
    house.watch(warden, 7200)
    assert len(house.groups.running) == 3
    house.watch(warden, 7260)
    assert house.groups.running == [], "and no launcher keeps the money running without a step"


def test_a_launcher_that_has_ended_or_hangs_keeps_nothing(house: House) -> None:
    house.s3.lease(released=True)
    for told in ({"state": "ended"}, {"state": "training", "updated_at": "once"}):
        (house.root / "facts.d" / "launcher.fact").write_text(json.dumps({"step": 7, **told}))
        warden, end = house.warden("head"), house.clock() + 1800
        house.groups = AutoScaling(large=2)
        warden = house.warden("head")
        house.watch(warden, end)
        assert len(house.groups.running) == 2
        house.watch(warden, end + 61)
        assert house.groups.running == []
        house.s3.lease(released=True)


def test_a_fresh_head_without_a_lease_waits_from_its_start(house: House) -> None:
    house.at(100_000)
    warden = house.warden("head")
    house.at(100_900)
    warden.pass_once()
    assert len(house.groups.running) == 3


@pytest.mark.parametrize(
    "operation", ["set_desired_capacity", "set_instance_protection", "describe_auto_scaling_groups"]
)
def test_a_head_that_lacks_a_permission_says_which_and_does_not_end_itself_before_it_has_given_all_back(
    house: House, operation: str
) -> None:
    house.s3.lease()
    warden = house.warden("head")
    house.groups.failing = {operation}
    house.watch(warden, 901)
    assert house.ec2.stopped == [] and house.said("AccessDenied") and house.said(operation)
    house.groups.failing = set()
    warden.pass_once()
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]
    assert len(house.asked) == 2, "controller and launcher are stopped once"


def test_a_node_that_just_starts_is_waited_for(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    house.groups.starting = {"i-large-1"}
    real = house.wait

    def wait(seconds: float) -> None:
        real(seconds)
        if house.clock() > 1000:
            house.groups.starting = set()

    house.wait = wait  # type: ignore[method-assign]
    warden._duty._sleep = wait  # type: ignore[attr-defined]
    house.watch(warden, 901)
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]


def test_a_bucket_that_takes_nothing_does_not_keep_the_money_running(house: House) -> None:
    house.s3.lease()
    house.s3.may_write = False
    warden = house.warden("head")
    house.watch(warden, 901)
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]
    assert house.said("the lease could not be marked") and house.said("was not uploaded")


def test_a_head_that_cannot_read_the_bucket_ends_by_its_own_clock_once_no_step_is_made(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    house.at(-7200)
    for minute in range(121):
        house.s3.is_there = minute == 0
        house.at(minute * 60 - 7200)
        house.steps(minute)
        warden.pass_once()
    assert len(house.groups.running) == 3, "the training goes on by itself"
    house.at(3600)
    warden.pass_once()
    assert len(house.groups.running) == 3
    house.at(3601)
    warden.pass_once()
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]


def test_the_first_look_after_an_outage_ends_no_training(house: House) -> None:
    """Controller and head have lost the bucket together, and the head is the first to reach it again."""
    house.s3.lease()
    warden = house.warden("head")
    house.watch(warden, 60)
    house.s3.is_there = False
    house.watch(warden, 1200)
    house.s3.is_there = True
    house.watch(warden, 1260)
    assert len(house.groups.running) == 3
    house.watch(warden, 1200 + 900)
    assert len(house.groups.running) == 3
    house.watch(warden, 1200 + 960)
    assert house.groups.running == [], "a controller that does not come back is waited for no longer than a lease"


def test_the_first_look_after_a_suspend_ends_no_training(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    house.watch(warden, 60)
    house.at(7000)
    warden.pass_once()
    assert len(house.groups.running) == 3


def test_a_bucket_that_is_silent_now_and_then_keeps_nothing(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    for minute in range(16):
        house.at(minute * 60)
        house.s3.is_there = minute % 3 == 0
        warden.pass_once()
    house.s3.is_there = True
    house.watch(warden, 960)
    assert house.groups.running == []


@pytest.mark.parametrize(("end", "stopped", "terminated"), [("stop", 1, 0), ("terminate", 0, 1), ("keep", 0, 0)])
def test_the_head_ends_as_the_settings_say(house: House, end: str, stopped: int, terminated: int) -> None:
    house.s3.lease(switch={"head": end})
    warden = house.warden("head")
    house.watch(warden, 901)
    warden.pass_once()
    assert (len(house.ec2.stopped), len(house.ec2.terminated)) == (stopped, terminated)
    assert house.groups.running == []


def test_a_head_that_keeps_itself_watches_over_the_next_holder(house: House) -> None:
    house.s3.lease(switch={"head": "keep"})
    warden = house.warden("head")
    house.watch(warden, 901)
    house.s3.lease(generation=2, switch={"head": "keep"})
    house.groups.desired["small"], house.groups.members["small"] = 1, ["i-small-9"]
    end = house.clock() + 900
    house.watch(warden, end)
    assert house.groups.running == ["i-small-9"]
    house.watch(warden, end + 1)
    assert house.groups.running == []


def test_the_launcher_of_the_next_holder_is_stopped_too(house: House) -> None:
    house.s3.lease(switch={"head": "keep"})
    warden = house.warden("head")
    for generation in (1, 2):
        house.s3.lease(generation=generation, switch={"head": "keep"})
        house.watch(warden, house.clock() + 901)
        assert sum("stop launcher" in line for line in house.asked) == generation


def at_call(number: int, change: Callable[[], None], real: Callable[..., object]) -> Callable[..., object]:
    """Returns a function that does what `real` does, after `change` at one of its calls."""
    calls = 0

    def call(*arguments: object, **named: object) -> object:
        nonlocal calls
        calls += 1
        if calls == number:
            change()
        return real(*arguments, **named)

    return call


@pytest.mark.parametrize("look", range(2, 9))
def test_a_new_owner_loses_nothing_whenever_it_takes_the_lease(house: House, look: int) -> None:
    """A switch that has fired goes on for minutes. The controller takes the lease before any of its looks."""
    house.s3.lease()
    warden = house.warden("head")
    house.groups.starting = {"i-large-1"}
    seen: list[object] = []

    def take() -> None:
        house.s3.lease(generation=2, run="run-2", stage="starting")
        house.groups.starting = set()
        house.groups.desired["small"], house.groups.members["small"] = 1, ["i-small-9"]
        seen.extend([len(house.asked), *house.s3.objects])

    house.watch(warden, 900)
    house.s3.get_object = at_call(look, take, house.s3.get_object)  # type: ignore[method-assign,assignment]
    house.at(901)
    warden.pass_once()
    assert seen, "the lease was taken"
    assert house.groups.members["small"] == ["i-small-9"] and house.ec2.stopped == []
    assert [len(house.asked), *house.s3.objects] == seen, "nothing is stopped and nothing uploaded for it"
    assert house.s3.read_lease()["fired"] is None
    assert house.said("ada on laptop has written the lease meanwhile, so nothing more is ended")
    warden.pass_once()
    assert house.groups.members["small"] == ["i-small-9"]


def test_a_new_owner_that_takes_the_lease_during_the_upload_keeps_the_head(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")

    def take() -> None:
        house.s3.lease(generation=2, run="run-2", stage="starting")

    house.watch(warden, 900)
    house.s3.put_object = at_call(2, take, house.s3.put_object)  # type: ignore[method-assign]
    house.at(901)
    warden.pass_once()
    assert "run-1/control/head/log/launcher.log" in house.s3.objects and house.ec2.stopped == []


def test_a_bucket_that_falls_silent_in_the_middle_ends_no_giving_back(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")

    def silence() -> None:
        house.s3.is_there = False

    house.watch(warden, 900)
    house.s3.get_object = at_call(2, silence, house.s3.get_object)  # type: ignore[method-assign,assignment]
    house.at(901)
    warden.pass_once()
    assert house.groups.running == [] and house.ec2.stopped == ["i-head"]


def test_a_head_whose_log_no_bucket_takes_stops_and_is_not_terminated(house: House) -> None:
    house.s3.lease(switch={"head": "terminate"})
    house.s3.may_write = False
    warden = house.warden("head")
    house.watch(warden, 901)
    assert (house.ec2.stopped, house.ec2.terminated) == (["i-head"], [])
    assert house.said("its disk holds what the bucket has not taken")


def test_a_warden_that_was_killed_in_the_middle_goes_on(house: House) -> None:
    house.s3.lease()
    house.groups.failing = {"set_desired_capacity"}
    first = house.warden("head")
    house.watch(first, 901)
    assert house.s3.read_lease()["fired"]["by"] == "head" and len(house.groups.running) == 3
    house.groups.failing = set()
    second = house.warden("head")
    second.pass_once()
    assert house.groups.running == [], "what costs most ends at once"
    assert house.ec2.stopped == []
    house.wait(1801)
    second.pass_once()
    assert house.ec2.stopped == ["i-head"]


def test_a_worker_without_lease_and_head_ends_itself_after_a_checkpoint_and_is_not_replaced(house: House) -> None:
    house.s3.lease()
    warden = house.warden("worker", "i-large-1")
    warden.pass_once()
    house.head_is_up = False
    house.at(900)
    warden.pass_once()
    house.at(4500)
    warden.pass_once()
    assert len(house.groups.running) == 3, "it waits from the last time when the lease was valid"
    house.at(4501)
    warden.pass_once()
    assert house.asked == ["stop worker wanted=['controller', 'launcher', 'warden']"]
    assert house.groups.running == ["i-large-0", "i-small-0"] and house.groups.desired == {"large": 1, "small": 1}


def test_a_worker_whose_head_answers_stays(house: House) -> None:
    warden = house.warden("worker", "i-large-1")
    for hour in range(48):
        house.at(hour * 3600)
        warden.pass_once()
    assert len(house.groups.running) == 3


def test_a_worker_that_aws_refuses_to_end_tries_again(house: House) -> None:
    house.head_is_up = False
    warden = house.warden("worker", "i-large-1")
    house.groups.failing = {"terminate_instance_in_auto_scaling_group"}
    house.at(3601)
    warden.pass_once()
    assert len(house.groups.running) == 3 and house.said("AccessDenied")
    house.groups.failing = set()
    warden.pass_once()
    assert len(house.groups.running) == 2


@pytest.mark.parametrize("content", ["", "{", "[]", "[" * 5000, '{"step": "x"}', '{"step": true}', "\x00" * 70_000])
def test_a_launchers_fact_that_makes_no_sense_is_no_step(house: House, content: str) -> None:
    house.s3.lease(step=None)
    warden = house.warden("head")
    (house.root / "facts.d" / "launcher.fact").write_text(content)
    warden.pass_once()
    assert len(house.groups.running) == 3


def test_a_service_that_never_stops_does_not_keep_the_head(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.warden.node.STOP_S", 0.2)
    (house.root / "supervisor.py").write_text("import time; time.sleep(30)")
    house.s3.lease()
    warden = house.warden("head")
    house.watch(warden, 901)
    assert house.groups.running == [] and house.said("has not stopped within")


def test_no_link_is_uploaded(house: House) -> None:
    (house.root / "log" / "secret").symlink_to(house.root / "supervisor.py")
    house.s3.lease()
    warden = house.warden("head")
    house.watch(warden, 901)
    assert not any("secret" in key for key in house.s3.objects)


@pytest.mark.parametrize(
    "change", [lambda d: d.pop("bucket"), lambda d: d.update(cluster=""), lambda d: d.update(head_port="x")]
)
def test_settings_that_cannot_be_used_say_what_to_do(
    tmp_path: Path, change: Callable[[dict[str, object]], object]
) -> None:
    document: dict[str, object] = {
        "cluster": "unit", "bucket": "b", "region": "r", "instance_id": "i", "head_address": "h", "head_port": 22,
        "root": "/r", "fact_path": "/f", "supervisor": ["true"],
    }  # fmt: skip
    file = tmp_path / "warden.json"
    file.write_text(json.dumps(document))
    assert read_settings(file).supervisor == ("true",)
    change(document)
    file.write_text(json.dumps(document))
    with pytest.raises(SettingsError, match=r"warden\.json cannot be used.*prepare the node again"):
        read_settings(file)


def test_a_pass_that_fails_in_a_way_nobody_thought_of_forgets_nothing(house: House) -> None:
    house.s3.lease()
    warden = house.warden("head")
    duty = warden._duty
    real, failures = duty.signs, 0

    def signs() -> object:
        nonlocal failures
        failures += 1
        if failures == 2:
            raise ZeroDivisionError("nobody thought of this")
        return real()

    duty.signs = signs  # type: ignore[method-assign,assignment]

    class Enough(BaseException):
        """Ends the endless loop."""

    def sleep(seconds: float) -> None:
        house.wait(seconds)
        if house.clock() > 1000:
            raise Enough

    with pytest.raises(Enough):
        warden.run(sleep)
    assert house.said("nobody thought of this") and house.groups.running == []
