"""The flavors that can't be had for now."""

from __future__ import annotations

from controller.domain.reasons import Reason
from controller.record.journal.codec import to_json
from controller.record.journal.reasons import reason_from_text
from controller.record.journal.table import Table


class AvailabilityTable(Table):
    """The table `unavailable`."""

    def set_unavailable(self, flavor: str, until: float, reason: Reason) -> None:
        """Keeps that a flavor can't be had until a time, and why."""
        row = (flavor, until, to_json(reason))
        self._may_write("waits of flavors", ("INSERT OR REPLACE INTO unavailable VALUES (?, ?, ?)", row))

    def unavailable(self, now: float) -> dict[str, tuple[float, Reason]]:
        """Returns the flavors that can't be had for now: until when, and why."""
        rows = self._database.execute("SELECT * FROM unavailable WHERE until > ?", (now,))
        return {row["flavor"]: (row["until"], reason_from_text(row["reason"])) for row in rows}
