"""Deadline and budget as people read them."""

from __future__ import annotations

from controller.domain.times import iso
from controller.words.numbers import duration, usd


def constraints_in_words(deadline_at: float | None, budget_usd: float | None) -> list[str]:
    """Returns the deadline and the budget of a run in words; nothing of what there is not."""
    deadline = [] if deadline_at is None else [f"deadline {iso(deadline_at)}"]
    return deadline + ([] if budget_usd is None else [f"budget {usd(budget_usd)}"])


def lateness(late_s: float) -> str:
    """Returns by how much a deadline was missed or kept."""
    return f"missed by {duration(late_s)}" if late_s > 0 else f"{duration(-late_s)} to spare"


def rest_of_budget(left_usd: float) -> str:
    """Returns what is left of a budget, or by how much it was exceeded."""
    return f"exceeded by {usd(-left_usd)}" if left_usd < 0 else f"{usd(left_usd)} left"
