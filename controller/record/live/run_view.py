"""What is known of a run, gathered step by step, for the live view."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain import SECONDS_PER_HOUR, Decision, FlavorEstimate, Fleet, Move, MovePhase, Verdict
from controller.domain.units import TOKENS_PER_MILLION
from controller.record.journal.summary import Summary
from controller.words.fleets import with_short_fleets
from controller.words.reasons import reason_in_words

KEPT_DECISIONS = 4
KEPT_NOTES = 4
KEPT_STEPS = 5
KEPT_SUMMARIES = 30
"""The spread of the compute times is over so many observations."""


@dataclass
class RepeatedDecision:
    """Decisions in a row that say the same."""

    verdict: Verdict
    reason: str
    at: float
    times: int = 1


@dataclass
class RunView:
    """What is known of a run now.

    One thread writes it and another draws it, so every change replaces a value as a whole.
    """

    run: str
    environment: str
    policy: str
    started_at: float
    initial: Fleet
    usd_per_hour: Mapping[str, float]
    status: str = "running"
    status_reason: str | None = None
    ended_at: float | None = None
    now: Summary | None = None
    trained: Summary | None = None
    """The last summary in which ranks trained. It is shown while a move makes them pause."""
    recent: deque[Summary] = field(default_factory=lambda: deque(maxlen=KEPT_SUMMARIES))
    spent_usd: float = 0.0
    first_usd_per_million: float | None = None
    """Dollars per million tokens, measured on the first fleet; workers alone."""
    first_running_usd_per_million: float | None = None
    """The same cost, head included."""
    began: Summary | None = None
    """The first summary that has a step."""
    trained_usd: float = 0.0
    """Dollars spent since `began`."""
    flavors: Mapping[str, FlavorEstimate] = field(default_factory=dict)
    decision: Decision | None = None
    move: Move | None = None
    steps: tuple[tuple[float, MovePhase, str], ...] = ()
    """The last steps of the last move."""
    decisions: deque[RepeatedDecision] = field(default_factory=lambda: deque(maxlen=KEPT_DECISIONS))
    notes: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=KEPT_NOTES))

    def see(self, summary: Summary, spent_usd: float) -> None:
        """Takes up a look at the fleet."""
        if self.began is not None and self.now is not None:
            self.trained_usd += (summary.at - self.now.at) * self.now.usd_per_hour / SECONDS_PER_HOUR
        elif summary.step:
            self.began = summary
        self.now, self.spent_usd = summary, spent_usd
        self.recent.append(summary)
        if summary.ranks:
            self.trained = summary
        if summary.fleet == self.initial and (cost := self.fleet_cost(summary)) is not None:
            self.first_usd_per_million = cost
            self.first_running_usd_per_million = summary.usd_per_million_tokens(summary.usd_per_hour)

    def decide(self, decision: Decision) -> None:
        """Takes up a decision."""
        self.decision = decision
        self.flavors = {estimate.flavor: estimate for estimate in decision.flavors} or self.flavors
        reason = with_short_fleets(reason_in_words(decision.reason), (decision.current, decision.target))
        last = self.decisions[-1] if self.decisions else None
        if last is not None and (last.verdict, last.reason) == (decision.verdict, reason):
            self.decisions[-1] = RepeatedDecision(last.verdict, last.reason, decision.at, last.times + 1)
        else:
            self.decisions.append(RepeatedDecision(decision.verdict, reason, decision.at))

    def step(self, at: float, move: Move, note: str) -> None:
        """Takes up a step of a move."""
        earlier = self.steps if self.move is not None and self.move.move_id == move.move_id else ()
        told = with_short_fleets(note, (move.source.union(move.target), move.source, move.target))
        self.steps = (*earlier, (at, move.phase, told))[-KEPT_STEPS:]
        self.move = move

    def note(self, at: float, message: str) -> None:
        """Takes up something that a person wants to know."""
        self.notes.append((at, message))

    def fleet_cost(self, summary: Summary) -> float | None:
        """Returns the measured dollars per million tokens of the workers."""
        if any(flavor not in self.usd_per_hour for flavor in summary.fleet.present):
            return None
        return summary.usd_per_million_tokens(summary.fleet.usd_per_hour(self.usd_per_hour))

    @property
    def remaining_s(self) -> float | None:
        """Seconds until the training ends, at the speed that it has now."""
        seen = self.trained
        if seen is None or seen.iteration_time_s is None or not seen.total_steps or seen.step is None:
            return None
        return max(0, seen.total_steps - seen.step) * seen.iteration_time_s

    @property
    def expected_usd(self) -> float | None:
        """What the whole run will cost if the fleet stays; None during a move, which pays for two fleets."""
        if self.now is None or self.remaining_s is None or self.is_moving:
            return None
        return self.spent_usd + self.remaining_s * self.now.usd_per_hour / SECONDS_PER_HOUR

    @property
    def saved_usd(self) -> float | None:
        """How much more the tokens trained so far would have cost on the first fleet, head included."""
        if self.began is None or self.trained is None or self.first_running_usd_per_million is None:
            return None
        tokens = (self.trained.total_tokens or 0) - (self.began.total_tokens or 0)
        return self.first_running_usd_per_million * tokens / TOKENS_PER_MILLION - self.trained_usd

    @property
    def still_saved_usd(self) -> float | None:
        """How much more the rest would cost on the first fleet than on this one, head included; None during a move."""
        seen, remaining_s = self.trained, self.remaining_s
        if self.first_running_usd_per_million is None or seen is None or remaining_s is None or self.is_moving:
            return None
        cost = seen.usd_per_million_tokens(seen.usd_per_hour)
        if cost is None or seen.tokens_per_s is None:
            return None
        return (self.first_running_usd_per_million - cost) * seen.tokens_per_s * remaining_s / TOKENS_PER_MILLION

    @property
    def is_moving(self) -> bool:
        """Whether a move is under way."""
        return self.move is not None and not self.move.phase.is_final
