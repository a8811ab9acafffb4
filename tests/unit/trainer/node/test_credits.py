"""Emulated CPU credits: full speed while they last, the baseline without, and surplus credits in unlimited mode."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trainer.node.brake import Brake
from trainer.node.credits import EmulatedCredits, emulated_credits


class Clock:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 1000.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


def account(path: Path, **changes: Any) -> Path:
    """Two vCPUs earn 24 credits an hour: 20 % of what they can spend. At full speed a minute costs 1.6 credits."""
    values = {"vcpus": 2, "credits_per_hour": 24, "unlimited": False, "balance": 1.6, "surplus": 0.0, "at": 1000.0}
    path.write_text(json.dumps({**values, **changes}))
    return path


def compute(credits: EmulatedCredits, clock: Clock, full_s: float) -> float:
    """Computes for so long at full speed, and waits for what is stretched beyond it."""
    clock.sleep(full_s)
    took_s = credits.stretched_s(full_s)
    clock.sleep(took_s - full_s)
    return took_s


def test_full_speed_lasts_as_long_as_the_credits_and_then_the_baseline_is_left(tmp_path: Path) -> None:
    clock = Clock()
    credits = EmulatedCredits(account(tmp_path / "credits.json"), lambda: clock.now)
    assert [compute(credits, clock, 20.0) for _ in range(5)] == pytest.approx([20.0, 20.0, 20.0, 100.0, 100.0])
    assert credits.balance == pytest.approx(0.0)


def test_a_computation_that_spends_the_last_credit_is_slow_from_there_on(tmp_path: Path) -> None:
    clock = Clock()
    credits = EmulatedCredits(account(tmp_path / "credits.json"), lambda: clock.now)
    assert compute(credits, clock, 90.0) == pytest.approx(60.0 + 30.0 * 5)


def test_an_idle_node_earns_credits_and_keeps_those_of_a_day(tmp_path: Path) -> None:
    clock = Clock()
    credits = EmulatedCredits(account(tmp_path / "credits.json", balance=0.0), lambda: clock.now)
    clock.sleep(3600.0)
    compute(credits, clock, 60.0)
    assert credits.balance == pytest.approx(24.0 - 1.6)
    clock.sleep(100 * 3600.0)
    compute(credits, clock, 0.0)
    assert credits.balance == pytest.approx(24.0 * 24)


def test_in_unlimited_mode_the_speed_stays_and_surplus_credits_are_spent_and_earned_back(tmp_path: Path) -> None:
    clock = Clock()
    credits = EmulatedCredits(account(tmp_path / "credits.json", unlimited=True, balance=0.0), lambda: clock.now)
    assert compute(credits, clock, 600.0) == 600.0
    assert (credits.balance, credits.surplus) == (0.0, pytest.approx(16.0))
    clock.sleep(1800.0)
    compute(credits, clock, 0.0)
    assert (credits.balance, credits.surplus) == (0.0, pytest.approx(4.0))


def test_the_next_rank_goes_on_with_the_account(tmp_path: Path) -> None:
    clock, path = Clock(), account(tmp_path / "credits.json")
    compute(EmulatedCredits(path, lambda: clock.now), clock, 30.0)
    assert EmulatedCredits(path, lambda: clock.now).balance == pytest.approx(0.8)


def test_the_brake_is_harder_without_credits(tmp_path: Path) -> None:
    """At half the speed, 10 s of processor time take 20 s, and without credits 100 s."""
    clock = Clock()
    for balance, took_s in ((100.0, 20.0), (0.0, 100.0)):
        credits = EmulatedCredits(account(tmp_path / "credits.json", balance=balance, at=clock.now), lambda: clock.now)
        with Brake(0.5, lambda: clock.now, lambda: clock.now, clock.sleep, credits) as braked:
            clock.sleep(10.0)
        assert braked.compute_time_s == pytest.approx(took_s)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"vcpus": "many"}'])
def test_a_file_without_an_account_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    (tmp_path / "credits.json").write_text(text)
    with pytest.raises(ValueError, match=r"CENTAVO_EMULATED_CREDITS .*credits\.json"):
        emulated_credits({"CENTAVO_EMULATED_CREDITS": str(tmp_path / "credits.json")})


def test_without_the_variable_there_are_no_credits() -> None:
    assert emulated_credits({}) is None
