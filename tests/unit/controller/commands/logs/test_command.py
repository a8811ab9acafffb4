"""`centavo logs`: which lines it shows, how it goes on, and what it says where there is nothing to show."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import boto3
import jsonschema
import pytest
from botocore.exceptions import ClientError
from moto import mock_aws

from controller.commands.logs import command
from controller.commands.logs.following import LATE_S, Follower
from controller.commands.logs.log_lines import Wanted
from controller.domain import Instance
from controller.domain.errors import AwsError, ConfigError, StoppedError
from controller.edges.account.logs import LogLine, Logs
from controller.shipping.batches import Event
from controller.shipping.sending import CloudWatch
from localcloud.api.patches.corrections.logs import correct_logs
from tests.unit.controller.commands.command_line import Captured, centavo

RUN, GROUP = "20261122T184029Z", "/centavo/test"
RANK_3, RANK_30 = f"centavo-{RUN}-3", f"centavo-{RUN}-30"
SCHEMA = json.loads(Path(command.__file__).with_name("logs.schema.json").read_text())


@pytest.fixture(scope="module", autouse=True)
def corrected() -> None:
    correct_logs()


@pytest.fixture
def cloud(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """A cloud without logs. Nothing but the settings is needed to find them: neither Terraform's state nor a run."""
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    with mock_aws():
        yield boto3.client("logs", region_name="us-east-1")


@pytest.fixture
def filled(cloud: Any) -> Any:
    """The same with a run, and an earlier one."""
    cloud.create_log_group(logGroupName=GROUP)
    sender, now = CloudWatch(GROUP, lambda: cloud), time.time()
    for stream, age_s, line in (
        ("20261121T000000Z/launcher", 90_000, "an earlier run"),
        (f"{RUN}/launcher", 7200, "18:40:30 INFO the launcher is up"),
        (f"{RUN}/launcher", 60, "[127.20.0.9] 18:40:31 INFO step 1"),
        (f"{RUN}/launcher", 50, "[127.20.0.9] Traceback (most recent call last):"),
        (f"{RUN}/{RANK_3}", 60, "18:40:31 INFO step 1"),
        (f"{RUN}/{RANK_30}", 40, "18:40:31 INFO step 1 of another rank"),
        (f"{RUN}/boot-i-1", 30, "packages\x1b[31m installed"),
        (f"{RUN}/controller", 20, "bringing the fleet up"),
    ):
        sender.send(stream, [Event(round((now - age_s) * 1000), line)])
    return cloud


def shown(capsys: Captured) -> list[str]:
    """The lines that were printed, without their times."""
    return [line.partition(" ")[2] for line in capsys.readouterr().out.splitlines()]


@pytest.mark.usefixtures("filled")
def test_the_logs_of_the_latest_run_are_shown_in_the_order_of_time(root: Path, capsys: Captured) -> None:
    assert centavo(root, "logs") == 0
    assert shown(capsys) == [
        "launcher: 18:40:30 INFO the launcher is up",
        "rank 3: 18:40:31 INFO step 1",
        "launcher: [127.20.0.9] Traceback (most recent call last):",
        "rank 30: 18:40:31 INFO step 1 of another rank",
        "boot-i-1: packages [31m installed",
        "controller: bringing the fleet up",
    ]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--rank", "3"], ["rank 3: 18:40:31 INFO step 1"]),
        (["--stream", "controller"], ["controller: bringing the fleet up"]),
        (["--stream", "boot"], ["boot-i-1: packages [31m installed"]),
        (["--grep", "another rank"], ["rank 30: 18:40:31 INFO step 1 of another rank"]),
        (["--since", "25s"], ["controller: bringing the fleet up"]),
        (["--run", "20261121T000000Z"], ["launcher: an earlier run"]),
        (
            ["--stream", "launcher", "--since", "10m"],
            [
                "launcher: [127.20.0.9] 18:40:31 INFO step 1",
                "launcher: [127.20.0.9] Traceback (most recent call last):",
            ],
        ),
    ],
)
def test_options_say_which_lines(root: Path, capsys: Captured, options: list[str], expected: list[str]) -> None:
    assert centavo(root, "logs", *options) == 0
    assert shown(capsys) == expected


@pytest.mark.usefixtures("filled")
def test_lines_as_json_are_as_the_schema_says(root: Path, capsys: Captured) -> None:
    assert centavo(root, "logs", "--json") == 0
    documents = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    for document in documents:
        jsonschema.validate(document, SCHEMA)
    assert [document["rank"] for document in documents] == [None, 3, None, 30, None, None]


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--rank", "4"], f"The run {RUN} has no log centavo-{RUN}-4.\n  It has boot-i-1, centavo-{RUN}-3, "),
        (["--stream", "contr"], f"The run {RUN} has no log contr."),
        (["--since", "yesterday"], "--since yesterday is no time."),
    ],
)
def test_what_is_not_there_is_told_with_what_is(root: Path, capsys: Captured, options: list[str], told: str) -> None:
    assert centavo(root, "logs", *options) != 0
    assert told in capsys.readouterr().err


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["--grep", "nowhere"], f"The run {RUN} has no line that was asked for in {GROUP}.\n"),
        (["--run", "20200101T000000Z"], f"The run 20200101T000000Z has no logs in {GROUP}.\n"),
    ],
)
def test_nothing_to_show_is_told_and_no_error(root: Path, capsys: Captured, options: list[str], told: str) -> None:
    assert centavo(root, "logs", *options) == 0
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", told)


def test_a_group_without_logs_is_no_error(root: Path, capsys: Captured, cloud: Any) -> None:
    cloud.create_log_group(logGroupName=GROUP)
    assert centavo(root, "logs") == 0
    assert "There are no logs yet in /centavo/test" in capsys.readouterr().err


@pytest.mark.usefixtures("cloud")
def test_a_group_that_is_not_there_is_told_with_what_makes_it(root: Path, capsys: Captured) -> None:
    assert centavo(root, "logs") == AwsError.exit_code
    told = capsys.readouterr().err
    assert "There is no log group /centavo/test" in told and "`centavo apply` makes it" in told


@pytest.mark.usefixtures("filled")
def test_a_permission_that_is_missing_is_named(root: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Logs) -> str:
        def call() -> str:
            raise ClientError({"Error": {"Code": "AccessDeniedException", "Message": "no"}}, "DescribeLogStreams")

        return self._speak("DescribeLogStreams", call)

    monkeypatch.setattr(Logs, "latest_run", refuse)
    assert centavo(root, "logs") == AwsError.exit_code
    told = capsys.readouterr().err
    assert (
        "may not call logs:DescribeLogStreams on the log group /centavo/test" in told
        and "aws/policies has the permissions" in told
    )


def test_a_time_is_how_long_ago_or_a_moment() -> None:
    assert command.since_of("10m", 1000.0, False) == 400.0
    assert command.since_of("1970-01-01T00:01:00Z", 1000.0, False) == 60.0
    assert command.since_of(None, 1000.0, False) == 0.0
    assert command.since_of(None, 1000.0, True) == 400.0
    with pytest.raises(ConfigError):
        command.since_of("soon", 1000.0, False)


class Source:
    """Logs of which a test says what they answer next."""

    def __init__(self) -> None:
        self.all: list[LogLine] = []
        self.is_out = False
        self.asked_from: list[float] = []

    def lines(self, run: str, since: float, log: str = "") -> Iterator[LogLine]:
        if self.is_out:
            raise AwsError("AWS is out")
        self.asked_from.append(since)
        yield from [line for line in self.all if line.at >= since]


class Nights:
    """A clock that lets a test do something in each sleep, and stops after the last one."""

    def __init__(self, *doings: Any) -> None:
        self.time, self.doings = 10_000.0, list(doings)

    def now(self) -> float:
        return self.time

    def sleep(self, seconds: float) -> None:
        if not self.doings:
            raise StoppedError("Stopped.")
        self.time += 11.0
        self.doings.pop(0)()


def followed(source: Source, clock: Nights, instances: Any = lambda: ()) -> list[str]:
    """Follows until the clock stops. Returns what was shown."""
    seen: list[str] = []
    follower = Follower(source, RUN, Wanted(), lambda line: seen.append(line.message), 0.0, clock.now())  # type: ignore[arg-type]
    follower.look()
    with pytest.raises(StoppedError):
        follower.follow(clock, instances, lambda: RUN)  # type: ignore[arg-type]
    return seen


def line(at: float, message: str) -> LogLine:
    return LogLine(at, "launcher", message, message)


def test_following_shows_each_line_once_late_ones_too(capsys: Captured) -> None:
    source = Source()
    source.all = [line(10.0, "long ago"), line(9_990.0, "one")]
    clock = Nights(
        lambda: source.all.append(line(10_005.0, "two")),
        lambda: source.all.append(line(9_980.0, "late")),
        lambda: source.all.append(line(10_030.0, "three")),
    )
    assert followed(source, clock) == ["long ago", "one", "two", "late", "three"]
    assert source.asked_from[-1] >= 10_000.0 - LATE_S


def test_following_goes_on_through_an_outage_and_tells_it_once(capsys: Captured) -> None:
    source = Source()

    def fail() -> None:
        source.is_out = True

    def mend() -> None:
        source.is_out = False
        source.all.append(line(10_020.0, "after"))

    assert followed(source, Nights(fail, lambda: None, mend)) == ["after"]
    assert capsys.readouterr().err.count("the logs can't be read now") == 1


def test_following_tells_which_nodes_are_lost_and_go_on(capsys: Captured) -> None:
    source = Source()
    nodes = [Instance("i-1", "c5.large", "worker", "running"), Instance("i-2", "t2.medium", "worker", "running")]

    def lose() -> None:
        nodes.pop(0)
        nodes.append(replace(nodes[0], instance_id="i-3"))

    clock = Nights(lambda: None, lose, lambda: source.all.append(line(10_030.0, "it goes on")))
    assert followed(source, clock, lambda: list(nodes)) == ["it goes on"]
    told = capsys.readouterr().err
    assert "worker i-1 (c5.large) is gone" in told and "worker i-3 (t2.medium) has come" in told
    assert "i-2" not in told


def test_following_goes_over_to_a_run_that_begins_meanwhile(capsys: Captured) -> None:
    follower = Follower(Source(), RUN, Wanted(), lambda line: None, 0.0, 10_000.0)  # type: ignore[arg-type]
    runs = [RUN, "20261123T000000Z"]
    clock = Nights(lambda: None, lambda: None)
    assert follower.follow(clock, lambda: (), lambda: runs.pop(0)) == "20261123T000000Z"  # type: ignore[arg-type]
    assert "the run 20261123T000000Z has begun" in capsys.readouterr().err


def test_following_waits_for_the_first_run(
    root: Path, capsys: Captured, filled: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[str | None] = [None, None, RUN]
    monkeypatch.setattr(Logs, "latest_run", lambda _: answers.pop(0))
    clock = Nights(lambda: None, lambda: None)
    monkeypatch.setattr(clock, "now", time.time)
    options = argparse.Namespace(run=None, stream="controller", rank=None, grep="", json=False)
    with pytest.raises(StoppedError):
        command._follow(clock, options, Logs("us-east-1", GROUP), 0.0, lambda: ())  # type: ignore[arg-type]
    printed = capsys.readouterr()
    assert "This command waits for them." in printed.err
    assert "controller: bringing the fleet up" in printed.out and not answers
