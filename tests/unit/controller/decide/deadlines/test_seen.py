"""What is remembered of capacity that came and went."""

from __future__ import annotations

import math
from functools import partial

import pytest

from controller.decide.deadlines.hypotheses import ABSENCES, STAYS, log_likelihood
from controller.decide.deadlines.seen import MEMORY_S, Covered, Seen, Stays
from tests.unit.controller.decide.deadlines.test_expected_cost import seen as seen_each

STEP_S = 600.0
seen = partial(seen_each, step_s=STEP_S)


def test_at_the_first_look_pools_are_of_unknown_age() -> None:
    assert seen((True, False)) == Seen((Stays(True), Stays(False)), Stays(True))
    assert Stays(True) == Stays(True, 0.0, True, (0.0,) * len(STAYS), (0.0,) * len(ABSENCES))


@pytest.mark.parametrize("is_up", [True, False])
def test_what_goes_on_gets_older_and_fades_from_memory(is_up: bool) -> None:
    before = Stays(is_up, 500.0, False, (-1.0, -2.0, -3.0, -4.0), (-5.0, -6.0, -7.0))
    after, kept = before.after(is_up, MEMORY_S / 2), math.exp(-0.5)
    assert (after.is_up, after.age_s, after.is_first) == (is_up, 500.0 + MEMORY_S / 2, False)
    assert after.stays == pytest.approx([kept * one for one in before.stays])
    assert after.absences == pytest.approx([kept * one for one in before.absences])


@pytest.mark.parametrize("is_first", [True, False])
@pytest.mark.parametrize("was_up", [True, False])
def test_what_ends_tells_of_the_kind_of_the_pool_and_something_new_begins(was_up: bool, is_first: bool) -> None:
    before = Stays(was_up, 500.0, is_first, (-1.0, -2.0, -3.0, -4.0), (-5.0, -6.0, -7.0))
    after, kept = before.after(not was_up, 100.0), math.exp(-100.0 / MEMORY_S)
    told = log_likelihood(STAYS if was_up else ABSENCES, 600.0, is_first)
    stays, absences = ([kept * one for one in earlier] for earlier in (before.stays, before.absences))
    if was_up:
        stays = [one + more for one, more in zip(stays, told, strict=True)]
    else:
        absences = [one + more for one, more in zip(absences, told, strict=True)]
    assert (after.is_up, after.age_s, after.is_first) == (not was_up, 0.0, False)
    assert after.stays == pytest.approx(stays) and after.absences == pytest.approx(absences)


@pytest.mark.parametrize(
    ("looks", "alone", "beside"),
    [
        ([(True, False), (True, False)], Covered(), Covered()),
        ([(True, False), (False, True)], Covered(1, 1), Covered()),
        ([(True, False), (False, False)], Covered(1, 0), Covered()),
        ([(True, True), (False, True)], Covered(), Covered(1, 1)),
        ([(True, True), (False, False)], Covered(), Covered(2, 0)),
        ([(True, True, True), (False, False, True)], Covered(), Covered(2, 2)),
        ([(False, False), (True, False)], Covered(), Covered()),
        ([(True, False), (False, True), (False, False)], Covered(2, 1), Covered()),
        ([(True, True), (False, True), (True, False), (False, False)], Covered(2, 1), Covered(1, 1)),
    ],
)
def test_losses_are_counted_by_whether_another_pool_had_capacity_before_and_covers_them(
    looks: list[tuple[bool, ...]], alone: Covered, beside: Covered
) -> None:
    known = seen(*looks)
    assert (known.alone, known.beside) == (alone, beside)


def test_pools_together_have_capacity_where_any_has() -> None:
    known = seen((True, False), (False, True), (False, False))
    together = Stays(True).after(True, STEP_S).after(False, STEP_S)
    assert known.together == together
    assert known.pools[0] == Stays(True).after(False, STEP_S).after(False, STEP_S)


def test_the_number_of_pools_stays_the_same() -> None:
    with pytest.raises(ValueError, match="zip"):
        seen((True, True), (True,))
