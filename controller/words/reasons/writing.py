"""What is said where a controller may not write, or can't, in words."""

from __future__ import annotations

from controller.domain.reasons import writing as reasons
from controller.domain.times import iso
from controller.words.reasons.dispatch import reason_in_words


@reason_in_words.register
def _(reason: reasons.HeldByAnother) -> str:
    who = f"{reason.user}@{reason.host} (process {reason.pid})"
    return f"`{reason.command}` of {who} works in the environment {reason.environment} since {iso(reason.since)}"


@reason_in_words.register
def _(reason: reasons.HeldBySomebody) -> str:
    return f"another command works in the environment {reason.environment}; {reason.file} does not say which"


@reason_in_words.register
def _(reason: reasons.LockLost) -> str:
    return f"the lock {reason.file} was removed or replaced while this command held it"


@reason_in_words.register
def _(reason: reasons.RunTakenOver) -> str:
    return (
        f"another controller has taken over the run {reason.run}: this one is number {reason.generation}, "
        f"the latest is number {reason.latest}"
    )


@reason_in_words.register
def _(reason: reasons.LeaseHeld) -> str:
    who = f"{reason.user}@{reason.host} (process {reason.pid})"
    return (
        f"`{reason.command}` of {who} owns the cluster {reason.cluster} since {iso(reason.since)}; its lease was "
        f"renewed {reason.age_s:.0f} s ago and lasts {reason.lasts_s:.0f} s"
    )


@reason_in_words.register
def _(reason: reasons.LeaseUnreadable) -> str:
    return f"the lease of the cluster {reason.cluster}, {reason.key}, can't be understood: {reason.problem}"


@reason_in_words.register
def _(reason: reasons.LeaseTaken) -> str:
    by = reason.holder or "somebody else"
    return f"the cluster {reason.cluster} was taken over by {by}"


@reason_in_words.register
def _(reason: reasons.LeaseFired) -> str:
    return f"the dead man's switch of the {reason.by} has given the cluster {reason.cluster} back ({reason.why})"


@reason_in_words.register
def _(reason: reasons.LeaseUncertain) -> str:
    return (
        f"the lease of the cluster {reason.cluster} could not be renewed in time, so that it may be somebody else's by "
        f"now: {reason.problem}"
    )


@reason_in_words.register
def _(reason: reasons.NotWritten) -> str:
    return f"{reason.file} can't be written: {reason.problem}"
