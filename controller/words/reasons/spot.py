"""What is said of the spot market, in words."""

from __future__ import annotations

from controller.domain.reasons import spot as reasons
from controller.domain.times import iso
from controller.words.reasons.dispatch import reason_in_words


@reason_in_words.register
def _(reason: reasons.NodesTakenBack) -> str:
    often = f", of which {reason.lost_before} nodes were taken back before" if reason.lost_before else ""
    return f"EC2 takes {reason.taken} back: {reason.replaced_by} instead{often}"


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
