"""What is said of a training that makes no progress, in words."""

from __future__ import annotations

from controller.domain.health import Ailment, RemedyKind
from controller.domain.reasons import health as reasons
from controller.words.numbers import duration
from controller.words.reasons.dispatch import reason_in_words

REMEDIES = {
    RemedyKind.DROP_RANK.value: "taking the node out of the training",
    RemedyKind.RESTART_LAUNCHER.value: "restarting the launcher from the last checkpoint",
    RemedyKind.REPLACE_NODE.value: "replacing the node",
    RemedyKind.REBOOT_HEAD.value: "rebooting the head",
    RemedyKind.END_TRAINING.value: "ending the training",
}
"""Each remedy as something that is done."""


def ailment_in_words(ailment: Ailment) -> str:
    """Returns what is wrong, and what is done about it now."""
    wrong = reason_in_words(ailment.reason)
    return wrong if ailment.remedy is None else f"{wrong}; {REMEDIES[ailment.remedy.value]}"


@reason_in_words.register
def _(reason: reasons.NoNewStep) -> str:
    after = "no step was ever seen" if reason.step is None else f"the last one was step {reason.step:,}"
    return f"no new step for {_beyond(reason.for_s, reason.limit_s)}; {after}"


@reason_in_words.register
def _(reason: reasons.LauncherDied) -> str:
    return f"the launcher on the head died {duration(reason.for_s)} ago, and nothing starts it again"


@reason_in_words.register
def _(reason: reasons.LauncherNotStarted) -> str:
    return f"the launcher on the head has not run for {duration(reason.for_s)}"


@reason_in_words.register
def _(reason: reasons.HeadSilent) -> str:
    return f"no answer from the head for {_beyond(reason.for_s, reason.limit_s)}"


@reason_in_words.register
def _(reason: reasons.HeadGone) -> str:
    return f"the head does not run: EC2 says that it is {reason.state}"


@reason_in_words.register
def _(reason: reasons.RankHangs) -> str:
    for_s = _beyond(reason.for_s, reason.limit_s)
    return f"{reason.node} ({reason.flavor}) answers, and has made no step for {for_s} while others have"


@reason_in_words.register
def _(reason: reasons.NeverBecameRank) -> str:
    for_s = _beyond(reason.for_s, reason.limit_s)
    return f"{reason.node} ({reason.flavor}) is in the hosts file, and has not become a rank for {for_s}"


@reason_in_words.register
def _(reason: reasons.WorkerDied) -> str:
    return (
        f"the worker of {reason.node} ({reason.flavor}) died {duration(reason.for_s)} ago, and nothing starts it again"
    )


@reason_in_words.register
def _(reason: reasons.NodeSilent) -> str:
    return f"{reason.node} ({reason.flavor}) runs, and has not answered for {_beyond(reason.for_s, reason.limit_s)}"


def _beyond(for_s: float, limit_s: float) -> str:
    """Returns how long a state has lasted, and how long it may."""
    return f"{duration(for_s)} ({duration(limit_s)} are allowed)"
