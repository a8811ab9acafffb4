"""What is said of limits, in words."""

from __future__ import annotations

from controller.domain.reasons import limits as reasons
from controller.words.numbers import duration, usd
from controller.words.reasons.dispatch import reason_in_words


def and_shortfall(reason: reasons.Constrained) -> str:
    """Returns what follows a reason where even the chosen fleet does not keep deadline or budget."""
    return "" if reason.shortfall is None else f"; {reason_in_words(reason.shortfall)}"


def deadline_in_words(left_s: float) -> str:
    """Returns when the deadline is, seen from now."""
    return f"the deadline was {duration(-left_s)} ago" if left_s < 0 else f"the deadline is in {duration(left_s)}"


@reason_in_words.register
def _(reason: reasons.MaxNodesBelowMinNodes) -> str:
    return f"no fleet is allowed: max_nodes is {reason.max_nodes} and min_nodes is {reason.min_nodes}"


@reason_in_words.register
def _(reason: reasons.NoUsableFlavor) -> str:
    return (
        "no fleet is allowed: each flavor is excluded, unavailable, too small, without a price, or limited to 0 nodes"
    )


@reason_in_words.register
def _(reason: reasons.FlavorLimitsTooLow) -> str:
    limits = ", ".join(f"{flavor} {most}" for flavor, most in reason.max_nodes_per_flavor.items())
    return (
        f"no fleet is allowed: min_nodes is {reason.min_nodes}, and the limits per flavor add up to {reason.max_nodes}"
        f" ({limits})"
    )


@reason_in_words.register
def _(reason: reasons.HourlyLimitTooLow) -> str:
    return (
        f"no fleet is allowed: max_usd_per_hour is {usd(reason.max_usd_per_hour)}, and the cheapest"
        f" {reason.nodes} nodes with the head cost {usd(reason.usd_per_hour)} an hour"
    )


@reason_in_words.register
def _(reason: reasons.TooFewNodes) -> str:
    return f"it has {reason.nodes} nodes and min_nodes is {reason.min_nodes}"


@reason_in_words.register
def _(reason: reasons.TooManyNodes) -> str:
    return f"it has {reason.nodes} nodes and max_nodes is {reason.max_nodes}"


@reason_in_words.register
def _(reason: reasons.TooManyNodesOfFlavor) -> str:
    return f"it has {reason.nodes} x {reason.flavor} and {reason.max_nodes} are allowed"


@reason_in_words.register
def _(reason: reasons.TooExpensiveAnHour) -> str:
    return f"it costs {usd(reason.usd_per_hour)} an hour and max_usd_per_hour is {usd(reason.max_usd_per_hour)}"


@reason_in_words.register
def _(reason: reasons.FirstOfSeveralMoves) -> str:
    return f"to {reason.target} first, as max_surge is {reason.max_surge}: {reason_in_words(reason.whole)}"


@reason_in_words.register
def _(reason: reasons.SurgeForbidsMove) -> str:
    return f"max_surge is {reason.max_surge}, and no node may be added or ended first: {reason_in_words(reason.whole)}"


@reason_in_words.register
def _(reason: reasons.FirstWithinHourlyLimit) -> str:
    return (
        f"to {reason.target} first, as both fleets together cost {usd(reason.usd_per_hour)} an hour and"
        f" max_usd_per_hour is {usd(reason.max_usd_per_hour)}: {reason_in_words(reason.whole)}"
    )


@reason_in_words.register
def _(reason: reasons.HourlyLimitForbidsMove) -> str:
    return (
        f"both fleets together cost {usd(reason.usd_per_hour)} an hour, max_usd_per_hour is"
        f" {usd(reason.max_usd_per_hour)}, and min_nodes lets no node end first: {reason_in_words(reason.whole)}"
    )


@reason_in_words.register
def _(reason: reasons.BreaksLimit) -> str:
    return f"{reason.fleet} may not stay: {reason_in_words(reason.limit)}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.TooSlowForDeadline) -> str:
    needs = f"{reason.fleet} needs {duration(reason.needed_s)}"
    return f"{needs} and {deadline_in_words(reason.left_s)}{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.TooExpensiveForBudget) -> str:
    needs = f"{reason.fleet} needs {usd(reason.needed_usd)} more"
    return f"{needs} and {usd(reason.left_usd)} are left of the budget{and_shortfall(reason)}"


@reason_in_words.register
def _(reason: reasons.DeadlineOutOfReach) -> str:
    needed = duration(reason.needed_s)
    if reason.left_s < 0:
        passed = deadline_in_words(reason.left_s)
        return f"{passed}: the fastest fleet that is allowed, {reason.fastest}, needs {needed}"
    return (
        f"no fleet keeps the deadline: even the fastest that is allowed, {reason.fastest}, needs {needed},"
        f" and {duration(reason.left_s)} are left"
    )


@reason_in_words.register
def _(reason: reasons.BudgetOutOfReach) -> str:
    return (
        f"no fleet keeps the budget: even the cheapest that is allowed, {reason.cheapest},"
        f" needs {usd(reason.needed_usd)}, and {usd(reason.left_usd)} are left"
    )


@reason_in_words.register
def _(reason: reasons.DeadlineAndBudgetOutOfReach) -> str:
    return "no fleet keeps both deadline and budget, and the deadline comes first"
