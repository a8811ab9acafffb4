"""Everything outside of the controller."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.observed.nodes import WorkerState
from tests.unit.controller.world.calls import Calls
from tests.unit.controller.world.head import Head
from tests.unit.controller.world.node import Node
from tests.unit.controller.world.times import iso
from tests.unit.controller.world.training import STEP_TOKENS, Training

MAX_NODES = 12


@dataclass(kw_only=True)
class World(Calls, Training):
    """Everything outside of the controller: what EC2, Terraform and the nodes are at this moment.

    Attributes:
        is_up: Whether Terraform has made everything.
        wall_ahead_s: How far the clock of the controller's machine is ahead of the world's.
        controller_ahead_s: The same when the present controller process began, which does not notice a step of it.
        state_lock: The id of the lock on Terraform's state; None where nobody holds it.
        never_answers: Flavors whose new nodes never answer SSH.
        fails_to_configure: Flavors whose nodes can't be prepared.
        on_spot: Flavors that are bought on spot.
        cpu_credits: By flavor the mode of CPU credits that its nodes are launched in, where it is not AWS's default.
        at_each_tick: Called after each second or part of one, with how long it was.
    """

    is_up: bool = False
    image_id: str = "ami-1"
    wall_ahead_s: float = 0.0
    controller_ahead_s: float = 0.0
    state_lock: str | None = None
    never_answers: set[str] = field(default_factory=set)
    fails_to_configure: set[str] = field(default_factory=set)
    on_spot: tuple[str, ...] = ()
    cpu_credits: Mapping[str, str] = field(default_factory=dict)
    at_each_tick: list[Any] = field(default_factory=list)

    def advance(self, seconds: float) -> None:
        """Lets time pass; the training does as many steps as its ranks can."""
        while seconds > 0:
            tick, seconds = min(1.0, seconds), seconds - 1.0
            self.now += tick
            self._pass_time(tick)
            self._train(tick)
            for watch in self.at_each_tick:
                watch(tick)

    def node(self, instance_id: str) -> Node:
        """Returns the node of an id."""
        return next(node for node in self.nodes if node.instance_id == instance_id)

    def why_unreachable(self, host: Head | Node) -> str | None:
        """Returns what SSH says when the controller calls a host; None where it answers."""
        is_mute = isinstance(host, Node) and host.flavor in self.never_answers and host.service is WorkerState.ABSENT
        return "unreachable: refused" if is_mute else host.why_unreachable

    def fact(self, node: Node) -> Any:
        """Returns the node's iteration fact, as JSON was parsed; None while it has none."""
        if not node.is_rank or not self.is_started:
            return None
        fact = self._honest_fact(node)
        return fact if node.says is None else node.says(fact)

    def _honest_fact(self, node: Node) -> dict[str, Any]:
        ranks = self.ranks()
        total = sum(self.speeds[other.flavor] for other in ranks)
        tokens = STEP_TOKENS * self.speeds[node.flavor] / total
        written_at = self._facts_written_at() if node.facts_stop_at is None else node.facts_stop_at
        return {
            "schema": 1,
            "instance_id": node.instance_id,
            "flavor": node.flavor,
            "rank": ranks.index(node),
            "world_size": len(ranks),
            "state": "finished" if self.outcome == "finished" else "training",
            "step": int(self.step),
            "iteration_time_s": self.step_s(),
            "compute_time_s": tokens / self.speeds[node.flavor] * 0.9,
            "samples": 16.0,
            "tokens": tokens,
            "window": min(50, int(self.step)),
            "peak_memory_bytes": 1 << 29,
            "updated_at": iso(written_at + node.clock_ahead_s),
            "reason": None,
            "total_steps": self.total_steps,
            "total_tokens": int(self.step) * STEP_TOKENS,
            "loss": 3.0,
            "share": tokens / STEP_TOKENS,
            "emulated_speed": None,
            "last_change": self.changes[-1] if self.changes else None,
            "notice": node.notice,
        }

    def _facts_written_at(self) -> float:
        """Returns when the ranks did their last step: one that hangs stops all."""
        hung = [node.hung_since for node in self.ranks() if node.hung_since is not None]
        return min(hung) if hung else self.now
