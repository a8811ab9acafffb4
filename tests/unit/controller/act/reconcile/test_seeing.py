"""What one pass sees of a node: how far it is, and what is known of it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.act.reconcile.seeing import see
from controller.act.reconcile.seen import Seen, SeenNode, Standing
from controller.domain import (
    Fact,
    Fleet,
    HeadSeen,
    Instance,
    LauncherState,
    NodeSeen,
    NoticeKind,
    Observation,
    TrainingState,
    WorkerState,
)

NOW = 1000.0
WRITTEN_AT = 990.0
FLEET = Fleet({"c5.large": 1})
WORKER = Instance("i-1", "c5.large", "worker", "running", "10.0.0.1", launched_at=900.0)
FACT = Fact("i-1", "c5.large", 3, 2, TrainingState.TRAINING, 100, 0.2, 0.1, 8.0, 100.0, 50, NOW)
HEAD = HeadSeen(LauncherState.RUNNING, frozenset({"10.0.0.1", "10.0.0.2"}), WRITTEN_AT)


def look(
    worker: WorkerState | None = WorkerState.WARM, fact: Fact | None = FACT, head: HeadSeen | None = HEAD
) -> Observation:
    """Returns a look at one worker; None: it does not answer, or says nothing."""
    return Observation(
        NOW,
        FLEET,
        () if fact is None else (fact,),
        head=head,
        nodes=() if worker is None else (NodeSeen("i-1", worker),),
        silent={"i-1": "no route"} if worker is None else {},
    )


def seen(observation: Observation, **options: object) -> Seen:
    return see([WORKER], observation, **{"capacity": FLEET, "drain_s": 10.0, **options})  # type: ignore[arg-type]


def node(observation: Observation, **options: object) -> SeenNode:
    return seen(observation, **options).nodes[0]


def test_a_worker_is_seen_with_its_rank_its_place_in_the_hosts_file_and_when_it_was_launched() -> None:
    assert node(look()) == SeenNode("i-1", "c5.large", Standing.TRAINS, is_member=True, rank=3, launched_at=900.0)


def test_a_worker_that_the_hosts_file_does_not_name_takes_no_part() -> None:
    assert not node(look(head=replace(HEAD, hosts=frozenset({"10.0.0.2"})))).is_member


def test_a_worker_without_a_fact_has_no_rank() -> None:
    assert node(look(fact=None)) == SeenNode("i-1", "c5.large", Standing.WARM, is_member=True, launched_at=900.0)


def test_the_nodes_to_lose_and_those_that_were_taken_out_are_told_apart() -> None:
    assert (node(look(), bad=["i-1"]).leaves_first, node(look(), bad=["i-1"]).is_dropped) == (True, False)
    assert (node(look(), dropped=["i-1"]).leaves_first, node(look(), dropped=["i-1"]).is_dropped) == (False, True)
    assert (node(look()).leaves_first, node(look()).is_dropped) == (False, False)


def test_the_capacity_and_the_launcher_are_seen_as_they_are() -> None:
    assert (seen(look()).capacity, seen(look(), capacity=None).capacity) == (FLEET, None)
    for launcher in LauncherState:
        assert seen(look(head=replace(HEAD, launcher=launcher))).launcher is launcher


def test_a_launcher_counts_as_ended_once_the_training_has() -> None:
    assert seen(look(), has_ended=True).launcher is LauncherState.ENDED
    assert seen(look(head=None), has_ended=True).launcher is None


def test_a_head_that_does_not_answer_leaves_launcher_and_members_unknown() -> None:
    found = seen(look(head=None))
    assert (found.launcher, found.hosts, found.is_hosts_file_old) == (None, 0, False)
    assert not found.nodes[0].is_member


def test_the_hosts_files_nodes_count_whether_they_live_or_not() -> None:
    assert seen(look()).hosts == 2
    assert seen(look(head=replace(HEAD, hosts=None))).hosts == 0


@pytest.mark.parametrize(
    ("written_at", "is_old"), [(NOW - 10.1, True), (NOW - 10.0, True), (NOW - 9.9, False), (None, False)]
)
def test_a_hosts_file_is_old_once_it_has_had_its_time(written_at: float | None, is_old: bool) -> None:
    assert seen(look(head=replace(HEAD, hosts_written_at=written_at))).is_hosts_file_old is is_old


# how far a node is


def test_an_instance_that_does_not_run_is_pending() -> None:
    found = see([replace(WORKER, state="pending")], look(), capacity=FLEET, drain_s=10.0)
    assert found.nodes[0].standing is Standing.PENDING


def test_a_node_that_does_not_answer_is_silent_and_what_ssh_said_is_kept() -> None:
    silent = node(look(worker=None, fact=None))
    assert (silent.standing, silent.said) == (Standing.SILENT, "no route")


def test_a_node_that_is_left_alone_counts_as_silent_whatever_it_shows() -> None:
    alone = node(look(fact=None), aside={"i-1": "could not be configured"})
    assert (alone.standing, alone.said) == (Standing.SILENT, "could not be configured")
    assert node(look(fact=None), aside={"i-9": "another node"}).standing is Standing.WARM


@pytest.mark.parametrize("worker", [WorkerState.ABSENT, WorkerState.LEFT, WorkerState.DEAD])
@pytest.mark.parametrize(
    ("state", "standing"),
    [
        (TrainingState.FINISHED, Standing.ENDED),
        (TrainingState.INTERRUPTED, Standing.ENDED),
        (TrainingState.TRAINING, Standing.COLD),
        (TrainingState.FAILED, Standing.COLD),
        (None, Standing.COLD),
    ],
)
def test_a_worker_out_of_service_is_cold_unless_its_rank_saw_the_end(
    worker: WorkerState, state: TrainingState | None, standing: Standing
) -> None:
    assert node(look(worker, None if state is None else replace(FACT, state=state))).standing is standing


def test_a_worker_without_a_rank_is_starting_or_warm() -> None:
    assert node(look(WorkerState.STARTING, None)).standing is Standing.STARTING
    assert node(look(WorkerState.WARM, None)).standing is Standing.WARM


def test_a_rank_trains_together_in_a_world_of_the_hosts_files_size() -> None:
    assert node(look()).standing is Standing.TRAINS
    assert node(look(fact=replace(FACT, world_size=3))).standing is Standing.TRAINS_OTHERWISE


@pytest.mark.parametrize(
    ("updated_at", "standing"),
    [
        (WRITTEN_AT, Standing.TRAINS),
        (WRITTEN_AT + 0.1, Standing.TRAINS),
        (WRITTEN_AT - 0.1, Standing.TRAINS_OTHERWISE),
    ],
)
def test_a_fact_that_is_older_than_the_hosts_file_shows_no_training_together(
    updated_at: float, standing: Standing
) -> None:
    assert node(look(fact=replace(FACT, updated_at=updated_at))).standing is standing


def test_where_it_is_not_known_when_the_hosts_file_was_written_every_fact_counts() -> None:
    head = replace(HEAD, hosts_written_at=None)
    assert node(look(fact=replace(FACT, updated_at=0.0), head=head)).standing is Standing.TRAINS


def test_a_rank_trains_otherwise_where_the_head_does_not_answer() -> None:
    assert node(look(head=None)).standing is Standing.TRAINS_OTHERWISE


def test_a_rank_that_failed_since_the_hosts_file_was_written_has_failed_and_says_why() -> None:
    failed = replace(FACT, state=TrainingState.FAILED, reason="out of memory")
    assert (node(look(fact=failed)).standing, node(look(fact=failed)).said) == (Standing.FAILED, "out of memory")
    before = replace(failed, updated_at=WRITTEN_AT - 0.1)
    assert node(look(fact=before)).standing is Standing.WARM, "the hosts file gave it another chance"
    stranger = replace(HEAD, hosts=frozenset({"10.0.0.2"}))
    assert node(look(fact=failed, head=stranger)).standing is Standing.WARM, "it takes no part"


@pytest.mark.parametrize(
    ("kind", "fact", "worker", "is_dropped"),
    [
        (NoticeKind.INTERRUPTION, FACT, WorkerState.WARM, False),
        (NoticeKind.INTERRUPTION, None, WorkerState.LEFT, True),
        (NoticeKind.INTERRUPTION, None, WorkerState.WARM, False),
        (NoticeKind.INTERRUPTION, None, WorkerState.STARTING, False),
        (NoticeKind.INTERRUPTION, None, None, False),
        (NoticeKind.REBALANCE, FACT, WorkerState.WARM, False),
        (NoticeKind.REBALANCE, None, WorkerState.WARM, False),
    ],
)
def test_a_node_that_is_taken_back_takes_no_part_once_its_rank_has_left(
    kind: NoticeKind, fact: Fact | None, worker: WorkerState | None, is_dropped: bool
) -> None:
    found = node(look(worker, fact), noticed={"i-1": kind})
    assert (found.is_doomed, found.is_dropped) == (True, is_dropped)
