"""How long each wait is worth it, to the second, and what is blamed when it is not any more."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from controller.act.reconcile.actions import Awaited, Wait
from controller.act.reconcile.patience import MoveLimits, Times, given_up
from controller.act.reconcile.seen import Seen, SeenNode, Standing
from controller.domain import Fleet, LauncherState
from controller.domain.errors import CapacityUnavailableError, CentavoError, HeadError, NodesError
from controller.domain.reasons.moving import DidNotJoin, NoAnswer, NoCapacity, NotRunning, RankFailed
from controller.words.reasons.sentences import as_sentence

LIMITS = MoveLimits(boot_s=30.0, configure_s=40.0, join_s=20.0, drain_s=10.0, poll_s=1.0)
SINCE = 1000.0
LATE = SeenNode("i-1", "a", Standing.SILENT, launched_at=SINCE + 5, said="no route")
RUNNING = Wait(Awaited.RUNNING, missing=Fleet({"a": 1, "b": 0, "c": 2}))
TRAINING = Wait(Awaited.TRAINING, ("i-1", "i-2"))


def tried(
    wait: Wait,
    after_s: float,
    *nodes: SeenNode,
    written_at: float | None = None,
    refused: Mapping[str, str] | None = None,
) -> CentavoError | None:
    """Returns what a wait is given up for, so many seconds after the goal is wanted."""
    seen = Seen(nodes, LauncherState.RUNNING)
    return given_up(wait, seen, Times(SINCE + after_s, SINCE, written_at), LIMITS, refused)


def assert_tells(error: CentavoError | None) -> None:
    """Asserts that an error says in words what its reason says, and what to look at."""
    assert error is not None
    assert error.what == as_sentence(error.reason)
    assert "`centavo status`" in error.next_step


# a head that does not answer


@pytest.mark.parametrize(("after_s", "is_given_up"), [(29.9, False), (30.0, True)])
def test_a_head_may_be_silent_for_the_time_of_a_boot(after_s: float, is_given_up: bool) -> None:
    error = tried(Wait(Awaited.HEAD), after_s)
    assert isinstance(error, HeadError) is is_given_up
    if is_given_up:
        assert_tells(error)
        assert error is not None and error.reason == NoAnswer({"the head": "no answer"}, 30.0)


@pytest.mark.parametrize("awaited", [Awaited.LEAVING, Awaited.ENDING])
def test_nothing_else_is_given_up(awaited: Awaited) -> None:
    assert tried(Wait(awaited, ("i-1",)), 1e6, LATE) is None


# nodes that do not answer


@pytest.mark.parametrize(("after_s", "is_given_up"), [(34.9, False), (35.0, True)])
def test_a_node_may_be_silent_for_the_time_of_a_boot_from_its_launch(after_s: float, is_given_up: bool) -> None:
    error = tried(Wait(Awaited.READY, ("i-1",)), after_s, LATE)
    assert isinstance(error, NodesError) is is_given_up
    if is_given_up:
        assert_tells(error)
        assert isinstance(error, NodesError) and error.flavors == ("a",)
        assert error.reason == NoAnswer({"i-1": "no route"}, 30.0)


@pytest.mark.parametrize("launched_at", [None, SINCE - 500])
def test_a_node_that_was_launched_before_the_goal_has_its_time_from_then_on(launched_at: float | None) -> None:
    early = SeenNode("i-1", "a", Standing.STARTING, launched_at=launched_at)
    wait = Wait(Awaited.READY, ("i-1",))
    assert tried(wait, 29.9, early) is None
    error = tried(wait, 30.0, early)
    assert error is not None and error.reason == NoAnswer({"i-1": "starting"}, 30.0)


def test_only_the_nodes_that_are_waited_for_are_given_up() -> None:
    other = SeenNode("i-2", "b", Standing.SILENT)
    error = tried(Wait(Awaited.READY, ("i-1",)), 40.0, LATE, other)
    assert error is not None and error.reason == NoAnswer({"i-1": "no route"}, 30.0)


# nodes that do not run


def test_what_ec2_refused_is_given_up_at_once_and_only_its_flavors_are_blamed() -> None:
    error = tried(RUNNING, 0.0, refused={"c": "no quota", "a": "no capacity", "b": "not missing"})
    assert isinstance(error, CapacityUnavailableError)
    assert error.flavors == ("a", "c")
    assert error.reason == NoCapacity({"c": "no quota", "a": "no capacity"})
    assert error.what == as_sentence(error.reason)


def test_nodes_may_take_the_time_of_a_boot_to_run() -> None:
    assert tried(RUNNING, 29.9) is None
    error = tried(RUNNING, 30.0)
    assert isinstance(error, NodesError) and error.flavors == ("a", "c")
    assert error.reason == NotRunning(RUNNING.missing, 30.0)
    assert_tells(error)


def test_a_node_that_is_missing_and_was_launched_late_is_given_its_own_time() -> None:
    booting = SeenNode("i-1", "a", Standing.PENDING, launched_at=SINCE + 20)
    assert tried(RUNNING, 49.9, booting) is None
    assert tried(RUNNING, 50.0, booting) is not None


@pytest.mark.parametrize(
    "other",
    [
        SeenNode("i-1", "b", Standing.PENDING, launched_at=SINCE + 20),
        SeenNode("i-1", "a", Standing.WARM, launched_at=SINCE + 20),
    ],
    ids=["a flavor that is not missing", "a node that runs"],
)
def test_other_nodes_give_no_time(other: SeenNode) -> None:
    assert tried(RUNNING, 30.0, other) is not None


# ranks that do not train


def test_a_rank_that_failed_is_not_waited_for_and_its_flavor_is_blamed() -> None:
    fine = SeenNode("i-1", "a", Standing.WARM)
    failed = SeenNode("i-2", "b", Standing.FAILED, said="out of memory")
    error = tried(TRAINING, 0.0, fine, failed)
    assert isinstance(error, NodesError) and error.flavors == ("b",)
    assert error.reason == RankFailed("i-2", "b", "out of memory")
    silent = tried(TRAINING, 0.0, SeenNode("i-2", "b", Standing.FAILED))
    assert silent is not None and silent.reason == RankFailed("i-2", "b", None)


@pytest.mark.parametrize(
    ("written_at", "limit_s"), [(None, 20.0), (SINCE - 100, 20.0), (SINCE + 7, 27.0)], ids=["unknown", "before", "then"]
)
def test_ranks_have_their_time_to_join_from_when_goal_and_hosts_file_are_there(
    written_at: float | None, limit_s: float
) -> None:
    nodes = (SeenNode("i-1", "b", Standing.WARM, is_member=True), SeenNode("i-2", "a", Standing.WARM))
    assert tried(TRAINING, limit_s - 0.1, *nodes, written_at=written_at) is None
    error = tried(TRAINING, limit_s, *nodes, written_at=written_at)
    assert isinstance(error, NodesError) and error.flavors == ("a", "b")
    assert error.reason == DidNotJoin({"i-1": "b", "i-2": "a"}, 1, 20.0)
