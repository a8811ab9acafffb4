"""A desk for tests of moves: a runner at its work on a cluster in memory, and everything that it leaves behind."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace

from controller.act.aside import Aside
from controller.act.mover import Mover
from controller.act.reconcile.patience import MoveLimits
from controller.act.track import Track
from controller.domain import Fleet, Move, MovePhase, NoticeKind, Observation
from controller.domain.errors import CentavoError, StoppedError
from controller.domain.reasons import Reason, Said
from tests.unit.controller.act.fleet_in_memory import BEGAN_AT, Clock, Cluster

SOURCE, TARGET = Fleet({"t2.large": 2}), Fleet({"c5.large": 3})
UNION = Fleet({"t2.large": 2, "c5.large": 3})
OLD, NEW = ("i-1", "i-2"), ("i-3", "i-4", "i-5")
LIMITS = MoveLimits(boot_s=30.0, configure_s=40.0, join_s=20.0, drain_s=10.0, poll_s=1.0)
MOVE = Move(1, BEGAN_AT, SOURCE, TARGET, Said("cheaper"))
GROWING = replace(MOVE, phase=MovePhase.GROWING)


@dataclass
class Desk:
    """A runner at its work, and everything that it leaves behind."""

    source: Fleet = SOURCE
    saved: list[Move] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    errors: list[CentavoError] = field(default_factory=list)
    """What made a pass fail that was tried again."""
    unavailable: dict[str, Reason] = field(default_factory=dict)
    turned_at: list[float] = field(default_factory=list)
    """When the move was first kept with another outcome in view than before."""
    dropped: set[str] = field(default_factory=set)
    noticed: dict[str, NoticeKind] = field(default_factory=dict)
    """The nodes that EC2 takes back."""

    def __post_init__(self) -> None:
        self.clock = Clock()
        self.cluster = Cluster.training(self.source, self.clock)

    def run(self, move: Move = MOVE, passes: int = 200) -> Move:
        """Makes passes as a process does that has just begun: it knows only what was saved."""
        track = Track(self.clock, self._save, lambda move, note: self.told.append(f"{move.move_id}: {note}"))
        aside = Aside(self.clock, 5.0)
        mover = Mover(
            self.cluster,
            self.clock,
            LIMITS,
            track,
            self._remember,
            aside,
            lambda: self.dropped,
            lambda: self.noticed,
        )
        for _ in range(passes):
            observation = self.cluster.observe()
            if self.cluster.training_has_ended():
                return mover.end_with_training(move)
            move = self._pass(mover, move, observation)
            if move.phase.is_final:
                return move
            self.clock.sleep(LIMITS.poll_s)
        return move

    def _pass(self, mover: Mover, move: Move, observation: Observation) -> Move:
        try:
            return mover.go_on(move, observation)
        except StoppedError:
            raise
        except CentavoError as error:
            self.errors.append(error)
            return self.saved[-1] if self.saved else move

    def _save(self, move: Move) -> None:
        before = self.saved[-1] if self.saved else MOVE
        if move.outcome_reason != before.outcome_reason:
            self.turned_at.append(self.clock.now())
        self.saved.append(move)

    def _remember(self, flavors: Collection[str], reason: Reason) -> None:
        self.unavailable |= dict.fromkeys(flavors, reason)

    def phases(self) -> list[MovePhase]:
        """Returns the phases that were saved, each once."""
        return list(dict.fromkeys(move.phase for move in self.saved))


def undone(desk: Desk, move: Move = MOVE) -> Reason | None:
    """Runs a move that has to be undone, and returns why it was: the source trains on, and nothing else runs."""
    ended = desk.run(move)
    assert ended.phase is MovePhase.ROLLED_BACK
    assert desk.cluster.fleet == desk.source
    assert set(desk.cluster.hosts) == set(OLD)
    assert desk.cluster.capacities[-1] == desk.source
    return ended.outcome_reason


class KilledError(BaseException):
    """The process dies here, as by kill -9."""


def kill_at(desk: Desk, number: int) -> None:
    """Lets the process die before the call of this number, once."""
    call, left = desk.cluster._call, [number]

    def killing(name: str) -> None:
        left[0] -= 1
        if left[0] == -1:
            raise KilledError
        call(name)

    desk.cluster._call = killing  # type: ignore[method-assign]
