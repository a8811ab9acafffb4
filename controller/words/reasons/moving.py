"""What is said of moves, in words."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain.reasons import moving as reasons
from controller.domain.times import iso
from controller.words.reasons.dispatch import reason_in_words


@reason_in_words.register
def _(reason: reasons.MergedByPeople) -> str:
    return "people have merged this fleet"


@reason_in_words.register
def _(reason: reasons.WaitsAfterFailure) -> str:
    return f"a move to {reason.target} has failed before and waits until {iso(reason.until)}"


@reason_in_words.register
def _(reason: reasons.NoCapacity) -> str:
    return f"EC2 could not launch {_each(reason.failures)}"


@reason_in_words.register
def _(reason: reasons.NotRunning) -> str:
    return f"not running after {reason.limit_s:.0f} s: {reason.missing}"


@reason_in_words.register
def _(reason: reasons.NoAnswer) -> str:
    return f"no answer over SSH after {reason.limit_s:.0f} s: {_each(reason.nodes)}"


@reason_in_words.register
def _(reason: reasons.ConfiguringFailed) -> str:
    return f"configuring the new nodes failed: {reason_in_words(reason.cause)}"


@reason_in_words.register
def _(reason: reasons.DidNotJoin) -> str:
    return f"{len(reason.nodes)} of {reason.awaited} nodes did not join within {_within(reason)}"


@reason_in_words.register
def _(reason: reasons.RankFailed) -> str:
    return f"{reason.node} ({reason.flavor}) failed: {reason.said or 'no reason was given'}"


@reason_in_words.register
def _(reason: reasons.TrainingEnded) -> str:
    return "the training ended before the move was done"


@reason_in_words.register
def _(reason: reasons.TrainingEndedInShrinking) -> str:
    return "the training ended while the drained nodes were leaving"


@reason_in_words.register
def _(reason: reasons.PlaybookFailed) -> str:
    said = _each(reason.nodes) if reason.nodes else reason.output
    return f"the playbook {reason.playbook} ended as {reason.status!r}: {said}"


@reason_in_words.register
def _(reason: reasons.TerraformFailed) -> str:
    return f"terraform {reason.command} failed: {reason.said}"


@reason_in_words.register
def _(reason: reasons.TerraformTookTooLong) -> str:
    return f"terraform {reason.command} took longer than {reason.limit_s:g} s and was stopped"


@reason_in_words.register
def _(reason: reasons.StateLocked) -> str:
    return f"Terraform's state is locked since {iso(reason.since)} by {reason.who} ({reason.operation})"


@reason_in_words.register
def _(reason: reasons.AwsFailed) -> str:
    return f"AWS did not {reason.purpose}: {reason.said}"


def _each(said: Mapping[str, str]) -> str:
    """Returns of each name what was said of it."""
    return "; ".join(f"{name}: {words}" for name, words in sorted(said.items()))


def _within(reason: reasons.DidNotJoin) -> str:
    """Returns the time limit, and the nodes that were late."""
    late = ", ".join(f"{node} ({flavor})" for node, flavor in sorted(reason.nodes.items()))
    return f"{reason.limit_s:.0f} s: {late}"
