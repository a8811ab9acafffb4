"""What is said at the start of the costs of going away."""

from __future__ import annotations

import pytest

from controller.warden.waits import Waits
from controller.words.going_away import ENDING_S, REAPED_EVERY_S, going_away, longest_s

WAITS = Waits(lease_s=900, ended_s=1800, stalled_s=7200, worker_s=3600, reaper_s=7200)


def test_each_switch_is_named_with_its_time_and_its_costs() -> None:
    said = going_away(WAITS, 3.6, is_limit=False, reaper=True)
    assert said == (
        "If you go away now and the controller dies, the head gives everything back within 20 min (at most $1.20). "
        "If the head dies too, the workers end themselves within 1 h 20 min (at most $4.80). "
        "Should both fail, the reaper ends all of it within 2 h 30 min (at most $9.00). "
        "A training that has nodes and makes no step is ended within 2 h 09 min (at most $7.72), "
        "and one that has ended is given back within 38 min 45 s (at most $2.33). "
        "All of it is counted at $3.60 an hour, the price of the first fleet."
    )


def test_where_no_reaper_is_there_none_is_promised() -> None:
    said = going_away(WAITS, 4, is_limit=True, reaper=False)
    assert "the reaper" not in said and "nothing else ends it here but `centavo reap`" in said
    assert said.endswith("counted at $4.00 an hour, the limit of this run.")


@pytest.mark.parametrize("reaper", [False, True])
def test_longer_waits_are_never_said_to_be_shorter(reaper: bool) -> None:
    longest = longest_s(WAITS, reaper=reaper)
    assert longest["head"] == 900 + ENDING_S < longest["workers"]
    assert ("reaper" in longest) is reaper
    if reaper:
        assert longest["reaper"] == 900 + 7200 + REAPED_EVERY_S + ENDING_S > longest["workers"]
