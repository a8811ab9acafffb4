"""Whether the nodes of a plan have the memory that the training needs, before they are bought."""

from __future__ import annotations

from collections.abc import Callable

from controller.config.environment import Environment
from controller.domain.errors import NodesTooSmallError
from controller.domain.memory import RESERVED_MIB, MemoryNeed, memory_shortage
from controller.domain.reasons.flavors import FlavorsTooSmall, MemoryTooSmall
from controller.edges.terraform_plan import Plan
from controller.edges.trainer import estimated_need
from controller.review.plans.plan_guard import bought_too_small
from controller.words.reasons import reason_in_words


def find_too_small(
    environment: Environment, plan: Plan, tell: Callable[[str], None], need: MemoryNeed | None = None
) -> dict[str, MemoryTooSmall]:
    """Returns the flavors of a plan that can't hold the training, each with the reason.

    Args:
        environment: Whose settings count.
        plan: The plan, which knows the memory of its flavors.
        tell: Tells people something.
        need: What a training has needed; None where that is not known. Then the trainer's estimate counts.
    """
    flavors = [flavor for flavor in plan.fleet_after if flavor in plan.memory_bytes]
    if not flavors:
        return {}
    settings = environment.settings
    need = need or estimated_need(environment.path(settings.training.config), tell)
    given_mib = settings.controller.decide.reserved_memory_mib
    reserved_mib = RESERVED_MIB if given_mib is None else given_mib
    shortages = {flavor: memory_shortage(plan.memory_bytes[flavor], need, reserved_mib) for flavor in flavors}
    return {flavor: shortage for flavor, shortage in shortages.items() if shortage is not None}


def refuse_too_small(environment: Environment, plan: Plan, tell: Callable[[str], None]) -> None:
    """Checks that a plan buys no nodes that can't hold the training.

    Raises:
        NodesTooSmallError: It does. Nothing was bought.
    """
    too_small = find_too_small(environment, plan, tell)
    bought = bought_too_small(plan, too_small)
    if not bought:
        return
    told = "\n".join(f"  {flavor}: {reason_in_words(too_small[flavor])}" for flavor in bought)
    raise NodesTooSmallError(
        f"The nodes that would be bought are too small for the training:\n{told}",
        f"Choose flavors with more memory (fleet.initial of {environment.settings_file}, or"
        f" {environment.capacity_file}), or make model or vocabulary smaller ({environment.settings.training.config})."
        f" To buy them all the same: `centavo --env {environment.name} review --acknowledge buy-too-small`, and apply"
        " that plan.",
        reason=FlavorsTooSmall({flavor: too_small[flavor] for flavor in bought}),
    )
