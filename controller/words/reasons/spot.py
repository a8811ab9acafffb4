"""What is said of the spot market, in words."""

from __future__ import annotations

from controller.domain.reasons import spot as reasons
from controller.domain.times import iso
from controller.words.numbers import duration
from controller.words.reasons.dispatch import reason_in_words
from controller.words.reasons.limits import deadline_in_words


@reason_in_words.register
def _(reason: reasons.NodesTakenBack) -> str:
    often = f", of which {reason.lost_before} nodes were taken back before" if reason.lost_before else ""
    why = "" if reason.because is None else f"; {reason_in_words(reason.because)}"
    return f"EC2 takes {reason.taken} back: {reason.replaced_by} instead{often}{why}"


@reason_in_words.register
def _(reason: reasons.OnDemandInstead) -> str:
    return f"there has been no spot capacity for {reason.waited_s:.0f} s, so nodes are bought on demand"


@reason_in_words.register
def _(reason: reasons.WaitsForCapacity) -> str:
    meanwhile = f"{reason.training} nodes train on" if reason.training else "the training stands still"
    then = "" if reason.on_demand_at is None else f"; from {iso(reason.on_demand_at)} on, nodes are bought on demand"
    return f"no spot capacity for {reason.lacking} since {iso(reason.since)}: {meanwhile} and the run waits{then}"


@reason_in_words.register
def _(reason: reasons.ReplacementUnaffordable) -> str:
    limit = f"${reason.limit_usd_per_hour:g} an hour (limits.max_usd_per_hour)"
    return f"{reason.lacking} can be replaced only when they are gone: more nodes would cost more than {limit}"


@reason_in_words.register
def _(reason: reasons.OnDemandForDeadline) -> str:
    if reason.could_wait:
        return f"{reason.target} on demand is expected to cost less than to wait for spot capacity: {_time(reason)}"
    return f"only on-demand keeps the deadline now, so {reason.target} does the rest: {_time(reason)}"


@reason_in_words.register
def _(reason: reasons.SpotForDeadline) -> str:
    return f"{reason.target} on spot, and on-demand still keeps the deadline if EC2 takes them back: {_time(reason)}"


@reason_in_words.register
def _(reason: reasons.WaitsForSpot) -> str:
    waits = f"the training waits for spot capacity, until {iso(reason.until)} at the latest"
    return f"{waits}, since that is expected to cost less than on-demand: {_time(reason)}"


@reason_in_words.register
def _(reason: reasons.NoSpotForDeadline) -> str:
    risk = "if the move failed, on-demand might not keep the deadline"
    cost = "EC2 is expected to take spot nodes back too soon for the move to pay"
    return f"no move to {reason.target}: {risk if reason.is_risky else cost}; {_time(reason)}"


Timed = reasons.OnDemandForDeadline | reasons.SpotForDeadline | reasons.WaitsForSpot | reasons.NoSpotForDeadline


def _time(reason: Timed) -> str:
    """Returns the time that on-demand needs, and the time that is left."""
    return f"the rest takes {duration(reason.needed_s)} on demand, and {deadline_in_words(reason.left_s)}"
