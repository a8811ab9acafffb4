"""What is said of one flavor, in words."""

from __future__ import annotations

from controller.domain import FlavorEstimate
from controller.domain.reasons import flavors as reasons
from controller.words.numbers import NOT_MEASURED, duration, mebibytes, usd
from controller.words.reasons.dispatch import reason_in_words


def notes_in_words(estimate: FlavorEstimate) -> str:
    """Returns the notes on a flavor, joined; an empty text where there are none."""
    return "; ".join(reason_in_words(note) for note in estimate.notes)


@reason_in_words.register
def _(reason: reasons.NoPrice) -> str:
    return "it has no price"


@reason_in_words.register
def _(reason: reasons.PriceNotPositive) -> str:
    return f"its price is not a number above zero: {reason.given} dollars an hour"


@reason_in_words.register
def _(reason: reasons.PriceTooHigh) -> str:
    return (
        f"its price is too high to be right: {usd(reason.usd_per_hour)} an hour,"
        f" and at most {usd(reason.most_usd_per_hour)} is believed"
    )


@reason_in_words.register
def _(reason: reasons.PriceStale) -> str:
    return f"its price is stale: {duration(reason.age_s)} old, and {duration(reason.max_age_s)} is the most"


@reason_in_words.register
def _(reason: reasons.Excluded) -> str:
    return f"excluded: {reason.why}"


@reason_in_words.register
def _(reason: reasons.UnavailableForNow) -> str:
    return f"unavailable for another {duration(reason.another_s)}"


@reason_in_words.register
def _(reason: reasons.MemoryTooSmall) -> str:
    source = "as a node that trains has shown" if reason.is_measured else "as the trainer estimates"
    return (
        f"it has too little memory: {mebibytes(reason.memory_bytes)}, of which {mebibytes(reason.reserved_bytes)} are"
        f" for the system, and the training needs {mebibytes(reason.needed_bytes)}, {source}"
    )


@reason_in_words.register
def _(reason: reasons.FlavorsTooSmall) -> str:
    told = "; ".join(f"{flavor}: {reason_in_words(why)}" for flavor, why in reason.flavors.items())
    return f"nothing was bought, since nodes would be too small ({told})"


@reason_in_words.register
def _(reason: reasons.NotMeasured) -> str:
    return NOT_MEASURED


@reason_in_words.register
def _(reason: reasons.TooFewSteps) -> str:
    return f"measured over {reason.steps} steps, and {reason.needed} are needed"


@reason_in_words.register
def _(reason: reasons.BadNodesLeftOut) -> str:
    return f"measured without its bad nodes: {', '.join(reason.instances)}"


@reason_in_words.register
def _(reason: reasons.CreditsSpent) -> str:
    return "burstable: measured after its CPU credits were spent"


@reason_in_words.register
def _(reason: reasons.JudgedByBaseline) -> str:
    return f"burstable: judged by its baseline, {reason.baseline_share:.0%} of what was measured"


@reason_in_words.register
def _(reason: reasons.CreditsLast) -> str:
    return (
        f"burstable: its CPU credits last for another {duration(reason.for_s)} at most,"
        f" and then {reason.baseline_share:.0%} of its speed are left"
    )


@reason_in_words.register
def _(reason: reasons.FellForGood) -> str:
    others = "its other node is" if reason.others == 1 else f"its {reason.others} other nodes are"
    follow = f", and {others} expected to follow" if reason.others else ""
    return f"{', '.join(reason.instances)} fell to {reason.share:.0%} of the former speed and stayed there{follow}"


@reason_in_words.register
def _(reason: reasons.KeepsItsSpeed) -> str:
    return "burstable, and it keeps its speed although its CPU credits should be spent"


@reason_in_words.register
def _(reason: reasons.PaysForSurplus) -> str:
    return f"burstable: it keeps its full speed for {usd(reason.usd_per_hour)} an hour of surplus CPU credits"


@reason_in_words.register
def _(reason: reasons.KnownFromEarlierRun) -> str:
    return "measured in an earlier run"


@reason_in_words.register
def _(reason: reasons.FlavorsNotObtained) -> str:
    return f"no nodes could be had of {', '.join(reason.flavors)}"
