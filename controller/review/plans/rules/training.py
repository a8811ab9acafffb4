"""Changes that end the training that runs."""

from __future__ import annotations

from collections.abc import Iterator

from controller.edges.terraform_plan import GROUP_TYPE, ROLE_TAG, PlanChange
from controller.review.plans.dangers import Danger, Finding


def training(change: PlanChange) -> Iterator[Finding]:
    """Yields the nodes that a change would end."""
    if not change.action.destroys:
        return
    before = change.before or {}
    if change.type == "aws_instance" and change.tag(ROLE_TAG) == "head":
        yield Finding(Danger.END_TRAINING, change.address, "the head, which runs the training's launcher, would go")
    if change.type == GROUP_TYPE and before.get("desired_capacity"):
        reason = f"{before['desired_capacity']:.0f} nodes would end without being drained"
        yield Finding(Danger.END_TRAINING, change.address, reason)
