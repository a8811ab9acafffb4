"""What a plan comes to in this environment, judged by the guard for people's plans."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.commands.context import Context
from controller.commands.shared.node_memory import find_too_small
from controller.config.environment import Environment
from controller.domain import Fleet, Market, Price
from controller.domain.errors import GuardError
from controller.domain.prices.standing import EXTRAS, standing_costs
from controller.edges.terraform_plan import Plan, flavor_of, parse_plan
from controller.loop.decide_settings import decide_settings, with_zones
from controller.observe.prices.asked import Wanted
from controller.review.plans.dangers import Danger
from controller.review.plans.evidence import read_evidence
from controller.review.plans.plan_standing import floors, standing_of, volume_gb
from controller.review.plans.plan_summary import Evidence, PlanSummary, summarize


def summarize_plan(context: Context, plan: Plan, acknowledged: frozenset[Danger] = frozenset()) -> PlanSummary:
    """Returns what a plan comes to in this environment, on the evidence of the environment's newest run."""
    environment = context.environment
    limits = environment.limits()
    prices = context.prices(_wanted_by(plan))
    evidence = _evidence(environment, plan, prices) if not plan.is_empty or plan.fleet_after.size else Evidence()
    too_small = find_too_small(environment, plan, context.note, evidence.memory_need)
    return summarize(environment.name, plan, prices, evidence, limits.max_usd_per_hour, acknowledged, too_small)


def refuse_dangers(summary: PlanSummary) -> None:
    """Checks that everything dangerous in a person's plan was acknowledged.

    Raises:
        GuardError: The plan does something dangerous that nobody has acknowledged.
    """
    if not summary.verdict.is_refused:
        return
    missing = summary.verdict.missing
    lines = [f"  {f.danger.value}: {f.address} {f.reason}" for f in summary.verdict.findings if f.danger in missing]
    raise GuardError(
        "The plan does what has to be acknowledged first, so it was not applied:\n" + "\n".join(lines),
        f"If it is meant: `{summary.acknowledging}`, and apply that plan with the same options.",
    )


def admit(context: Context, document: Mapping[str, Any]) -> None:
    """Checks a plan (its JSON) that nobody has reviewed.

    Raises:
        GuardError: The plan does something dangerous.
    """
    refuse_dangers(summarize_plan(context, parse_plan(document)))


def _wanted_by(plan: Plan) -> Wanted:
    """Returns the prices that a plan needs: those of its groups and of its heads.

    A group with a policy of mixed instances buys on spot.
    """
    markets: dict[str, Market | None] = {}
    groups: dict[str, str] = {}
    for group in plan.groups:
        flavor, name = flavor_of(group), group.values.get("name")
        if flavor is not None:
            markets[flavor] = Market.SPOT if group.values.get("mixed_instances_policy") else Market.ON_DEMAND
            groups |= {flavor: name} if isinstance(name, str) else {}
    heads = {head for head in (plan.head_type(after=False), plan.head_type(after=True)) if head is not None}
    sizes = volume_gb(plan, after=False) | volume_gb(plan, after=True)
    on_demand = frozenset({*floors(plan, after=False), *floors(plan, after=True)})
    return Wanted(markets, groups, frozenset(heads), frozenset(EXTRAS), sizes, on_demand)


def _evidence(environment: Environment, plan: Plan, prices: Mapping[str, Price]) -> Evidence:
    standing = standing_of(plan, after=plan.head_type(after=True) is not None)
    head_usd_per_hour = sum(cost.usd_per_hour or 0.0 for cost in standing_costs(standing, prices))
    settings = decide_settings(environment, environment.settings.controller.policy, {}, head_usd_per_hour)
    settings = with_zones(settings, plan.worker_zones, prices)
    fleets: tuple[Fleet, Fleet] = (plan.fleet_before, plan.fleet_after)
    return read_evidence(environment.runs_directory, environment.name, fleets, prices, environment.limits(), settings)
