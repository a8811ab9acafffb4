"""What the spot market did to a run: the nodes that it took back, and the shortage that this has led to."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from controller.domain import SECONDS_PER_HOUR, Fleet, NoticeKind
from controller.domain.observed.spot import Exposure, Noticed, Shortage
from controller.domain.reasons import Reason
from controller.record.journal.codec import to_json
from controller.record.journal.reasons import reason_from_text
from controller.record.journal.run import RunValues

KEPT_NOTICES = 1000


class SpotTable(RunValues):
    """The spot market's part of the table `run`."""

    def noticed(self) -> tuple[Noticed, ...]:
        """Returns the nodes that EC2 has taken back, or said that it does or may, in the order of the notices."""
        raw = json.loads(self._value("noticed") or "[]")
        return tuple(Noticed(**{**one, "kind": NoticeKind(one["kind"])}) for one in raw)

    def add_noticed(self, noticed: Noticed) -> None:
        """Keeps what was said of a node. Of many, the last ones are kept."""
        others = [one for one in self.noticed() if one.instance_id != noticed.instance_id]
        text = to_json(tuple((*others, noticed)[-KEPT_NOTICES:]))
        self._may_write("spot notices", ("INSERT OR REPLACE INTO run VALUES (?, ?)", ("noticed", text)))

    def shortage(self) -> Shortage | None:
        """Returns the shortage that goes on; None where the fleet is whole."""
        raw = json.loads(self._value("shortage") or "null")
        return None if raw is None else Shortage(**{**raw, "wanted": Fleet(raw["wanted"])})

    def set_shortage(self, shortage: Shortage | None) -> None:
        """Keeps the shortage that goes on, or that there is none any more."""
        self._set("shortage", to_json(shortage))

    def waiting(self) -> Reason | None:
        """Returns why the run waits for capacity; None where it does not."""
        text = self._value("waiting")
        return reason_from_text(text) if text else None

    def set_waiting(self, reason: Reason) -> None:
        """Keeps why the run waits for capacity now."""
        self._set("waiting", to_json(reason))

    def waited_s(self) -> float:
        """Returns for how long the run has waited for capacity, in seconds, the wait that goes on left out."""
        return float(self._value("waited_s") or "0")

    def end_waiting(self, waited_s: float) -> None:
        """Keeps that the run has waited for so long, and waits no more."""
        self._set_all({"waiting": "", "waited_s": repr(self.waited_s() + waited_s)})

    def earlier_losses(self) -> Mapping[str, Exposure] | None:
        """Returns by flavor what earlier runs have lost. None until `set_earlier_losses` was called."""
        text = self._value("earlier_losses")
        return None if text is None else {flavor: Exposure(**raw) for flavor, raw in json.loads(text).items()}

    def set_earlier_losses(self, losses: Mapping[str, Exposure]) -> None:
        """Keeps what earlier runs have lost."""
        self._set("earlier_losses", to_json(losses))

    def losses(self) -> Mapping[str, Exposure]:
        """Returns by flavor how often this run's nodes were taken back, and how long they ran."""
        taken = [one.flavor for one in self.noticed() if one.kind is NoticeKind.INTERRUPTION]
        lost, hours = Counter(taken), self._node_hours()
        return {flavor: Exposure(lost[flavor], hours[flavor]) for flavor in {*lost, *hours}}

    def all_losses(self) -> Mapping[str, Exposure]:
        """Returns the same of this run and earlier ones together."""
        earlier, own = self.earlier_losses() or {}, self.losses()
        return {flavor: sum_of(earlier.get(flavor), own.get(flavor)) for flavor in {*earlier, *own}}

    def _node_hours(self) -> Counter[str]:
        """Returns the hours that nodes of each flavor ran, each node counted by itself."""
        lasted_s: Counter[str] = Counter()
        previous = None
        for row in self._database.execute("SELECT at, fleet FROM summaries ORDER BY at, id"):
            if previous is not None:
                lasted_s[previous["fleet"]] += row["at"] - previous["at"]
            previous = row
        hours: Counter[str] = Counter()
        for text, seconds in lasted_s.items():
            for flavor, count in json.loads(text).items():
                hours[flavor] += count * seconds / SECONDS_PER_HOUR
        return hours


def sum_of(one: Exposure | None, other: Exposure | None) -> Exposure:
    """Returns two exposures together."""
    one, other = one or Exposure(), other or Exposure()
    return replace(one, lost=one.lost + other.lost, node_hours=one.node_hours + other.node_hours)
