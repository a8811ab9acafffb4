"""The training: the launcher on the head, the ranks, their steps and their checkpoints."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.observed.nodes import LauncherState, WorkerState
from tests.unit.controller.world.groups import Groups
from tests.unit.controller.world.node import Node
from tests.unit.controller.world.times import iso

STEP_TOKENS = 600
REBOOT_S = 20.0
WARM_S = 5.0
SPOT_NOTICE_S = 120.0
SPOT_MARGIN_S = 40.0
"""How long before its end the rank of a node leaves that is taken back."""


@dataclass(kw_only=True)
class Training(Groups):
    """What the launcher and the ranks do by themselves.

    Attributes:
        commit_steps: A rank that is lost costs at most this many steps: the others go back to their last commit.
        checkpoint_steps: Where all ranks are lost, the training goes on from its last checkpoint.
        drops_hung_after_s: After how long the launcher drops a rank that does not vote.
        incidents: What ended ranks without notice: when, and how many steps it cost.
        is_checkpoint_asked: Whether a rank asks for a checkpoint.
        never_joins: Ids of the instances that never become ranks.
    """

    speeds: Mapping[str, float]
    total_steps: int = 400
    join_s: float = 2.0
    commit_steps: int = 5
    checkpoint_steps: int = 50
    drops_hung_after_s: float = 60.0
    step: float = 0.0
    checkpoint: int = 0
    restarts: int = 0
    never_joins: set[str] = field(default_factory=set)
    changes: list[dict[str, Any]] = field(default_factory=list)
    incidents: list[tuple[float, str, float]] = field(default_factory=list)
    max_world_size: int = 0
    is_checkpoint_asked: bool = False

    @property
    def hosts(self) -> list[str]:
        """The addresses in the head's hosts file."""
        return list(self.head.hosts or ())

    @property
    def is_started(self) -> bool:
        """Whether the launcher was started, and not stopped since."""
        return self.head.is_started

    @is_started.setter
    def is_started(self, value: bool) -> None:
        self.head.is_started = value
        if value:
            self.head.is_launcher_dead = False
        else:
            self._all_ranks_fail("the launcher was stopped", WorkerState.WARM)

    def set_hosts(self, addresses: list[str]) -> None:
        """Writes the head's hosts file. Refuses one that names no node which knows the parameters."""
        holders = [node.address for node in self.nodes if self.trains(node)]
        if holders and not set(holders) & set(addresses):
            self.violate(f"the hosts file {addresses} names none of those that know the parameters, {holders}")
        self.head.hosts, self.head.hosts_written_at = tuple(addresses), self.now
        self.max_world_size = max(self.max_world_size, len(addresses))

    def ranks(self) -> list[Node]:
        """Returns the nodes that train now, or that trained to the end."""
        return [node for node in self.nodes if node.is_rank]

    def launcher_state(self) -> LauncherState:
        """Returns what the head's supervisor says of the launcher."""
        if not self.is_started:
            return LauncherState.ABSENT
        if self.outcome:
            return LauncherState.ENDED
        return LauncherState.DEAD if self.head.is_launcher_dead else LauncherState.RUNNING

    def step_s(self) -> float:
        """Returns the seconds of a step with batches in proportion to speed."""
        return STEP_TOKENS / sum(self.speeds[node.flavor] for node in self.ranks())

    @abstractmethod
    def put(self, name: str) -> bool:
        """Stores something in S3. Returns whether it succeeded."""

    # what goes wrong by itself

    def rank_fails(self, node: Node) -> None:
        """Ends the rank of a node without notice: the others go back to the last commit."""
        if not self.trains(node):
            node.stop_training(node.service)
            return
        size = len(self.ranks())
        node.stop_training(WorkerState.DEAD)
        if size > 1:
            self._lose_steps(f"{node.instance_id} failed", self.step % self.commit_steps)
            self._note_change(size, size - 1, lost=True)

    def reboot(self, node: Node) -> None:
        """Reboots a worker. Its service comes up by itself."""
        self.rank_fails(node)
        node.back_at, node.service, node.is_frozen = self.now + REBOOT_S, WorkerState.ABSENT, False

    def reboot_head(self) -> None:
        """Reboots the head. The launcher goes on from the last checkpoint by itself."""
        self._all_ranks_fail("the head rebooted", WorkerState.STARTING)
        self.head.back_at, self.head.is_frozen = self.now + REBOOT_S, False

    def lose_head(self) -> None:
        """Loses the head, as by a failure of its machine."""
        self._all_ranks_fail("the head was lost", WorkerState.STARTING)
        self.head.is_lost = True

    def kill_launcher(self, *, comes_back: bool) -> None:
        """Kills the launcher, and with it all ranks. The supervisor starts it again, or has given up."""
        if not self.head.is_launching:
            return
        self._all_ranks_fail("the launcher was killed", WorkerState.STARTING)
        self.head.is_launcher_dead = not comes_back
        self.head.launcher_back_at = self.now + WARM_S if comes_back else None

    def interrupt(self, node: Node) -> None:
        """Gives a node the notice that EC2 takes it back. Its rank asks for a checkpoint, and leaves in time."""
        node.ends_at = self.now + SPOT_NOTICE_S
        node.leaves_at = node.ends_at - SPOT_MARGIN_S
        node.notice = {"kind": "interruption", "seen_at": iso(self.now), "ends_at": iso(node.ends_at)}
        self.is_checkpoint_asked = True

    def recommend(self, node: Node) -> None:
        """Lets EC2 recommend to replace a node."""
        node.notice = {"kind": "rebalance", "seen_at": iso(self.now), "ends_at": None}

    def _keep_checkpoint(self) -> None:
        self.is_checkpoint_asked = False
        if self.ranks() and not self.outcome:
            self.checkpoint = int(self.step) if self.put("s3-put") else self.checkpoint

    def _leave_in_time(self) -> None:
        """Lets the ranks leave whose nodes are about to be taken back, after a checkpoint."""
        leaving = [node for node in self.ranks() if node.leaves_at is not None and self.now >= node.leaves_at]
        if not leaving or self.outcome:
            return
        size = len(self.ranks())
        self._keep_checkpoint()
        for node in leaving:
            node.stop_training(WorkerState.LEFT)
        if size > len(leaving):
            self._note_change(size, size - len(leaving))

    # time

    def _train(self, seconds: float) -> None:
        self._recover()
        if not self.head.is_launching or self.outcome:
            return
        self._drop_hung()
        if self.is_checkpoint_asked:
            self._keep_checkpoint()
        self._leave_in_time()
        self._let_go()
        self._let_in()
        ranks = self.ranks()
        if not ranks or any(node.is_hung for node in ranks):
            return
        self.step += seconds / self.step_s()
        if self.step >= self.checkpoint + self.checkpoint_steps:
            reached = int(self.step)
            self.checkpoint = reached if self.put("s3-put") else self.checkpoint
        if self.step >= self.total_steps:
            self.outcome = "finished"
            for node in ranks:
                node.service = WorkerState.LEFT

    def _recover(self) -> None:
        """Brings up what rebooted or was killed and comes back by itself."""
        head = self.head
        if head.back_at is not None and self.now >= head.back_at:
            head.back_at, head.is_launcher_dead = None, False
        if head.launcher_back_at is not None and self.now >= head.launcher_back_at:
            head.launcher_back_at = None
        for node in self.nodes:
            if node.back_at is not None and self.now >= node.back_at:
                node.back_at = None
                node.start_service(self.now + WARM_S)
            if node.service is WorkerState.STARTING and self.now >= node.warm_at:
                node.service = WorkerState.WARM

    def _drop_hung(self) -> None:
        for node in self.ranks():
            if node.is_cut_off:
                self.rank_fails(node)
                node.service = WorkerState.WARM
            elif node.is_hung:
                node.hung_since = self.now if node.hung_since is None else node.hung_since
                if self.now - node.hung_since >= self.drops_hung_after_s and len(self.ranks()) > 1:
                    self.rank_fails(node)

    def _let_go(self) -> None:
        """Lets the ranks leave that the hosts file names no more. The last ones that know the parameters stay."""
        ranks = self.ranks()
        leaving = [node for node in ranks if node.address not in self.hosts]
        if not leaving or len(leaving) == len(ranks):
            return
        for node in leaving:
            node.stop_training(WorkerState.LEFT)
        self._note_change(len(ranks), len(ranks) - len(leaving))

    def _let_in(self) -> None:
        """Lets the nodes in that the hosts file names and that are warm."""
        before, hosts = self.ranks(), self.hosts
        for node in self.nodes:
            is_offered = node.address in hosts and node.is_usable and node.instance_id not in self.never_joins
            if not is_offered and not node.is_rank:
                node.joined_at = None
            elif node.joined_at is None:
                node.joined_at = self.now
        joining = [
            node
            for node in self.nodes
            if not node.is_rank and node.joined_at is not None and self.now >= node.joined_at + self.join_s
        ]
        if not joining:
            return
        if not before:
            self._resume()
        for node in joining:
            node.is_rank = True
        if before:
            self._note_change(len(before), len(before) + len(joining))

    def _resume(self) -> None:
        """Goes on from the last checkpoint where nobody is left that knows the parameters."""
        if self.step > self.checkpoint:
            self._lose_steps("all ranks were lost", self.step - self.checkpoint)
            self.restarts += 1

    def _all_ranks_fail(self, why: str, service: WorkerState) -> None:
        for node in self.ranks():
            if self.trains(node):
                node.stop_training(service)
                node.warm_at = self.now + WARM_S

    def _lose_steps(self, why: str, steps: float) -> None:
        self.incidents.append((self.now, why, steps))
        self.step -= steps

    def _note_change(self, before: int, after: int, *, lost: bool = False) -> None:
        self.changes.append(
            {
                "at": iso(self.now),
                "from_size": before,
                "to_size": after,
                "pause_s": 1.5,
                "steps_lost": self.commit_steps if lost else 0,
            }
        )
