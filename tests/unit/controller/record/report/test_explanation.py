"""The explanation of a decision: its tables, and deadline and budget beside what the fleets need."""

from __future__ import annotations

import pytest
from training import Training

from controller.domain import Limits
from controller.record.report.explanation import render_explanation


@pytest.fixture
def training() -> Training:
    return Training()


def test_an_explanation_has_reason_tables_and_units(training):
    text = render_explanation(training.decide())
    for word in ("MOVE", "6 x c5.large", "$/M tokens", "95% interval", "remaining $", "chosen", "speed-up"):
        assert word in text
    assert "left by" not in text


def test_an_explanation_shows_deadline_and_budget_beside_what_the_fleets_need(training):
    limits = Limits(1, 6, deadline_at=training.now + 30 * 3600, budget_usd=20.0)
    text = render_explanation(training.decide(limits), 160, limits=limits, spent_usd=1.5)
    assert "left by the deadline and the budget" in text
    row = next(line for line in text.splitlines() if "left by the deadline" in line)
    assert "30.000" in row and "18.5000" in row
    assert "too late" in text and "too expensive" in text
