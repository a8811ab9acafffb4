"""What a node may send in place of an honest fact."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

SHELL = "$(touch /tmp/owned); `reboot` && rm -rf / #"


def _nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


HOSTILE: dict[str, Callable[[dict[str, Any]], Any]] = {
    "huge-step": lambda fact: {**fact, "step": 10**400},
    "huge-tokens": lambda fact: {**fact, "tokens": 10**400, "total_tokens": 10**4000},
    "negative-step": lambda fact: {**fact, "step": -1},
    "nested": lambda fact: {**fact, "reason": _nested(400)},
    "megabytes": lambda fact: {**fact, "reason": "x" * 1_000_000},
    "no-object": lambda fact: [fact],
    "wrong-types": lambda fact: {**fact, "rank": "0", "world_size": [3], "step": None, "updated_at": 7},
    "shell": lambda fact: {**fact, "reason": SHELL, "flavor": SHELL},
    "control-characters": lambda fact: {**fact, "reason": "\x1b[2J\x00\r\n\u202e", "state": "failed\x00"},
    "another-node": lambda fact: {**fact, "instance_id": "i-0001" if fact["instance_id"] != "i-0001" else "i-0002"},
    "infinite": lambda fact: {**fact, "iteration_time_s": float("inf"), "compute_time_s": float("nan")},
    "far-future": lambda fact: {**fact, "updated_at": "9999-12-31T23:59:59.999Z"},
    "step-far-ahead": lambda fact: {**fact, "step": fact["total_steps"] - 1},
    "step-behind": lambda fact: {**fact, "step": 0},
    "world-size-too-large": lambda fact: {**fact, "world_size": 1000},
    "world-size-one": lambda fact: {**fact, "world_size": 1, "rank": 0},
    "says-finished": lambda fact: {**fact, "state": "finished"},
    "says-failed": lambda fact: {**fact, "state": "failed", "reason": "out of memory"},
}
