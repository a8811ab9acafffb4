"""Which remedies count as tried, how long each is given, and which comes next."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.decide.health.remedies import MEMORY_S, MOST_REPLACED, Tried, dropped
from controller.domain.health import HealthLimits, Remedy, RemedyKind
from controller.domain.reasons.health import LauncherDied

WHY = LauncherDied(70.0)
NOW = 100_000.0
LIMITS = HealthLimits(
    stall_s=10.0, finish_s=10.0, head_s=10.0, remedy_s=300.0, rank_s=10.0, silent_s=10.0, service_s=10.0, tries=2
)
DROP, RESTART, REPLACE, REBOOT, END = (
    RemedyKind.DROP_RANK,
    RemedyKind.RESTART_LAUNCHER,
    RemedyKind.REPLACE_NODE,
    RemedyKind.REBOOT_HEAD,
    RemedyKind.END_TRAINING,
)


def ago(kind: RemedyKind, seconds: float, node: str | None = None) -> Remedy:
    return Remedy(kind, NOW - seconds, WHY, node)


def tried(*remedies: Remedy) -> Tried:
    return Tried.of(remedies, NOW, LIMITS)


@pytest.mark.parametrize(
    ("limits", "memory_s"),
    [
        ({"remedy_s": 10.0}, MEMORY_S),
        ({"stall_s": 2000.0}, 8000.0),
        ({"head_s": 2000.0}, 8000.0),
        ({"remedy_s": 2000.0}, 8000.0),
        ({"finish_s": 2000.0}, 8000.0),
        ({"finish_s": 2000.0, "tries": 5}, 14_000.0),
    ],
)
def test_a_remedy_counts_for_an_hour_or_until_all_tries_are_over(limits: dict[str, float], memory_s: float) -> None:
    ages = (-1.0, 0.0, memory_s - 1.0, memory_s)
    kept = Tried.of([ago(RESTART, age) for age in ages], NOW, replace(LIMITS, **limits)).remedies  # type: ignore[arg-type]
    assert [NOW - remedy.at for remedy in kept] == [0.0, memory_s - 1.0]


@pytest.mark.parametrize(
    ("ages", "remedy"),
    [
        ((), RESTART),
        ((49.0,), None),
        ((50.0,), RESTART),
        ((500.0, 49.0), None),
        ((49.0, 500.0), None),
        ((500.0, 50.0), END),
        ((900.0, 500.0, 50.0), END),
    ],
)
def test_a_remedy_is_repeated_until_it_was_tried_often_enough(
    ages: tuple[float, ...], remedy: RemedyKind | None
) -> None:
    """Each try is given 50 s. Remedies of other kinds count for nothing."""
    found = tried(ago(REBOOT, 1.0), ago(REBOOT, 2.0), *(ago(RESTART, age) for age in ages))
    assert found.repeated(RESTART, 50.0) is remedy


def test_the_kinds_that_were_tried_are_told_oldest_first() -> None:
    one = tried(ago(REBOOT, 5.0), ago(DROP, 8.0, "i-1"), ago(RESTART, 9.0))
    assert one.kinds(RESTART, REBOOT) == ("restart_launcher", "reboot_head")
    assert one.kinds(DROP) == ("drop_rank",)
    assert one.kinds() == ()


def test_the_last_remedy_is_the_youngest_of_its_kind_and_node() -> None:
    wanted = ago(DROP, 20.0, "i-1")
    one = tried(wanted, ago(DROP, 30.0, "i-1"), ago(DROP, 10.0, "i-2"), ago(REPLACE, 5.0, "i-1"))
    assert one.last("i-1", DROP) == wanted
    assert one.last("i-3", DROP) is None
    assert one.last("i-2", REPLACE) is None


@pytest.mark.parametrize(("age_s", "is_recent"), [(0.0, True), (299.0, True), (300.0, False)])
def test_a_node_that_was_dropped_has_time_to_leave(age_s: float, is_recent: bool) -> None:
    one = tried(ago(DROP, age_s, "i-1"))
    assert one.is_dropping("i-1") is one.is_dropping() is is_recent
    assert one.drop("i-1") is (None if is_recent else DROP)
    assert one.replace("i-1") is (None if is_recent else REPLACE)
    assert (one.is_dropping("i-2"), one.drop("i-2"), one.replace("i-2")) == (False, DROP, REPLACE)


def test_only_a_drop_makes_a_node_leave() -> None:
    one = tried(ago(RESTART, 0.0), ago(REPLACE, 0.0, "i-1"))
    assert not one.is_dropping() and not one.is_dropping("i-1")
    assert tried().drop("i-1") is DROP


@pytest.mark.parametrize(("age_s", "remedy"), [(0.0, None), (299.0, None), (300.0, REPLACE)])
def test_a_node_that_is_being_replaced_is_not_replaced_again_at_once(age_s: float, remedy: RemedyKind | None) -> None:
    assert tried(ago(REPLACE, age_s, "i-1")).replace("i-1") is remedy
    assert tried(ago(REPLACE, age_s, "i-2")).replace("i-1") is REPLACE


def test_so_many_nodes_are_replaced_and_no_more() -> None:
    others = [ago(REPLACE, 400.0 + n, f"i-{n}") for n in range(MOST_REPLACED)]
    assert tried(*others[1:]).replace("i-new") is REPLACE
    assert tried(*others).replace("i-new") is None
    assert tried(*others).replace("i-0") is REPLACE, "it is one of them"
    assert tried(*others[1:], *others[1:], ago(DROP, 400.0, "i-9")).replace("i-new") is REPLACE, "each counts once"


def test_one_more_remedy_is_counted_after_the_others() -> None:
    first, second = ago(REBOOT, 5.0), ago(DROP, 0.0, "i-1")
    assert tried(first).and_also(second) == tried(first, second)


def test_nodes_that_were_dropped_are_named_and_no_others() -> None:
    remedies = (ago(DROP, 500.0, "i-1"), ago(REPLACE, 5.0, "i-2"), ago(DROP, 1e5, "i-3"), ago(RESTART, 5.0))
    assert dropped(remedies, NOW, LIMITS) == {"i-1"}
