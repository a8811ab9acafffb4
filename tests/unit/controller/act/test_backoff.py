"""What has failed is left alone for longer and longer, until it works once."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.act.backoff import LONGEST_ON_SPOT_S, LONGEST_S, backoff_s, failures_to_grow, longest_s, retry_at
from controller.domain import Fleet, Market, Move, MovePhase
from controller.domain.reasons import Said

SOURCE, TARGET, OTHER = Fleet({"t2.large": 2}), Fleet({"c5.large": 2}), Fleet({"c5.xlarge": 2})
DONE, BACK, REFUSED, GROWING = MovePhase.DONE, MovePhase.ROLLED_BACK, MovePhase.REFUSED, MovePhase.GROWING


def moves(*steps: tuple[Fleet, MovePhase]) -> list[Move]:
    """Moves from the same fleet, an hour apart, each of which took a minute."""
    return [
        Move(
            n, 3600.0 * n, SOURCE, target, Said("cheaper"), phase, ended_at=3600.0 * n + 60 if phase.is_final else None
        )
        for n, (target, phase) in enumerate(steps)
    ]


@pytest.mark.parametrize(
    ("failures", "expected_s"), [(1, 900), (2, 1800), (3, 3600), (7, 57600), (8, LONGEST_S), (1000, LONGEST_S)]
)
def test_the_wait_doubles_up_to_a_day(failures: int, expected_s: float) -> None:
    assert backoff_s(900, failures) == expected_s


def test_spot_pools_are_asked_again_within_the_hour() -> None:
    assert longest_s([Market.ON_DEMAND, Market.SPOT]) == LONGEST_ON_SPOT_S
    assert longest_s([Market.ON_DEMAND]) == longest_s([]) == LONGEST_S
    assert [backoff_s(900, n, LONGEST_ON_SPOT_S) for n in (1, 2, 3, 4)] == [900, 1800, 3600, 3600]
    assert backoff_s(7200, 5, LONGEST_ON_SPOT_S) == 7200, "a longer first wait is what was asked for"
    assert backoff_s(2 * LONGEST_S, 1, LONGEST_ON_SPOT_S) == backoff_s(2 * LONGEST_S, 1) == LONGEST_S


def test_a_fleet_that_was_undone_waits_as_long_as_its_market_asks_for_and_a_refused_one_longer() -> None:
    undone, refused = moves(*[(TARGET, BACK)] * 5), moves(*[(TARGET, REFUSED)] * 5)
    last = undone[-1].changed_at
    assert retry_at(TARGET, undone, 900, LONGEST_ON_SPOT_S) == last + LONGEST_ON_SPOT_S
    assert retry_at(TARGET, refused, 900, LONGEST_ON_SPOT_S) == last + 14400


@pytest.mark.parametrize(
    ("history", "failures"),
    [
        ([], 0),
        ([(TARGET, BACK)], 1),
        ([(TARGET, BACK), (TARGET, BACK)], 2),
        ([(TARGET, BACK), (TARGET, DONE), (TARGET, BACK)], 1),
        ([(TARGET, BACK), (OTHER, DONE), (TARGET, BACK)], 2),
        ([(TARGET, BACK), (TARGET, GROWING)], 1),
        ([(OTHER, BACK)], 0),
    ],
)
def test_failures_count_in_a_row_for_each_flavor(history: list[tuple[Fleet, MovePhase]], failures: int) -> None:
    assert failures_to_grow("c5.large", moves(*history)) == failures
    assert failures_to_grow("t2.large", moves(*history)) == 0


def test_a_fleet_is_tried_again_after_its_last_failure_and_others_at_once() -> None:
    failed = moves((TARGET, REFUSED), (TARGET, BACK))
    assert retry_at(TARGET, failed, 900) == 3660 + 1800
    assert retry_at(OTHER, failed, 900) is None
    assert retry_at(TARGET, [*failed, *moves((TARGET, DONE))], 900) is None


def test_a_failure_whose_end_was_not_kept_counts_from_its_beginning() -> None:
    (failed,) = moves((TARGET, BACK))
    assert retry_at(TARGET, [replace(failed, at=7200.0, ended_at=None)], 900) == 7200 + 900


def test_a_flavor_that_a_probe_went_on_without_counts_as_failed_and_the_others_do_not() -> None:
    (done,) = moves((OTHER, DONE))
    without = replace(done, left_out=Fleet({"c5.large": 1}))
    assert failures_to_grow("c5.large", [*moves((TARGET, BACK)), without]) == 2
    assert failures_to_grow("c5.large", [without, *moves((TARGET, DONE))]) == 0
    assert failures_to_grow("c5.xlarge", [*moves((OTHER, BACK)), without]) == 0
