"""When the budget is used up, so that the training has to stop."""

from __future__ import annotations

from controller.decide.limits.bounds import SLACK
from controller.domain import SECONDS_PER_HOUR
from controller.domain.reasons.ending import BudgetReached


def spent_out(
    *, spent_usd: float, usd_per_hour: float, budget_usd: float | None, ending_s: float
) -> BudgetReached | None:
    """Returns that the training has to stop now, because giving everything back needs the rest of the budget.

    Args:
        spent_usd: What the run has cost so far, head included.
        usd_per_hour: What really runs at the moment, head and nodes that boot or leave included.
        budget_usd: What the whole run may cost; None is no budget.
        ending_s: How long everything that runs goes on to be paid for: until the next look, and while the training
            writes its checkpoint and the nodes are given back.
    """
    if budget_usd is None:
        return None
    reserve_usd = usd_per_hour * ending_s / SECONDS_PER_HOUR
    if spent_usd + reserve_usd < budget_usd * (1 - SLACK):
        return None
    return BudgetReached(budget_usd, spent_usd, reserve_usd)
