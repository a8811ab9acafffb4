"""Iteration facts: what a node says of its rank, accepted only when it can be trusted.

A fact that is missing, old, torn or of a foreign schema makes its node *unknown*, with the reason: never zero, never
dead, never a made-up number. The contract of a fact is the JSON Schema beside the trainer's writer. This parser accepts
more: fields that it does not know, and losses that are not finite.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from controller.domain import Fact, Instance, MembershipChange, Notice, NoticeKind, TrainingState, UnknownNode
from controller.domain.reasons import Reason
from controller.domain.reasons.nodes import (
    FactFromTheFuture,
    FactMissing,
    FactOfAnotherFlavor,
    FactOfAnotherNode,
    FactOld,
    FactTorn,
    ForeignSchema,
    NodeUnreachable,
)
from controller.domain.text import one_line
from controller.domain.times import parse_time
from controller.words.reasons import reason_in_words

SCHEMA = 1
# The bounds of the trainer's JSON Schema. A test holds them against it.
MOST_RANKS = 65_536
LARGEST_COUNT = 2**53 - 1
LONGEST_WINDOW = 1_000_000
LONGEST_REASON = 2_000
LONGEST_TIME = 40
LARGEST_NUMBER = 1e12
"""The schema leaves times, samples and tokens of a step without a bound. No step takes or has more than this."""
LONGEST_SHOWN = 80
"""How much of a value that is refused is shown to people."""
CLOCK_TOLERANCE_S = 5.0
"""How far a node's clock may be ahead of ours before its fact counts as coming from the future."""


class FactError(ValueError):
    """A fact that can't be trusted, for a reason."""

    def __init__(self, reason: Reason) -> None:
        super().__init__(reason_in_words(reason))
        self.reason = reason


@dataclass(frozen=True)
class LocalFacts:
    """What Ansible brought from the nodes.

    Attributes:
        facts: By instance id the local facts by name, as in `ansible_local`.
        failures: By instance id why the node gave nothing.
        clocks_ahead_s: By instance id how far the node's clock is ahead of the controller's. One that is not named is
            right.
    """

    facts: Mapping[str, Any]
    failures: Mapping[str, str]
    clocks_ahead_s: Mapping[str, float] = field(default_factory=dict)


def read_facts(
    instances: tuple[Instance, ...],
    local: LocalFacts,
    *,
    now: float,
    max_age_s: float,
) -> tuple[tuple[Fact, ...], tuple[UnknownNode, ...]]:
    """Returns the facts of these instances that can be trusted, and the instances of which nothing is known.

    Args:
        instances: Those that were asked.
        local: What Ansible brought.
        now: Seconds since the epoch.
        max_age_s: Facts of a training rank that are older can't be trusted.
    """
    facts: list[Fact] = []
    unknown: list[UnknownNode] = []
    for instance in instances:
        try:
            facts.append(_read_node(instance, local, now=now, max_age_s=max_age_s))
        except FactError as error:
            unknown.append(UnknownNode(instance.instance_id, instance.flavor, error.reason))
    return tuple(facts), tuple(unknown)


def _read_node(instance: Instance, local: LocalFacts, *, now: float, max_age_s: float) -> Fact:
    if instance.instance_id in local.failures:
        raise FactError(NodeUnreachable(local.failures[instance.instance_id]))
    found = local.facts.get(instance.instance_id)
    if not isinstance(found, Mapping) or "iteration" not in found:
        raise FactError(FactMissing())
    ahead_s = local.clocks_ahead_s.get(instance.instance_id, 0.0)
    fact = on_our_clock(parse_fact(found["iteration"], now=now + ahead_s, max_age_s=max_age_s), ahead_s)
    if fact.instance_id != instance.instance_id:
        raise FactError(FactOfAnotherNode(fact.instance_id))
    if fact.flavor != instance.flavor:
        raise FactError(FactOfAnotherFlavor(fact.flavor, instance.flavor))
    return fact


def on_our_clock(fact: Fact, ahead_s: float) -> Fact:
    """Returns a fact with its times on the controller's clock, of which its node's clock is ahead."""
    change, notice = fact.last_change, fact.notice
    return replace(
        fact,
        updated_at=fact.updated_at - ahead_s,
        last_change=None if change is None else replace(change, at=change.at - ahead_s),
        notice=None if notice is None else _notice_on_our_clock(notice, ahead_s),
    )


def _notice_on_our_clock(notice: Notice, ahead_s: float) -> Notice:
    """Returns a notice as the controller's clock has it. EC2 names the node's end, whatever its own clock shows."""
    return replace(notice, seen_at=notice.seen_at - ahead_s)


def parse_fact(raw: Any, *, now: float, max_age_s: float) -> Fact:
    """Returns a checked fact of schema 1.

    Args:
        raw: The content of the fact file, as parsed JSON.
        now: Seconds since the epoch, on the node's clock.
        max_age_s: A fact that is older can't be trusted, unless its rank has ended.

    Raises:
        FactError: The fact can't be trusted.
    """
    if not isinstance(raw, Mapping):
        raise _torn(f"the fact is not a JSON object: {_shown(raw)}" if isinstance(raw, str) else _NO_OBJECT)
    if isinstance(raw.get("schema"), bool) or raw.get("schema") != SCHEMA:
        raise FactError(ForeignSchema(f"{_shown(raw.get('schema'))} instead of {SCHEMA}"))
    updated_at = _time(raw, "updated_at")
    state = _state(raw)
    age_s = now - updated_at
    if age_s > max_age_s and state not in (TrainingState.FINISHED, TrainingState.FAILED):
        raise FactError(FactOld(age_s, max_age_s))
    if age_s < -CLOCK_TOLERANCE_S:
        raise FactError(FactFromTheFuture(-age_s))
    return Fact(
        instance_id=_text(raw, "instance_id", 255),
        flavor=_text(raw, "flavor", 64),
        rank=_optional_count(raw, "rank", most=MOST_RANKS - 1),
        world_size=_optional_count(raw, "world_size", least=1, most=MOST_RANKS),
        state=state,
        step=_count(raw, "step"),
        iteration_time_s=_optional_positive(raw, "iteration_time_s"),
        compute_time_s=_optional_positive(raw, "compute_time_s"),
        samples=_optional_number(raw, "samples"),
        tokens=_optional_number(raw, "tokens"),
        window=_count(raw, "window", most=LONGEST_WINDOW),
        updated_at=updated_at,
        peak_memory_bytes=_optional_count(raw, "peak_memory_bytes"),
        reason=_optional_text(raw, "reason"),
        total_steps=_optional_count(raw, "total_steps"),
        total_tokens=_optional_count(raw, "total_tokens"),
        loss=_optional_loss(raw),
        share=_optional_number(raw, "share", most=1.0),
        emulated_speed=_optional_positive(raw, "emulated_speed", most=1.0),
        steal_share=_optional_number(raw, "steal_share", most=1.0),
        last_change=_change(raw.get("last_change")),
        notice=_notice(raw.get("notice")),
        gradient_bytes=_optional_count(raw, "gradient_bytes"),
    )


_NO_OBJECT = "the fact is not a JSON object"


def _torn(problem: str) -> FactError:
    return FactError(FactTorn(problem))


def _shown(value: Any) -> str:
    """Returns a value of a fact as a person may see it."""
    try:
        return one_line(repr(value), LONGEST_SHOWN)
    except ValueError:  # an integer with more digits than Python writes out
        return "a very long number"


def _time(raw: Mapping[str, Any], key: str) -> float:
    value = raw.get(key)
    try:
        return parse_time(value if isinstance(value, str) and len(value) <= LONGEST_TIME else None)
    except (ValueError, OverflowError) as error:
        raise _torn(f"{key} is not a time ({_shown(value)})") from error


def _state(raw: Mapping[str, Any]) -> TrainingState:
    state = raw.get("state")
    try:
        return TrainingState(state if isinstance(state, str) else None)
    except ValueError as error:
        raise FactError(ForeignSchema(f"state {_shown(state)} is not known")) from error


def _text(raw: Mapping[str, Any], key: str, longest: int) -> str:
    value = raw.get(key)
    if not isinstance(value, str) or not value or value != one_line(value, longest):
        raise _torn(f"{key} is {_shown(value)}")
    return value


def _optional_text(raw: Mapping[str, Any], key: str) -> str | None:
    value = raw.get(key)
    return None if value is None else one_line(value, LONGEST_REASON) if isinstance(value, str) else _shown(value)


def _optional_number(raw: Mapping[str, Any], key: str, *, most: float = LARGEST_NUMBER) -> float | None:
    """Returns a number from 0 to `most`, or None where the rank does not know it yet."""
    value = raw.get(key)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= most:
        raise _torn(f"{key} is {_shown(value)}")
    return float(value)


def _optional_positive(raw: Mapping[str, Any], key: str, *, most: float = LARGEST_NUMBER) -> float | None:
    value = _optional_number(raw, key, most=most)
    if value == 0:
        raise _torn(f"{key} is 0")
    return value


def _optional_loss(raw: Mapping[str, Any]) -> float | None:
    """Returns the loss if it is a number of a usual size. A loss may be negative, or no number at all."""
    value = raw.get("loss")
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return float(value) if is_number and -LARGEST_NUMBER <= value <= LARGEST_NUMBER else None  # type: ignore[arg-type, operator]


def _optional_count(raw: Mapping[str, Any], key: str, *, least: int = 0, most: int = LARGEST_COUNT) -> int | None:
    value = _optional_number(raw, key, most=most)
    if value is not None and not value.is_integer():
        raise _torn(f"{key} is {_shown(raw[key])}, not a whole number")
    if value is not None and value < least:
        raise _torn(f"{key} is {_shown(raw[key])}")
    return None if value is None else int(value)


def _count(raw: Mapping[str, Any], key: str, *, least: int = 0, most: int = LARGEST_COUNT) -> int:
    value = _optional_count(raw, key, least=least, most=most)
    if value is None:
        raise _torn(f"{key} is missing")
    return value


def _change(raw: Any) -> MembershipChange | None:
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise _torn("last_change is not a JSON object")
    pause_s = _optional_number(raw, "pause_s")
    if pause_s is None:
        raise _torn("last_change.pause_s is missing")
    return MembershipChange(
        at=_time(raw, "at"),
        from_size=_count(raw, "from_size", least=1, most=MOST_RANKS),
        to_size=_count(raw, "to_size", least=1, most=MOST_RANKS),
        pause_s=pause_s,
        steps_lost=_count(raw, "steps_lost"),
    )


def _notice(raw: Any) -> Notice | None:
    """Returns what the spot service has said of the node; None also for what only a newer trainer knows."""
    if raw is None:
        return None
    if not isinstance(raw, Mapping):
        raise _torn("notice is not a JSON object")
    if raw.get("kind") not in [kind.value for kind in NoticeKind]:
        return None
    ends_at = None if raw.get("ends_at") is None else _time(raw, "ends_at")
    return Notice(NoticeKind(raw["kind"]), _time(raw, "seen_at"), ends_at)
