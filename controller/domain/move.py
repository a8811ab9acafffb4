"""One change of the fleet."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from enum import Enum

from controller.domain.fleet import NO_NODES, Fleet
from controller.domain.reasons.base import Reason
from controller.domain.reasons.spot import NodesTakenBack


class MovePhase(str, Enum):
    """Where a move is. It only goes forward, or ends in one of the last three."""

    PROPOSED = "proposed"
    GROWING = "growing"
    JOINING = "joining"
    SHRINKING = "shrinking"
    DONE = "done"
    ROLLED_BACK = "rolled_back"
    REFUSED = "refused"

    @property
    def is_final(self) -> bool:
        return self in (MovePhase.DONE, MovePhase.ROLLED_BACK, MovePhase.REFUSED)


class MovePart(str, Enum):
    """A part of a move that takes time."""

    TERRAFORM = "terraform"
    """Terraform's plan and apply."""
    BOOT = "boot"
    """From the end of the apply until all new nodes answer."""
    CONFIGURE = "configure"
    """The playbook that makes warm workers of them."""
    PAUSE = "pause"
    """How long the training stands still for one change of its members."""
    DRAIN = "drain"
    """From letting nodes go until they have ended."""


Durations = Mapping[MovePart, tuple[float, ...]]
"""Seconds that the parts of moves took, oldest first."""


@dataclass(frozen=True)
class Move:
    """One change of the fleet, from its proposal to its end."""

    move_id: int
    at: float
    source: Fleet
    target: Fleet
    reason: Reason
    phase: MovePhase = MovePhase.PROPOSED
    grown: tuple[str, ...] = ()
    """The instances that the move added, known once they run."""
    drain: tuple[str, ...] = ()
    """The instances that leave, chosen when the move begins to shrink. Before: the bad nodes, which leave first."""
    outcome_reason: Reason | None = None
    """Why the move ended as it did. On a move that has not ended: why it is being rolled back."""
    ended_at: float | None = None
    pause_s: float | None = None
    """How long the training stood still for the move, joins and leaves added up."""
    steps_lost: int | None = None
    is_probe: bool = False
    """Whether it was made to measure flavors, as its decision says."""
    left_out: Fleet = NO_NODES
    """The nodes that could not be had and that a probe went on without. The target does not have them any more."""

    @property
    def changed_at(self) -> float:
        """When the move ended; when it began where it has not ended, or where its end was not kept."""
        return self.at if self.ended_at is None else self.ended_at

    @property
    def probed(self) -> tuple[str, ...]:
        """The flavors of which a probe adds the first node, or a second one to the only one, which may be a bad one."""
        if not self.is_probe:
            return ()
        return tuple(f for f, count in self.target.present.items() if self.source.count(f) + 1 == count <= 2)

    def without(self, flavors: Collection[str]) -> Move | None:
        """Returns how a probe goes on without flavors that can't be had; None where it has to be undone as a whole.

        It goes on where these are flavors that it measures, and where it adds other nodes than theirs.
        """
        rest = Fleet({f: self.source.count(f) if f in flavors else count for f, count in self.target.items()})
        if not {*flavors} <= {*self.probed} or not rest.beyond(self.source).size:
            return None
        return replace(self, target=rest, left_out=self.left_out.plus(self.target.beyond(rest)))

    @property
    def added(self) -> Fleet:
        """The nodes that the move adds. Those that take the places of nodes which EC2 takes back are among them."""
        return self.target.beyond(self.source.beyond(self.taken))

    @property
    def taken(self) -> Fleet:
        """The nodes of the source that EC2 takes back, and that the move replaces."""
        return self.reason.taken if isinstance(self.reason, NodesTakenBack) else NO_NODES
