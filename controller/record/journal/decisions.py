"""The decisions of a run, each with its reason and its evidence."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controller.domain import Decision, Verdict
from controller.record.journal import codec
from controller.record.journal.table import Table


class DecisionTable(Table):
    """The table `decisions`. A decision's number is its place in the run, from 1 on."""

    def add_decision(self, decision: Decision) -> None:
        """Keeps a decision."""
        verdict, reason = decision.verdict.value, decision.reason.code
        row = (decision.at, decision.policy, verdict, reason, codec.packed(decision))
        columns = "at, policy, verdict, reason, decision"
        self._may_write("decisions", (f"INSERT INTO decisions ({columns}) VALUES (?, ?, ?, ?, ?)", row))

    def decisions(self) -> Iterator[Decision]:
        """Yields all decisions, oldest first."""
        for row in self._database.execute("SELECT decision FROM decisions ORDER BY id"):
            yield codec.read_decision(row["decision"])

    def decisions_after(self, number: int) -> Iterator[tuple[int, Decision]]:
        """Yields the decisions after a number, each with its own number, oldest first."""
        for row in self._database.execute("SELECT id, decision FROM decisions WHERE id > ? ORDER BY id", (number,)):
            yield row["id"], codec.read_decision(row["decision"])

    def plain_decisions(self) -> Iterator[dict[str, Any]]:
        """Yields all decisions as plain data, oldest first, which is several times as fast for a report of many."""
        for row in self._database.execute("SELECT decision FROM decisions ORDER BY id"):
            yield codec.unpacked(row["decision"])

    def last_decision(self) -> Decision | None:
        """Returns the last decision, or None before the first."""
        row = self._database.execute("SELECT decision FROM decisions ORDER BY id DESC LIMIT 1").fetchone()
        return None if row is None else codec.read_decision(row["decision"])

    def last_decision_number(self) -> int:
        """Returns the number of the last decision; 0 before the first."""
        return int(self._database.execute("SELECT coalesce(max(id), 0) FROM decisions").fetchone()[0])

    def numbers_of(self, verdict: Verdict) -> list[int]:
        """Returns the numbers of the decisions with that verdict, in order."""
        rows = self._database.execute("SELECT id FROM decisions WHERE verdict = ? ORDER BY id", (verdict.value,))
        return [row["id"] for row in rows]
