"""The schedules of rules of EventBridge: they call functions at a rate."""

from __future__ import annotations

import json
import logging
import re
import time
import uuid
from collections.abc import Callable, Iterator
from datetime import datetime, timezone
from typing import Any

from moto.awslambda.models import LambdaBackend, LambdaFunction
from moto.events.models import EventsBackend, Rule

RATE = re.compile(r"rate\((\d+) (minute|minutes|hour|hours|day|days)\)")
UNIT_S = {"minute": 60.0, "hour": 3600.0, "day": 86_400.0}
FUNCTION = ":function:"

log = logging.getLogger("localcloud.functions")


class Schedules:
    """Calls what rules with a rate call, once they are due. A rate counts from when its rule was first seen with it.

    Args:
        rules: those of EventBridge.
        functions: those of Lambda.
        call: calls a function with an event, and returns at once.
        elapsed: the monotonic clock.
    """

    def __init__(
        self,
        rules: EventsBackend,
        functions: LambdaBackend,
        call: Callable[[LambdaFunction, str], None],
        elapsed: Callable[[], float] = time.monotonic,
    ) -> None:
        self._rules, self._functions, self._call, self._elapsed = rules, functions, call, elapsed
        self._due: dict[tuple[str, str], float] = {}
        self._told: set[tuple[str, str]] = set()

    def tick(self) -> None:
        """Calls what is due."""
        now, due = self._elapsed(), {}
        for rule in self._enabled():
            expression = str(rule.scheduled_expression)
            known, every_s = (rule.arn, expression), rate_s(expression)
            if every_s is None:
                self._tell_once(known, f"{rule.name}: {expression!r} is no rate, and localcloud keeps to rates only")
                continue
            due[known] = self._due.get(known, now + every_s)
            if due[known] <= now:
                due[known] = now + every_s
                self._call_targets(rule)
        self._due = due

    def _enabled(self) -> Iterator[Rule]:
        for bus in list(self._rules.event_buses.values()):
            for rule in list(bus.rules.values()):
                if rule.scheduled_expression and rule.state == "ENABLED":
                    yield rule

    def _call_targets(self, rule: Rule) -> None:
        for target in list(rule.targets):
            function = self._function(target["Arn"])
            if function is None:
                self._tell_once((rule.arn, target["Arn"]), f"{rule.name}: {target['Arn']} is no function of this cloud")
            elif not may_call(function, rule.arn):
                self._tell_once(
                    (rule.arn, target["Arn"]), f"{function.function_name} does not permit that {rule.arn} calls it"
                )
            else:
                self._call(function, target.get("Input") or json.dumps(_event(rule)))

    def _function(self, arn: str) -> LambdaFunction | None:
        name = arn.partition(FUNCTION)[2].partition(":")[0]
        found = [one for one in self._functions.list_functions() if one.function_name == name] if name else []
        return found[0] if found else None

    def _tell_once(self, about: tuple[str, str], message: str) -> None:
        if about not in self._told:
            self._told.add(about)
            log.warning(message)


def rate_s(expression: str) -> float | None:
    """Returns the seconds from one call to the next, or None for what is no rate (EventBridge user guide)."""
    found = RATE.fullmatch(expression.strip())
    if found is None or int(found[1]) < 1:
        return None
    is_plural = found[2].endswith("s")
    return int(found[1]) * UNIT_S[found[2].removesuffix("s")] if is_plural == (int(found[1]) != 1) else None


def may_call(function: LambdaFunction, rule_arn: str) -> bool:
    """Returns whether the function's own policy lets a rule call it."""
    return any(_permits(statement, rule_arn) for statement in function.policy.statements)


def _permits(statement: dict[str, Any], rule_arn: str) -> bool:
    principal = statement.get("Principal")
    service = principal.get("Service") if isinstance(principal, dict) else principal
    if statement.get("Effect") != "Allow" or service != "events.amazonaws.com":
        return False
    condition = statement.get("Condition", {})
    sources = [found for name in ("ArnLike", "ArnEquals") if (found := condition.get(name, {}).get("AWS:SourceArn"))]
    return all(source == rule_arn for source in sources)


def _event(rule: Rule) -> dict[str, Any]:
    """Returns the event of a schedule."""
    return {
        "version": "0",
        "id": str(uuid.uuid4()),
        "detail-type": "Scheduled Event",
        "source": "aws.events",
        "account": rule.account_id,
        "time": f"{datetime.now(timezone.utc):%Y-%m-%dT%H:%M:%SZ}",
        "region": rule.region_name,
        "resources": [rule.arn],
        "detail": {},
    }
