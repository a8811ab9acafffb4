"""What is said of nodes of which nothing is known, in words."""

from __future__ import annotations

from controller.domain.reasons import nodes as reasons
from controller.words.reasons.dispatch import reason_in_words


@reason_in_words.register
def _(reason: reasons.NotAsked) -> str:
    return "it was not asked"


@reason_in_words.register
def _(reason: reasons.TakesNoPart) -> str:
    return "it does not take part in the training yet"


@reason_in_words.register
def _(reason: reasons.Ec2Unreachable) -> str:
    return f"EC2 could not be asked: {reason_in_words(reason.error)}"


@reason_in_words.register
def _(reason: reasons.AnsibleUnusable) -> str:
    return f"Ansible could not be run: {reason_in_words(reason.error)}"


@reason_in_words.register
def _(reason: reasons.NodeUnreachable) -> str:
    return f"no answer: {reason.said}"


@reason_in_words.register
def _(reason: reasons.FactMissing) -> str:
    return "missing: the node has no iteration fact yet"


@reason_in_words.register
def _(reason: reasons.FactTorn) -> str:
    return f"torn: {reason.problem}"


@reason_in_words.register
def _(reason: reasons.ForeignSchema) -> str:
    return f"foreign schema: {reason.problem}"


@reason_in_words.register
def _(reason: reasons.FactOfAnotherNode) -> str:
    return f"foreign: the fact is of {reason.instance_id}"


@reason_in_words.register
def _(reason: reasons.FactOfAnotherFlavor) -> str:
    return f"foreign: the fact says {reason.in_fact}, EC2 says {reason.in_ec2}"


@reason_in_words.register
def _(reason: reasons.FactOld) -> str:
    return f"old: written {reason.age_s:.0f} s ago, at most {reason.max_age_s:.0f} s are allowed"


@reason_in_words.register
def _(reason: reasons.FactFromTheFuture) -> str:
    return f"from the future: its clock is {reason.ahead_s:.0f} s ahead; check the node's time service"


@reason_in_words.register
def _(reason: reasons.ClockOff) -> str:
    side = "ahead of" if reason.ahead_s > 0 else "behind"
    return (
        f"the clock of {reason.node} is {abs(reason.ahead_s):.0f} s {side} the controller's; "
        "the times in its facts are corrected; check the node's time service"
    )
