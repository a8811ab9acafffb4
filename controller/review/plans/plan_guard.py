"""The guard for people's plans: what has to be acknowledged by name before a plan may be applied.

A person may change anything. But destroying storage, opening the network, touching IAM, ending the training, exceeding
the hourly limit or buying nodes that are too small has to be meant. (`controller/act/guard.py` judges the controller's
own plans, which may change capacities only.)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from controller.domain.reasons.flavors import MemoryTooSmall
from controller.edges.terraform_plan import Plan, PlanChange
from controller.review.plans.dangers import Danger, Finding, as_options
from controller.review.plans.rules.identity import identity
from controller.review.plans.rules.network import network
from controller.review.plans.rules.storage import storage
from controller.review.plans.rules.training import training
from controller.words.numbers import plural, usd
from controller.words.reasons import reason_in_words

NOTHING_TOO_SMALL: Mapping[str, MemoryTooSmall] = MappingProxyType({})


@dataclass(frozen=True)
class GuardVerdict:
    """Everything dangerous in a plan, and what of it was acknowledged."""

    findings: tuple[Finding, ...]
    acknowledged: frozenset[Danger] = frozenset()

    @property
    def is_refused(self) -> bool:
        """Whether something has not been acknowledged."""
        return bool(self.missing)

    @property
    def missing(self) -> tuple[Danger, ...]:
        """What is still to be acknowledged, each once."""
        return tuple(danger for danger in self.found if danger not in self.acknowledged)

    @property
    def found(self) -> tuple[Danger, ...]:
        """Every kind of danger in the plan, each once."""
        found = {finding.danger for finding in self.findings}
        return tuple(danger for danger in Danger if danger in found)

    @property
    def options(self) -> str:
        """The options that would acknowledge what is missing."""
        return as_options(self.missing).strip()


@dataclass(frozen=True)
class HourlyLimit:
    """The limit on what the workers may cost an hour, and what they would cost. None: unlimited, or not known."""

    limit_usd_per_hour: float | None = None
    after_usd_per_hour: float | None = None


RULES: tuple[Callable[[PlanChange], Iterator[Finding]], ...] = (storage, network, identity, training)


def judge(
    plan: Plan,
    limit: HourlyLimit,
    acknowledged: frozenset[Danger] = frozenset(),
    too_small: Mapping[str, MemoryTooSmall] = NOTHING_TOO_SMALL,
) -> GuardVerdict:
    """Returns everything dangerous in a plan, in the order of `Danger` and then of address.

    Args:
        plan: The plan.
        limit: The limit on what the workers may cost.
        acknowledged: What a person has acknowledged.
        too_small: The flavors that can't hold the training, each with the reason.
    """
    found = [finding for change in plan.changes if change.is_change for rule in RULES for finding in rule(change)]
    found += _hourly_limit(plan, limit)
    found += [
        Finding(Danger.BUY_TOO_SMALL, "", f"{plural(count, 'node')} of {flavor}: {reason_in_words(too_small[flavor])}")
        for flavor, count in bought_too_small(plan, too_small).items()
    ]
    order = list(Danger)
    findings = sorted(found, key=lambda finding: (order.index(finding.danger), finding.address, finding.reason))
    return GuardVerdict(tuple(dict.fromkeys(findings)), acknowledged)


def bought_too_small(plan: Plan, too_small: Mapping[str, MemoryTooSmall]) -> dict[str, int]:
    """Returns how many nodes a plan adds of each flavor that can't hold the training."""
    added = plan.fleet_after.beyond(plan.fleet_before)
    return {flavor: added.count(flavor) for flavor in sorted(too_small) if added.count(flavor)}


def _hourly_limit(plan: Plan, limit: HourlyLimit) -> Iterator[Finding]:
    if limit.limit_usd_per_hour is None or plan.fleet_after == plan.fleet_before:
        return
    most, cost = limit.limit_usd_per_hour, limit.after_usd_per_hour
    if cost is None:
        reason = f"a flavor in the fleet has no price, so the limit of {usd(most)} an hour can't be checked"
        yield Finding(Danger.EXCEED_HOURLY_LIMIT, "", reason)
    elif cost > most * (1 + 1e-9):
        reason = f"the workers would cost {usd(cost)} an hour, above the limit of {usd(most)} an hour"
        yield Finding(Danger.EXCEED_HOURLY_LIMIT, "", reason)
