"""When rules with a rate call their functions."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from localcloud.api.functions.schedules import Schedules, rate_s

RULE = "arn:aws:events:us-east-1:123456789012:rule/every"
FUNCTION = "arn:aws:lambda:us-east-1:123456789012:function:reaper"
PERMISSION = {
    "Effect": "Allow",
    "Principal": {"Service": "events.amazonaws.com"},
    "Action": "lambda:InvokeFunction",
    "Condition": {"ArnLike": {"AWS:SourceArn": RULE}},
}


class World:
    """One rule and one function, with a clock that a test sets."""

    def __init__(self, expression: str = "rate(10 minutes)") -> None:
        self.now, self.called = 0.0, 0
        self.rule = SimpleNamespace(
            name="every", arn=RULE, scheduled_expression=expression, state="ENABLED", account_id="123456789012",
            region_name="us-east-1", targets=[{"Id": "1", "Arn": FUNCTION}],
        )  # fmt: skip
        self.function = SimpleNamespace(function_name="reaper", policy=SimpleNamespace(statements=[PERMISSION]))
        self.bus: Any = SimpleNamespace(rules={"every": self.rule})
        rules: Any = SimpleNamespace(event_buses={"default": self.bus})
        functions: Any = SimpleNamespace(list_functions=lambda: [self.function])
        self.schedules = Schedules(rules, functions, self.call, lambda: self.now)

    def call(self, function: object, event: str) -> None:
        assert function is self.function and RULE in event
        self.called += 1

    def at(self, now: float) -> int:
        """Returns how often the function was called up to a time, with a tick each second."""
        while self.now < now:
            self.now += 1.0
            self.schedules.tick()
        return self.called


def test_a_rule_calls_its_function_once_in_each_period() -> None:
    world = World()
    world.schedules.tick()
    assert world.at(599) == 0
    assert world.at(601) == 1
    assert world.at(3 * 600 + 5) == 3


def test_a_rule_that_is_disabled_or_deleted_calls_nothing_and_begins_anew() -> None:
    world = World("rate(1 minute)")
    world.schedules.tick()
    world.rule.state = "DISABLED"
    assert world.at(200) == 0
    world.rule.state = "ENABLED"
    assert world.at(250) == 0
    assert world.at(262) == 1
    world.bus.rules.clear()
    assert world.at(1000) == 1


def test_a_function_that_does_not_permit_it_is_not_called(caplog: pytest.LogCaptureFixture) -> None:
    world = World("rate(1 minute)")
    world.function.policy.statements = [{**PERMISSION, "Condition": {"ArnLike": {"AWS:SourceArn": RULE + "-other"}}}]
    assert world.at(300) == 0
    assert caplog.text.count("does not permit") == 1


@pytest.mark.parametrize(
    ("expression", "seconds"),
    [
        ("rate(1 minute)", 60.0),
        ("rate(2 hours)", 7200.0),
        ("rate(1 day)", 86400.0),
        ("rate(1 minutes)", None),
        ("rate(5 minute)", None),
        ("rate(0 minutes)", None),
        ("cron(0 20 * * ? *)", None),
    ],
)
def test_rates(expression: str, seconds: float | None) -> None:
    assert rate_s(expression) == seconds
    assert World(expression).at(62) == (1 if seconds == 60 else 0)


def test_what_is_no_rate_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    World(cast(str, "cron(0 20 * * ? *)")).at(100)
    assert caplog.text.count("is no rate") == 1
