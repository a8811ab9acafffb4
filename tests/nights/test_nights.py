"""Two hundred nights: money stops within the time that was said, whichever switch fails."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.warden.waits import Waits
from tests.nights import night as module
from tests.nights.kinds import KINDS, play
from tests.nights.night import Faults, Night

NIGHTS = 200


@pytest.mark.parametrize("kind", range(len(KINDS)), ids=[kind.name for kind in KINDS])
def test_money_stops_within_the_time_that_was_said(kind: int) -> None:
    outcomes = {seed: play(seed) for seed in range(kind, NIGHTS, len(KINDS))}
    assert {seed: one.wrong for seed, one in outcomes.items() if one.wrong} == {}


@pytest.mark.parametrize("switch", ["head_verdict", "worker_verdict", "reaper_verdict"])
def test_a_switch_that_never_fires_is_noticed(switch: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = getattr(module, switch)
    monkeypatch.setattr(module, switch, lambda *seen: replace(real(*seen), fires=False))
    assert any(play(seed).wrong for seed in range(len(KINDS)))


def test_a_switch_that_fires_at_once_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    real = module.head_verdict
    monkeypatch.setattr(module, "head_verdict", lambda seen: replace(real(seen), fires=True))
    assert play(0).wrong.startswith("it fired")


def test_a_night_without_any_switch_costs_until_the_morning() -> None:
    night = Night(
        1, Waits(), Faults(controller_dies_s=60, head_dies_s=60, workers_are_refused_s=0, reaper_fails_until_s=1e9)
    )
    night.play()
    assert night.workers_end_s == float("inf") and night.cost_after_usd(0) > 12
