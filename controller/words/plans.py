"""What is said of plans and capacity files that are refused, in words."""

from __future__ import annotations

from controller.domain.reasons import plans as reasons
from controller.words.dispatch import reason_in_words

_DONE = {
    "destroy": "destroyed",
    "replace": "destroyed and created",
    "forget": "forgotten",
    "update": "changed",
    "create": "created",
    "read": "read",
    "none": "imported or moved in the state",
}
"""What happens to a resource by an action of Terraform."""


def done_by(action: str) -> str:
    """Returns what happens to a resource by an action of Terraform."""
    return _DONE.get(action, "changed in an unknown way")


@reason_in_words.register
def _(reason: reasons.PlanRefused) -> str:
    findings = "; ".join(reason_in_words(finding) for finding in reason.findings)
    return f"the plan would do more than change capacities, so it was not applied: {findings}"


@reason_in_words.register
def _(reason: reasons.PlanErrored) -> str:
    return "the plan itself ended in an error"


@reason_in_words.register
def _(reason: reasons.TouchesResource) -> str:
    return f"{reason.address} would be {done_by(reason.action)}"


@reason_in_words.register
def _(reason: reasons.TouchesGroup) -> str:
    return f"the group {reason.address} would be {done_by(reason.action)}"


@reason_in_words.register
def _(reason: reasons.ChangesAttributes) -> str:
    return f"{reason.address} would change in {', '.join(reason.attributes)}"


@reason_in_words.register
def _(reason: reasons.ForeignGroup) -> str:
    return f"{reason.address} is not a group of a flavor of this cluster"


@reason_in_words.register
def _(reason: reasons.OtherCapacity) -> str:
    planned = "an unknown number of" if reason.planned is None else reason.planned
    return f"{reason.address} would get {planned} nodes, and {reason.decided} were decided"


@reason_in_words.register
def _(reason: reasons.AboveMaximum) -> str:
    return f"{reason.address} would get {reason.planned} nodes, and {reason.max_nodes} are allowed"


@reason_in_words.register
def _(reason: reasons.CapacityFileChanged) -> str:
    return f"{reason.file} was changed by someone else since Centavo last read it; it was left as it is"


@reason_in_words.register
def _(reason: reasons.CapacityFileCorrupt) -> str:
    return f"{reason.file} is corrupt: {reason.problem}"


@reason_in_words.register
def _(reason: reasons.UndeclaredFlavor) -> str:
    return f"{reason.file}: the flavor {reason.flavor} is not one that Terraform declares"


@reason_in_words.register
def _(reason: reasons.TooMuchCapacity) -> str:
    return f"{reason.file}: {reason.nodes} nodes of {reason.flavor} are more than its {reason.max_nodes}"


@reason_in_words.register
def _(reason: reasons.AbsurdCapacity) -> str:
    return f"{reason.file}: {reason.nodes} nodes of {reason.flavor} are absurd (more than {reason.max_nodes})"


@reason_in_words.register
def _(reason: reasons.CapacityNotApplied) -> str:
    return f"{reason.file} asks for {reason.asked}, and the groups are set to {reason.applied}"
