"""What it costs at most to go away now: said at the start of a run."""

from __future__ import annotations

from typing import Protocol

from controller.words.numbers import duration, usd

ENDING_S = 300.0
"""What a switch that fires may take: until its next look, for the ranks' checkpoint, and until the instances end."""
RENEWALS_IN_A_LEASE = 4
"""The controller renews its lease so often, and tells with it the last step, and that the training has ended."""
REAPED_EVERY_S = 600.0
"""The schedule of `terraform/modules/reaper`."""


class SwitchWaits(Protocol):
    """How long each switch waits, in seconds. `controller.warden.waits.Waits` explains each wait."""

    @property
    def lease_s(self) -> float: ...

    @property
    def ended_s(self) -> float: ...

    @property
    def stalled_s(self) -> float: ...

    @property
    def worker_s(self) -> float: ...

    @property
    def reaper_s(self) -> float: ...


def longest_s(waits: SwitchWaits, *, reaper: bool) -> dict[str, float]:
    """Returns how long everything runs at most after its controller has died, by who ends it.

    Args:
        waits: The waits of the switches.
        reaper: Whether a reaper is there.

    Returns:
        By `head`, `workers` and `reaper` (if there is one) the seconds from the controller's death. With a controller
        that lives, by `stalled` the seconds from the last step, and by `ended` those from the end of the training.
    """
    told_s = waits.lease_s / RENEWALS_IN_A_LEASE
    longest = {
        "head": waits.lease_s + ENDING_S,
        "workers": waits.lease_s + waits.worker_s + ENDING_S,
        "stalled": waits.stalled_s + told_s + ENDING_S,
        "ended": waits.ended_s + told_s + ENDING_S,
    }
    if reaper:
        longest["reaper"] = waits.lease_s + waits.reaper_s + REAPED_EVERY_S + ENDING_S
    return longest


def going_away(waits: SwitchWaits, usd_per_hour: float, *, is_limit: bool, reaper: bool) -> str:
    """Returns what it costs at most to go away now.

    Args:
        waits: The waits of the switches.
        usd_per_hour: What everything costs.
        is_limit: Whether that is the limit `max_usd_per_hour`, and not the price of the first fleet.
        reaper: Whether a reaper is there.
    """
    longest = longest_s(waits, reaper=reaper)

    def at_most(who: str) -> str:
        return f"within {duration(longest[who])} (at most {usd(usd_per_hour * longest[who] / 3600)})"

    last = f"Should both fail, the reaper ends all of it {at_most('reaper')}" if reaper else NO_REAPER
    price = "the limit of this run" if is_limit else "the price of the first fleet"
    return (
        f"If you go away now and the controller dies, the head gives everything back {at_most('head')}. "
        f"If the head dies too, the workers end themselves {at_most('workers')}. {last}. "
        f"A training that has nodes and makes no step is ended {at_most('stalled')}, "
        f"and one that has ended is given back {at_most('ended')}. "
        f"All of it is counted at {usd(usd_per_hour)} an hour, {price}."
    )


NO_REAPER = "Should both fail, nothing else ends it here but `centavo reap`"
