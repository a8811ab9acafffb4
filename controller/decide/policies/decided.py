"""What every policy needs: a decision with its evidence, and the cases in which there is nothing to decide."""

from __future__ import annotations

from controller.decide.limits.violations import infeasible_reason
from controller.decide.model.bad_nodes import BadNodes
from controller.decide.model.estimates import flavor_estimates
from controller.decide.model.situation import Situation
from controller.decide.policies.stability import busy_reason
from controller.domain import Decision, Fleet, FleetEstimate, Verdict
from controller.domain.reasons import Reason


def decided(
    situation: Situation,
    verdict: Verdict,
    reason: Reason,
    target: Fleet | None = None,
    fleets: tuple[FleetEstimate, ...] = (),
    saving_usd: float | None = None,
    switching_usd: float | None = None,
    is_probe: bool = False,
) -> Decision:
    """Returns a decision in this situation. The target is the present fleet unless the verdict is a move."""
    is_move, detailed = verdict is Verdict.MOVE, situation.settings.detailed
    return Decision(
        at=situation.now,
        policy=situation.settings.policy,
        verdict=verdict,
        current=situation.current,
        target=target if target is not None and is_move else situation.current,
        reason=reason,
        flavors=flavor_estimates(situation) if detailed else (),
        fleets=fleets,
        saving_usd=saving_usd,
        switching_usd=switching_usd,
        is_probe=is_probe,
        bad_nodes=_instances(situation.bad_nodes) if detailed or is_move else (),
    )


def _instances(bad_nodes: BadNodes) -> tuple[str, ...]:
    return tuple(instance for nodes in bad_nodes.values() for instance in nodes)


def nothing_to_decide(situation: Situation) -> Decision | None:
    """Returns the decision where no fleet is allowed, or no move may begin now; None where there is a choice."""
    infeasible = infeasible_reason(situation.bounds, situation.usd_per_hour, situation.settings.head_usd_per_hour)
    if infeasible:
        return decided(situation, Verdict.REFUSE, infeasible)
    busy = busy_reason(situation)
    return decided(situation, Verdict.STAY, busy) if busy else None
