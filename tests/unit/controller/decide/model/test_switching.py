"""What a move costs beyond the training meanwhile, worked out by hand."""

from __future__ import annotations

import pytest

from controller.decide.model.switching import switching_usd
from controller.decide.settings import SwitchingAssumptions
from controller.domain import Fleet

TIMES = SwitchingAssumptions(boot_s=60.0, configure_s=120.0, pause_s=18.0, drain_s=36.0)
USD_PER_HOUR = {"a": 1.0, "b": 10.0}
HEAD_USD_PER_HOUR = 100.0


@pytest.mark.parametrize(
    ("current", "target", "usd"),
    [
        ({"a": 2}, {"a": 2}, 0.0),
        # One more a: 180 s of it, and one pause of 3 a and the head.
        ({"a": 2}, {"a": 3}, (1 * 180 + (3 + 100) * 18) / 3600),
        # One a fewer: 36 s of it, and one pause of 3 a and the head.
        ({"a": 3}, {"a": 2}, (1 * 36 + (3 + 100) * 18) / 3600),
        # 2 a become 3 b: 180 s of 3 b, 36 s of 2 a, and two pauses of all five and the head.
        ({"a": 2}, {"b": 3}, (30 * 180 + 2 * 36 + (32 + 100) * 36) / 3600),
        # A flavor without a price counts as free, and no pause counts for it.
        ({"a": 2}, {"a": 2, "new": 1}, 0.0),
    ],
)
def test_the_cost_is_that_of_booting_standing_still_and_draining(
    current: dict[str, int], target: dict[str, int], usd: float
) -> None:
    found = switching_usd(Fleet(current), Fleet(target), USD_PER_HOUR, HEAD_USD_PER_HOUR, TIMES)
    assert found == pytest.approx(usd, abs=1e-12)
