"""How far the training is."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Progress:
    """How far the training is. The work that remains is in target tokens."""

    step: int
    total_steps: int
    tokens: int
    started_at: float
    at: float

    @property
    def remaining_steps(self) -> int:
        """The steps that are still to do."""
        return max(0, self.total_steps - self.step)

    @property
    def tokens_per_step(self) -> float | None:
        """Target tokens of one step over all ranks; None before the first step."""
        return self.tokens / self.step if self.step else None
