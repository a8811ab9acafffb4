"""How nodes stand with their CPU credits, by what is known of their flavor, of their balance and of their speed.

A t2.large has two vCPUs with a baseline of 30 %. It is launched with 60 credits, which last 43 minutes.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from controller.decide.samples.credits import (
    FOLLOWS_WITHIN,
    NO_CREDITS_S,
    OUTLASTS,
    STEALS,
    Accounts,
    Pace,
    pace_of,
    told_of,
)
from controller.decide.samples.windows import Sample
from controller.domain import Credits, Flavor, Fleet, Observation
from controller.domain.reasons.flavors import (
    CreditsLast,
    CreditsSpent,
    FellForGood,
    JudgedByBaseline,
    KeepsItsSpeed,
    PaysForSurplus,
)

SHARE = 0.3
T2 = Flavor("t2.large", vcpus=2, burstable=True, baseline_share=SHARE, launch_credits=60.0)
UNKNOWN = Flavor("t2.large", vcpus=2)
BURSTABLE = Flavor("t2.large", burstable=True)
FULL_SPEED_S = 60 / (2 * 0.7)
"""How many seconds a credit lasts at full speed."""
FRESH_S = 60 * FULL_SPEED_S
BEGAN, NOW = 1000.0, 1600.0


def windows(*levels: float, steal: float | None = None, first_at: float = BEGAN + 60.0) -> list[Sample]:
    """Returns a window a minute, each at this share of full speed."""
    return [Sample(math.log(level), 50, 1.0, first_at + 60.0 * n, steal) for n, level in enumerate(levels)]


FULL, SLOW, FELL = windows(*[1.0] * 6), windows(*[SHARE] * 6), windows(1.0, 1.0, 1.0, SHARE, SHARE, SHARE)


def pace(
    nodes: Mapping[str, Sequence[Sample]], flavor: Flavor | None = T2, balance: float | None = None, **known: Any
) -> Pace:
    """Returns the pace at `NOW`, of nodes that began at `BEGAN`.

    Args:
        balance: What CloudWatch tells now of each node; None where it tells nothing.
    """
    credits = {} if balance is None else {node: Credits(balance, 0.0, NOW) for node in nodes}
    accounts = Accounts(NOW, credits, dict.fromkeys(nodes, BEGAN))
    return pace_of("t2.large", flavor, nodes, replace(accounts, **known))


# Who runs, and for how long it has


def test_a_node_runs_that_was_seen_since_or_now() -> None:
    accounts = Accounts(NOW, seen_at={"late": 500.0, "early": 499.0}, since=500.0)
    assert [accounts.runs(node) for node in ("late", "early", "now")] == [True, False, True]


def test_a_node_has_worked_from_its_beginning_until_it_was_seen_last() -> None:
    accounts = Accounts(
        NOW, began_at={"now": BEGAN, "gone": BEGAN, "odd": BEGAN}, seen_at={"gone": 1100.0, "odd": 900.0}
    )
    worked_s = {node: accounts.worked_s(node) for node in ("now", "gone", "odd", "of unknown beginning")}
    assert worked_s == {"now": 600.0, "gone": 100.0, "odd": 0.0, "of unknown beginning": 0.0}


# A flavor whose baseline is known


@pytest.mark.parametrize(
    ("samples", "known", "is_spent"),
    [
        (FULL, {}, False),
        (SLOW, {}, False),
        (FELL, {}, True),
        (SLOW, {"full_tokens_per_s": {"t2.large": 1.0}}, True),
        (SLOW, {"full_tokens_per_s": {"t2.xlarge": 1.0}}, False),
        (windows(*[0.66] * 6), {"full_tokens_per_s": {"t2.large": 1.0}}, False),
        (windows(*[0.64] * 6), {"full_tokens_per_s": {"t2.large": 1.0}}, True),
        (windows(*[(1 + SHARE) / 2] * 6), {"full_tokens_per_s": {"t2.large": 1.0}}, True),
        (windows(*[1.0] * 3, *[0.7] * 3), {}, False),
        (windows(*[1.0] * 3, *[0.7] * 3), {"full_tokens_per_s": {"t2.large": 1.2}}, True),
        (FELL, {"full_tokens_per_s": {"t2.large": 0.4}}, True),
        (FELL, {"full_tokens_per_s": {"t2.large": 0.0}}, True),
        (FELL, {"balance": NO_CREDITS_S / FULL_SPEED_S + 0.01}, False),
        (FELL, {"balance": NO_CREDITS_S / FULL_SPEED_S - 0.01}, True),
        (SLOW, {"full_tokens_per_s": {"t2.large": 1.0}, "balance": 30.0}, False),
        (FULL, {"balance": 0.0}, False),
    ],
    ids=[
        "at full speed",
        "slow from the beginning",
        "fell",
        "slower than was measured before",
        "another flavor's speed",
        "nearer to full speed",
        "nearer to the baseline",
        "halfway",
        "fell a little",
        "fell a little, and is far slower than was measured before",
        "fell further than from what was measured before",
        "no speed was measured before",
        "fell, with a balance",
        "fell, with next to no balance",
        "slow, with a balance",
        "at full speed, without a balance",
    ],
)
def test_a_node_is_without_credits_that_is_nearer_to_its_baseline_and_of_which_no_balance_is_told(
    samples: Sequence[Sample], known: dict[str, Any], is_spent: bool
) -> None:
    found = pace({"one": samples}, **known)
    assert found.spent == ({"one"} if is_spent else frozenset())
    assert found.spent_level == (pytest.approx(samples[-1].log_speed) if is_spent else None)
    assert found.lasting_share == SHARE


@pytest.mark.parametrize(
    ("steal", "balance", "is_spent"),
    [
        (STEALS * (1 - SHARE), None, True),
        (STEALS * (1 - SHARE) - 0.01, None, False),
        (0.9, None, True),
        (0.9, 30.0, False),
        (0.9, 0.0, True),
    ],
)
def test_a_node_is_without_credits_whose_time_is_stolen(steal: float, balance: float | None, is_spent: bool) -> None:
    """The last window tells."""
    before, last = windows(1.0, 1.0, steal=0.0), windows(1.0, steal=steal, first_at=BEGAN + 180.0)
    assert pace({"one": [*before, *last]}, balance=balance).spent == ({"one"} if is_spent else frozenset())
    late = windows(1.0, steal=0.0, first_at=BEGAN + 240.0)
    assert pace({"one": [*last, *late]}, balance=balance).spent == frozenset()


def test_the_level_without_credits_is_the_median_of_the_nodes_that_have_none() -> None:
    nodes = {f"slow {share}": windows(1.0, 1.0, 1.0, *[share] * 3) for share in (0.25, 0.3, 0.4)}
    found = pace({**nodes, "full": FULL})
    assert found.spent == {*nodes}
    assert found.spent_level == pytest.approx(math.log(0.3))
    assert found.left_s == {**dict.fromkeys(nodes, 0.0), "full": pytest.approx(FRESH_S - 600.0)}


# A node whose credits run out


@pytest.mark.parametrize(
    ("levels", "spent_level"),
    [
        ((1.0, 1.0, SHARE), None),
        ((1.0, 1.0, 1.0, 0.5, SHARE), None),
        ((1.0, 1.0, 1.0, 0.5, SHARE, SHARE), SHARE),
        ((1.0, 1.0, 1.0, 1.0, 1.0, 0.6, SHARE, SHARE), SHARE),
        ((*[1.0] * 15, 0.6, SHARE, SHARE), SHARE),
        ((0.4,), 0.4),
        ((1.0, SHARE), SHARE),
    ],
    ids=[
        "one of three",
        "two of five",
        "three of six",
        "three of eight",
        "three of eighteen",
        "the only one",
        "one of two",
    ],
)
def test_windows_with_and_without_credits_are_told_apart(levels: Sequence[float], spent_level: float | None) -> None:
    """With credits the fast ones count, without them the slow ones, but for the one in which the credits ran out."""
    found = pace({"one": windows(*levels)}, full_tokens_per_s={"t2.large": 1.0})
    assert found.full_level == 0.0
    counted = [math.exp(sample.log_speed) for sample in found.windows["one"]]
    if spent_level is None:
        assert found.spent == frozenset()
        assert counted == pytest.approx([level for level in levels if level == 1.0])
    else:
        assert found.spent == {"one"}
        assert found.spent_level == pytest.approx(math.log(spent_level))
        assert counted == pytest.approx([level for level in levels if level == spent_level])


def test_a_window_halfway_between_both_speeds_is_slow() -> None:
    found = pace({"one": windows((1 + SHARE) / 2, SHARE)}, full_tokens_per_s={"t2.large": 1.0})
    assert len(found.windows["one"]) == 2
    assert found.spent_level == pytest.approx(math.log(SHARE * (1 + SHARE) / 2) / 2)


def test_a_node_that_was_faster_before_it_fell_than_at_first_is_without_credits() -> None:
    assert pace({"one": windows(*[0.4] * 3, *[1.0] * 4, *[SHARE] * 3)}).spent == {"one"}


def test_a_node_s_first_windows_tell_its_full_speed_where_nothing_else_does() -> None:
    assert pace({"one": windows(1.0, 1.0, 0.5, SHARE, SHARE)}).spent == {"one"}
    assert pace({"one": windows(SHARE, SHARE, 0.5, 1.0, 1.0)}).spent == frozenset()


def test_a_slow_window_among_fast_ones_is_no_end_of_credits() -> None:
    found = pace({"one": windows(1.0, SHARE, 1.0, 1.0, SHARE)}, full_tokens_per_s={"t2.large": 1.0})
    assert found.spent == frozenset()
    assert [sample.log_speed for sample in found.windows["one"]] == [0.0] * 3


@pytest.mark.parametrize(("ago_s", "is_spent"), [(0.0, False), (239.0, False), (241.0, True)])
def test_a_balance_that_was_told_some_time_ago_is_spent_since(ago_s: float, is_spent: bool) -> None:
    """Seven credits last 300 s, of which the last 60 count for nothing."""
    told = {"one": Credits(7.0, 0.0, NOW - ago_s)}
    assert pace({"one": FELL}, credits=told).spent == ({"one"} if is_spent else frozenset())


def test_a_balance_that_lasts_for_as_long_as_counts_for_nothing_is_none() -> None:
    """With a baseline of a half, two vCPUs spend a credit a minute."""
    told = {"one": Credits(2.0, 0.0, NOW - (120.0 - NO_CREDITS_S))}
    assert pace({"one": FELL}, replace(T2, baseline_share=0.5), credits=told).spent == {"one"}


def test_of_a_flavor_without_known_vcpus_any_balance_counts() -> None:
    unknown = replace(T2, vcpus=None)
    assert pace({"one": FELL}, unknown, balance=0.1).spent == frozenset()
    assert pace({"one": FELL}, unknown, balance=0.0).spent == {"one"}


# How long credits last


@pytest.mark.parametrize(
    ("flavor", "known", "left_s", "fresh_s"),
    [
        (T2, {}, FRESH_S - 600.0, FRESH_S),
        (replace(T2, launch_credits=None), {}, 0.0, 0.0),
        (replace(T2, vcpus=None), {}, 0.0, 0.0),
        (T2, {"began_at": {}}, FRESH_S, FRESH_S),
        (T2, {"began_at": {"one": NOW - FRESH_S - 1.0}}, 0.0, FRESH_S),
        (T2, {"began_at": {"one": NOW - FRESH_S + 0.5}}, 0.5, FRESH_S),
        (T2, {"seen_at": {"one": BEGAN + 60.0}}, FRESH_S - 60.0, FRESH_S),
        (T2, {"balance": 7.0}, 300.0, FRESH_S),
        (T2, {"balance": 0.0}, 0.0, FRESH_S),
        (T2, {"credits": {"one": Credits(7.0, 0.0, NOW - 100.0)}}, 200.0, FRESH_S),
        (T2, {"credits": {"one": Credits(7.0, 0.0, NOW - 400.0)}}, 0.0, FRESH_S),
        (T2, {"credits": {"another": Credits(7.0, 0.0, NOW)}}, FRESH_S - 600.0, FRESH_S),
        (replace(T2, vcpus=None), {"balance": 7.0}, 0.0, 0.0),
    ],
    ids=[
        "began with launch credits",
        "launch credits unknown",
        "vcpus unknown",
        "beginning unknown",
        "launch credits are over",
        "launch credits are nearly over",
        "seen last long ago",
        "balance told",
        "no balance",
        "balance told some time ago",
        "balance told long ago",
        "balance of another node",
        "balance told, vcpus unknown",
    ],
)
def test_credits_last_from_what_was_told_of_them_or_from_the_launch(
    flavor: Flavor, known: dict[str, Any], left_s: float, fresh_s: float
) -> None:
    found = pace({"one": FULL}, flavor, **known)
    assert found.left_s == {"one": pytest.approx(left_s)}
    assert found.fresh_s == pytest.approx(fresh_s)
    note = CreditsLast(pytest.approx(left_s), SHARE) if left_s else JudgedByBaseline(SHARE)  # type: ignore[arg-type]
    assert found.notes == (note,)


def test_new_nodes_run_at_full_speed_no_longer_than_those_that_were_seen_to_fall() -> None:
    """Launch credits for 43 minutes are expected, and two nodes fell four minutes after they began."""
    found = pace({"a": FELL, "b": FELL, "new": FULL}, began_at={"a": BEGAN, "b": BEGAN, "new": NOW - 100.0})
    assert found.spent == {"a", "b"}
    assert found.fresh_s == 240.0
    assert found.left_s == {"a": 0.0, "b": 0.0, "new": 140.0}


def test_as_many_nodes_that_outlast_those_that_fell_tell_that_launch_credits_last() -> None:
    found = pace({"a": FELL, "b": FULL})
    assert (found.spent, found.fresh_s) == ({"a"}, pytest.approx(FRESH_S))
    assert pace({"a": FELL, "b": FELL, "c": FULL}).fresh_s == 240.0
    assert pace({"a": FELL, "b": FELL, "c": FULL}).left_s["c"] == pytest.approx(FRESH_S - 600.0)


@pytest.mark.parametrize(
    ("told", "fresh_s"),
    [
        ([Credits(21.0, 0.0, BEGAN + 100.0)], 1000.0),
        ([Credits(21.0, 0.0, BEGAN + 100.0), Credits(7.0, 0.0, BEGAN + 700.0)], 1000.0),
        ([Credits(70.0, 0.0, BEGAN + 100.0)], FRESH_S),
        ([], FRESH_S),
    ],
    ids=["900 s left after 100 s", "all used up to the same", "more than was given", "nothing told"],
)
def test_a_balance_tells_how_long_credits_last_from_the_beginning_of_a_node(
    told: Sequence[Credits], fresh_s: float
) -> None:
    """Also of a node that has ended: new ones are launched like it."""
    gone: dict[str, Any] = {"seen_at": {"gone": 1200.0}, "since": 1300.0}
    assert pace({"gone": FULL}, told={"gone": told}, **gone).fresh_s == pytest.approx(fresh_s)
    assert pace({"gone": FULL}, told={"gone": told}, began_at={}, **gone).fresh_s == pytest.approx(FRESH_S)


def test_all_that_was_told_of_a_node_is_kept_once() -> None:
    first, second = Credits(9.0, 0.0, 10.0), Credits(8.0, 0.0, 20.0)
    looks = [Observation(at, Fleet({}), credits={"one": told}) for at, told in ((11, first), (12, first), (21, second))]
    assert told_of(looks) == {"one": [first, second]}


def test_a_fall_later_than_the_launch_credits_should_last_makes_them_no_longer() -> None:
    assert pace({"one": FELL}, replace(T2, launch_credits=1.0)).fresh_s == pytest.approx(FULL_SPEED_S)
    assert pace({"one": FELL}, began_at={}).fresh_s == pytest.approx(FRESH_S), "nobody knows after how long it fell"


def test_the_note_tells_of_the_credits_that_last_longest_and_of_none_where_all_are_spent() -> None:
    later = {"old": BEGAN, "new": BEGAN + 500.0}
    longest = CreditsLast(pytest.approx(FRESH_S - 100.0), SHARE)  # type: ignore[arg-type]
    assert pace({"old": FULL, "new": FULL}, began_at=later).notes == (longest,)
    assert pace({"old": FELL, "new": FULL}, began_at=later).notes == (CreditsLast(240.0 - 100.0, SHARE),)
    assert pace({"old": FELL, "new": FELL}, began_at=later).notes == (CreditsSpent(),)


def test_credits_of_nodes_that_have_ended_are_left_out() -> None:
    """Their windows still tell of the speed without credits."""
    ended: dict[str, Any] = {"seen_at": {"gone": 1200.0}, "since": 1300.0}
    alone = pace({"gone": FULL}, **ended)
    assert (alone.left_s, alone.notes) == ({}, (JudgedByBaseline(SHARE),))
    found = pace({"gone": FELL, "runs": FULL}, **ended)
    assert ({*found.spent}, {*found.left_s}) == ({"gone"}, {"runs"})
    assert found.spent_level == pytest.approx(math.log(SHARE))


@pytest.mark.parametrize(
    ("worked_s", "flavor", "known", "keeps"),
    [
        (OUTLASTS * FRESH_S + 1.0, T2, {}, True),
        (OUTLASTS * FRESH_S, T2, {}, False),
        (OUTLASTS * FRESH_S + 1.0, T2, {"balance": 0.0}, False),
        (OUTLASTS * FRESH_S + 1.0, T2, {"began_at": {}}, False),
        (OUTLASTS * FRESH_S + 1.0, replace(T2, launch_credits=None), {}, False),
        (100.0, replace(T2, launch_credits=0.01), {}, True),
    ],
    ids=["long after", "not yet", "balance told", "beginning unknown", "launch credits unknown", "hardly any credits"],
)
def test_nodes_that_keep_their_speed_long_after_their_credits_should_be_spent_need_none(
    worked_s: float, flavor: Flavor, known: dict[str, Any], keeps: bool
) -> None:
    nodes = {"one": windows(*[1.0] * 6, first_at=-1.0)}
    found = pace(nodes, flavor, **{"now": worked_s, "began_at": {"one": 0.0}, **known})
    assert (found == Pace(notes=(KeepsItsSpeed(),))) is keeps
    fallen = pace({**nodes, "two": FELL}, flavor, now=worked_s, began_at={"one": 0.0})
    assert fallen.spent == {"two"}, "where one fell, the credits count"


@pytest.mark.parametrize(("first_at", "keeps"), [(BEGAN + FRESH_S - 1.0, True), (BEGAN + FRESH_S, False)])
def test_a_node_keeps_no_speed_that_it_was_not_seen_to_have_on_its_credits(first_at: float, keeps: bool) -> None:
    """What was slow before the first window that is kept looks like full speed."""
    found = pace({"one": windows(*[1.0] * 6, first_at=first_at)}, now=BEGAN + 4 * FRESH_S)
    assert (found.notes == (KeepsItsSpeed(),)) is keeps


# A flavor in unlimited mode


def test_in_unlimited_mode_no_node_slows_down_and_a_surplus_that_is_paid_for_is_told() -> None:
    unlimited = replace(T2, is_unlimited=True, surplus_usd_per_vcpu_hour=0.05)
    assert pace({"one": FELL}, unlimited) == Pace(notes=(PaysForSurplus(pytest.approx(0.07)),))  # type: ignore[arg-type]
    assert pace({"one": FELL}, replace(unlimited, surplus_usd_per_vcpu_hour=0.0)) == Pace()


# A flavor of whose baseline nothing is known


def test_nodes_that_fell_tell_how_long_the_others_keep_their_speed() -> None:
    """Two nodes fell three minutes after they began. One began two minutes ago, one has ended."""
    nodes = {"a": FELL, "b": windows(1.0, 1.0, 1.0, 0.4, 0.4, 0.4), "new": FULL, "gone": FULL}
    began = {"a": BEGAN, "b": BEGAN, "new": NOW - 120.0}
    found = pace(nodes, UNKNOWN, began_at=began, seen_at={"gone": 1100.0}, since=1300.0)
    share = math.sqrt(0.3 * 0.4)
    assert found.spent == {"a", "b"}
    assert found.lasting_share == pytest.approx(share)
    assert found.spent_level == pytest.approx(math.log(share))
    assert found.left_s == {"a": 0.0, "b": 0.0, "new": 240.0 - 120.0}
    assert found.notes == (FellForGood(("a", "b"), pytest.approx(share), 2),)  # type: ignore[arg-type]


def test_a_node_that_fell_sooner_than_others_has_nothing_left() -> None:
    began = {"a": BEGAN, "b": BEGAN, "sooner": BEGAN + 200.0}
    found = pace(dict.fromkeys(began, FELL), UNKNOWN, began_at=began, now=BEGAN + 380.0)
    assert found.left_s == dict.fromkeys(began, 0.0)


@pytest.mark.parametrize(("flavor", "fresh_s"), [(UNKNOWN, 0.0), (None, 0.0), (BURSTABLE, 240.0)])
def test_new_nodes_begin_at_full_speed_only_where_the_flavor_has_credits(flavor: Flavor | None, fresh_s: float) -> None:
    assert pace({"one": FELL}, flavor).fresh_s == fresh_s


@pytest.mark.parametrize(
    ("flavor", "others", "worked_s", "is_expected"),
    [
        (BURSTABLE, 0, 0.0, True),
        (BURSTABLE, 1, FOLLOWS_WITHIN * 240.0, True),
        (BURSTABLE, 1, FOLLOWS_WITHIN * 240.0 + 1.0, False),
        (BURSTABLE, 1, 1e6, False),
        (BURSTABLE, 2, 1.0, True),
        (BURSTABLE, 7, 240.0, True),
        (BURSTABLE, 8, 240.0, False),
        (BURSTABLE, 30, 160.0, True),
        (BURSTABLE, 1, 288.0, True),
        (BURSTABLE, 2, 288.0, False),
        (UNKNOWN, 0, 0.0, True),
        (UNKNOWN, 2, 240.0, True),
        (UNKNOWN, 3, 240.0, False),
        (UNKNOWN, 30, 160.0, True),
        (UNKNOWN, 1, 268.0, True),
        (UNKNOWN, 1, 269.0, False),
    ],
)
def test_a_fall_is_one_node_s_own_where_enough_nodes_have_not_followed_in_time(
    flavor: Flavor, others: int, worked_s: float, is_expected: bool
) -> None:
    """One fell after 240 s. Others that have worked as long, or longer, speak against it the more, the longer.

    Fewer do where nobody knows of credits.
    """
    nodes = {"fell": FELL, **{f"other {number}": FULL for number in range(others)}}
    began = {**dict.fromkeys(nodes, NOW - worked_s), "fell": BEGAN}
    found = pace(nodes, flavor, began_at=began)
    assert (found != Pace()) is is_expected
    assert found.spent == ({"fell"} if is_expected else frozenset())


def test_a_majority_that_fell_tells_of_the_one_that_did_not() -> None:
    found = pace({"a": FELL, "b": FELL, "stays": FULL}, UNKNOWN)
    assert found.spent == {"a", "b"}
    assert found.left_s["stays"] == 0.0


def test_a_fall_at_an_unknown_age_or_before_the_beginning_says_that_new_nodes_are_slow_at_once() -> None:
    for began_at in ({}, {"one": NOW}):
        found = pace({"one": FELL}, BURSTABLE, began_at=began_at)
        assert ({*found.spent}, found.fresh_s) == ({"one"}, 0.0)


def test_where_nobody_fell_nothing_is_expected() -> None:
    assert pace({"one": FULL}, UNKNOWN) == pace({"one": SLOW}, None) == Pace()


def test_nodes_that_fall_together_are_seen_sooner_than_one_alone() -> None:
    one = windows(1.0, 1.0, 1.0, 1.0, SHARE)
    together = pace({"a": one, "b": one, "c": one}, UNKNOWN)
    assert together.spent == {"a", "b", "c"}
    assert pace({"a": one}, UNKNOWN) == Pace()
