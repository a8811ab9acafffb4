"""What a run is: its environment and policy, its first fleet, its members, and what was asked of it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from controller.config.constraints import NO_CONSTRAINTS, Constraints
from controller.domain import EarlierSpeed, Fleet
from controller.domain.move import Durations, MovePart
from controller.record.journal import codec
from controller.record.journal.table import Table


class RunValues(Table):
    """The table `run`: values by name."""

    def _values(self) -> Mapping[str, str]:
        return {row["key"]: row["value"] for row in self._database.execute("SELECT key, value FROM run")}

    def _value(self, key: str) -> str | None:
        row = self._database.execute("SELECT value FROM run WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row["value"])

    def _set(self, key: str, value: str) -> None:
        self._set_all({key: value})

    def _set_all(self, values: Mapping[str, str]) -> None:
        """Keeps several values at once, or none of them."""
        self._must_write(*(("INSERT OR REPLACE INTO run VALUES (?, ?)", pair) for pair in values.items()))


@dataclass(frozen=True)
class RunInfo:
    """What a run is, from its first moment on."""

    run: str
    environment: str
    policy: str
    started_at: float
    initial: Fleet
    constraints: Constraints = NO_CONSTRAINTS
    """Deadline and budget: what was asked of this run, else what centavo.yml said when the run was last taken up."""


def run_values(info: RunInfo) -> dict[str, str]:
    """Returns the values that a new run's table `run` begins with."""
    return {
        "run": info.run,
        "environment": info.environment,
        "policy": info.policy,
        "started_at": repr(info.started_at),
        "initial": codec.to_json(info.initial),
    }


class RunTable(RunValues):
    """What the run is."""

    def info(self) -> RunInfo:
        """Returns what the run is."""
        values = self._values()
        return RunInfo(
            values["run"],
            values["environment"],
            values["policy"],
            float(values["started_at"]),
            Fleet(json.loads(values["initial"])),
            _constraints(values, "asked").over(_constraints(values, "configured")),
        )

    def keep_constraints(self, asked: Constraints, configured: Constraints) -> None:
        """Keeps the deadline and the budget of the run.

        Args:
            asked: What a person asks of this run now. What was asked before and is not asked anew stays.
            configured: What centavo.yml says. It holds where nothing was asked.
        """
        kept = asked.over(_constraints(self._values(), "asked"))
        self._set_all({"asked": codec.to_json(kept), "configured": codec.to_json(configured)})

    def set_policy(self, policy: str) -> None:
        """Keeps the policy that decides from now on."""
        self._set("policy", policy)

    def set_initial(self, fleet: Fleet) -> None:
        """Keeps the fleet that the training starts on, once it is certain."""
        self._set("initial", codec.to_json(fleet))

    def members(self) -> frozenset[str]:
        """Returns the instances in the hosts file, as last written."""
        return frozenset(json.loads(self._value("members") or "[]"))

    def set_members(self, instance_ids: frozenset[str]) -> None:
        """Keeps the instances in the hosts file."""
        self._set("members", json.dumps(sorted(instance_ids)))

    def recalled(self) -> tuple[str, dict[str, EarlierSpeed]] | None:
        """Returns the circumstances of this training, and the speeds by flavor that earlier runs measured.

        Returns None until `set_recalled` was called.
        """
        text = self._value("recalled")
        if text is None:
            return None
        circumstances, speeds = json.loads(text)
        return circumstances, {flavor: EarlierSpeed(*speed) for flavor, speed in speeds.items()}

    def set_recalled(self, circumstances: str, speeds: Mapping[str, EarlierSpeed]) -> None:
        """Keeps what is known from earlier runs in these circumstances, and in others that are like them."""
        kept = {flavor: (speed.tokens_per_s, speed.log_se) for flavor, speed in speeds.items()}
        self._set("recalled", codec.to_json([circumstances, kept]))

    def durations(self) -> dict[MovePart, tuple[float, ...]]:
        """Returns how many seconds the parts of this run's moves took, oldest first."""
        kept = json.loads(self._value("durations") or "{}")
        return {MovePart(part): tuple(seconds) for part, seconds in kept.items()}

    def add_duration(self, part: MovePart, seconds: float) -> None:
        """Keeps how long a part of a move took."""
        kept = {known.value: list(values) for known, values in self.durations().items()}
        kept.setdefault(part.value, []).append(seconds)
        self._may_write("durations", ("INSERT OR REPLACE INTO run VALUES (?, ?)", ("durations", json.dumps(kept))))

    def earlier_durations(self) -> dict[MovePart, tuple[float, ...]]:
        """Returns how many seconds the parts of moves took in earlier runs in the same circumstances."""
        kept = json.loads(self._value("earlier_durations") or "{}")
        return {MovePart(part): tuple(seconds) for part, seconds in kept.items()}

    def set_earlier_durations(self, seconds: Durations) -> None:
        """Keeps what earlier runs have measured."""
        self._set("earlier_durations", json.dumps({part.value: list(values) for part, values in seconds.items()}))

    def plain_goal(self) -> Any | None:
        """Returns what is wanted of the fleet, as plain data; None before anything was."""
        text = self._value("goal")
        return None if text is None else json.loads(text)

    def set_plain_goal(self, goal: Any) -> None:
        """Keeps what is wanted of the fleet, before anything is done towards it.

        Args:
            goal: A domain value or plain data; `plain_goal` returns it as plain data.
        """
        self._set("goal", codec.to_json(goal))


def _constraints(values: Mapping[str, str], key: str) -> Constraints:
    return Constraints(**json.loads(values.get(key, "{}")))
