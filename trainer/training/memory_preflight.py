"""Whether a node has the memory that a training needs: asked before anything large is loaded."""

from __future__ import annotations

from trainer.data.prepared.manifest import Manifest
from trainer.model.build import keeps_scores
from trainer.node.memory import available_bytes, resident_bytes
from trainer.settings.training import Settings
from trainer.training.errors import NodeTooSmallError
from trainer.training.memory_plan import MemoryPlan, plan_of

MIB = 1024**2


def plan_here(settings: Settings, manifest: Manifest | None, batch_tokens: int | None = None) -> MemoryPlan:
    """Returns what a rank needs on this machine, whose processor decides on it. See `plan_of`."""
    return plan_of(settings, manifest, batch_tokens, keeps_scores(settings.model))


def check_memory(settings: Settings, manifest: Manifest | None) -> None:
    """Checks that there is room to train at all, by the settings and by the manifest, where there is one.

    Raises:
        NodeTooSmallError: There is none.
    """
    _check(plan_here(settings, manifest))


def largest_share_that_fits(settings: Settings, manifest: Manifest, batch_tokens: int) -> float | None:
    """Returns the largest share of the global batch that this node's memory has room for; None: all of it.

    Raises:
        NodeTooSmallError: There is no room for one sentence.
    """
    plan = plan_here(settings, manifest, batch_tokens)
    return plan.largest_share(_check(plan))


def shortage(needed: int, available: int) -> str | None:
    """Returns why a node is too small, with both numbers, or None where it is not."""
    if needed <= available:
        return None
    return (
        f"out of memory: the training needs about {_mib(needed)} MiB here and the node has {_mib(available)} MiB: "
        "take a larger flavor, or a smaller model or vocabulary; `python -m trainer plan-memory` shows what takes it"
    )


def table(plan: MemoryPlan, available: int) -> str:
    """Returns a plan as a table for a person, with what a node has."""
    whole = round(plan.per_token * plan.global_tokens)
    rows = [(item.name, item.bytes) for item in plan.items]
    rows += [(f"training: {item.name}", item.bytes) for item in plan.while_training]
    rows += [(f"training: all {plan.global_tokens:,} tokens of a batch", whole)]
    rows += [(f"at the end: {item.name}", item.bytes) for item in plan.at_the_end]
    sums = [
        ("the peak, with all of each batch on this node", plan.total(plan.global_tokens)),
        (f"the least, with {plan.least_tokens:,} tokens of each batch", plan.least),
        ("the node has", available),
    ]
    width = max(len(name) for name, _ in [*rows, *sums])
    lines = [f"{name:{width}} {_mib(amount):>10} MiB" for name, amount in rows]
    lines += ["-" * (width + 15), *(f"{name:{width}} {_mib(amount):>10} MiB" for name, amount in sums)]
    return "\n".join([*lines, _verdict(plan, available)])


def _verdict(plan: MemoryPlan, available: int) -> str:
    if plan.least > available:
        return "The node is too small."
    share = plan.largest_share(available)
    return "All of it fits." if share is None else f"The node can take up to {share:.0%} of each global batch."


def _check(plan: MemoryPlan) -> int:
    """Returns the bytes that this process may have. Raises NodeTooSmallError where they do not suffice."""
    available = available_bytes(resident_bytes())
    reason = shortage(plan.least, available)
    if reason is not None:
        raise NodeTooSmallError(reason)
    return available


def _mib(amount: int) -> str:
    return f"{amount / MIB:,.0f}"
