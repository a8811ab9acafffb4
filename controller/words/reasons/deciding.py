"""What decisions say, in words."""

from __future__ import annotations

from controller.domain.reasons import deciding as reasons
from controller.words.numbers import duration, usd
from controller.words.reasons.dispatch import reason_in_words
from controller.words.reasons.limits import and_shortfall

_BETTER = {"cost": "cheaper per token", "time": "faster"}
"""What a fleet is that is better by an objective."""


def _saves(reason: reasons.CheaperPerToken | reasons.EndsSooner | reasons.LeavesBadNodes) -> str:
    """Returns what a move saves."""
    return (
        f"saves {usd(reason.saving_usd)} of the {usd(reason.remaining_usd)} that remain,"
        f" after {usd(reason.switching_usd)} for switching"
    )


@reason_in_words.register
def _(reason: reasons.MoveUnderWay) -> str:
    return f"move {reason.move_id} to {reason.target} is under way ({reason.phase})"


@reason_in_words.register
def _(reason: reasons.CoolingDown) -> str:
    return f"the cool-down after move {reason.move_id} lasts another {duration(reason.another_s)}"


@reason_in_words.register
def _(reason: reasons.NoWorkerRuns) -> str:
    return "no worker runs, so nothing can be measured"


@reason_in_words.register
def _(reason: reasons.WaitingForFacts) -> str:
    if not reason.flavors:
        return "waiting for the first facts of the training"
    return f"waiting for enough facts of {', '.join(reason.flavors)}"


@reason_in_words.register
def _(reason: reasons.SpeedHasFallen) -> str:
    return f"{', '.join(reason.flavors)} has just become far slower: waiting until its speed now is measured"


@reason_in_words.register
def _(reason: reasons.ProgressUnknown) -> str:
    return "it is not known yet how far the training is"


@reason_in_words.register
def _(reason: reasons.NoStepsLeft) -> str:
    return "the training has no steps left"


@reason_in_words.register
def _(reason: reasons.FewStepsLeft) -> str:
    return f"only {reason.share:.1%} of the steps remain, and nothing moves below {reason.least_share:.1%}"


@reason_in_words.register
def _(reason: reasons.EndsSoon) -> str:
    return f"the work ends in {duration(reason.remaining_s)}, and nothing moves in the last {duration(reason.least_s)}"


@reason_in_words.register
def _(reason: reasons.SpeedUnknown) -> str:
    return "what runs cannot be compared: the speed of a flavor is unknown"


@reason_in_words.register
def _(reason: reasons.PricesUnknown) -> str:
    faults = ", ".join(f"{flavor}: {reason_in_words(fault)}" for flavor, fault in reason.faults.items())
    return f"what runs cannot be compared ({faults}): give the flavor a price, or exclude it to move away from it"


@reason_in_words.register
def _(reason: reasons.NoMeasuredFleetAllowed) -> str:
    return "no fleet of measured flavors is within the limits"


@reason_in_words.register
def _(reason: reasons.BestAlready) -> str:
    return f"{reason.fleet} is the best fleet within the limits{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.SavesTooLittle) -> str:
    return (
        f"{reason.target} would save {usd(reason.saving_usd)} of the {usd(reason.remaining_usd)} that remain,"
        f" after {usd(reason.switching_usd)} for switching; a move needs {usd(reason.needed_usd)}"
        f"{and_shortfall(reason)}"
    )


@reason_in_words.register
def _(reason: reasons.SavesTooLittleTime) -> str:
    saves = f"{reason.target} would save {duration(reason.saving_s)}"
    return f"{saves}; a move needs {duration(reason.needed_s)}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.WithinUncertainty) -> str:
    looks = f"{reason.target} looks {reason.gain_share:.1%} {_BETTER[reason.objective]}"
    uncertainty = f"within the uncertainty of what was measured ({reason.uncertainty_share:.1%})"
    return f"{looks}, which is {uncertainty}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.CheaperPerToken) -> str:
    costs = f"{reason.target} costs {reason.share:.0%} less per token than {reason.current}"
    return f"{costs}: {_saves(reason)}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.EndsSooner) -> str:
    sooner = f"{reason.target} ends {duration(reason.sooner_s)} sooner than {reason.current}"
    saves = f", and {_saves(reason)}" if reason.saving_usd > 0 else ""
    return f"{sooner}{saves}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.LeavesBadNodes) -> str:
    slow = f"to be rid of {', '.join(reason.instances)}, far slower than its flavor"
    return f"{reason.target} {slow}: {_saves(reason)}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.MeasuresFlavors) -> str:
    gains = ", ".join(f"{flavor} (may save {usd(gain)})" for flavor, gain in reason.gains_usd.items())
    also = "" if reason.also is None else f"; with it: {reason_in_words(reason.also)}"
    return f"to measure {gains} for about {usd(reason.cost_usd)}{also}"


@reason_in_words.register
def _(reason: reasons.LeapsToUnmeasured) -> str:
    risk = ""
    if reason.chance_worse:
        risk = f"; with a chance of {reason.chance_worse:.0%} it costs about {usd(reason.worse_usd)} more instead"
    return (
        f"{reason.target} is expected to save {usd(reason.saving_usd)}, by what {reason.flavor} should be able to do;"
        f" measuring it first would take longer than that is worth{risk}"
    )


@reason_in_words.register
def _(reason: reasons.LeapsWithinLimits) -> str:
    change = "more" if reason.more_usd >= 0 else "less"
    return (
        f"no fleet of measured flavors keeps deadline and budget; {reason.target} keeps them with a chance of"
        f" {reason.chance_kept:.0%}, by what {reason.flavor} should be able to do, and costs"
        f" {usd(abs(reason.more_usd))} {change}"
    )


@reason_in_words.register
def _(reason: reasons.AllOneFlavor) -> str:
    return f"all nodes are of one flavor: {reason.fleet}"


@reason_in_words.register
def _(reason: reasons.NoRoomForCheaperFlavor) -> str:
    return f"no flavor that is cheaper than {reason.most_expensive} has room for a node"


@reason_in_words.register
def _(reason: reasons.OneNodeToCheapest) -> str:
    return (
        f"price x compute time per token: {reason.cheapest} is the cheapest, {reason.share:.0%} below"
        f" {reason.most_expensive}, the most expensive; one node moves"
    )


@reason_in_words.register
def _(reason: reasons.CheapestByList) -> str:
    return f"{reason.fleet} is the cheapest by {reason.measure}"


@reason_in_words.register
def _(reason: reasons.TooFewListed) -> str:
    return f"not enough flavors have a known {reason.measure}"


@reason_in_words.register
def _(reason: reasons.WaitingForFleet) -> str:
    return f"waiting for enough facts of {reason.fleet}"


@reason_in_words.register
def _(reason: reasons.ExpectedToImprove) -> str:
    return f"{reason.target} is expected to improve on what was tried by {reason.share:.0%}"


@reason_in_words.register
def _(reason: reasons.NothingTriedAllowed) -> str:
    return "the limits allow none of the fleets that were tried"


@reason_in_words.register
def _(reason: reasons.BestOfTried) -> str:
    return f"{reason.fleet} was the best of {reason.tried} fleets tried"
