"""Families of trainings of other lengths."""

from __future__ import annotations

import random
from dataclasses import replace

from controller.simulate.scenario import Scenario

SHORTER = 40


def short(rng: random.Random, plain: Scenario) -> Scenario:
    """Makes the training forty times as short, with everything that is dated."""
    return replace(
        plain,
        total_steps=max(1, plain.total_steps // SHORTER),
        deadline_s=None if plain.deadline_s is None else plain.deadline_s / SHORTER,
        budget_usd=None if plain.budget_usd is None else plain.budget_usd / SHORTER,
        price_changes=tuple(replace(change, at_s=change.at_s / SHORTER) for change in plain.price_changes),
    )
