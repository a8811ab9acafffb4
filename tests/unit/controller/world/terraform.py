"""Terraform of the world: plans and applies the capacity file, under a lock on its state."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from controller.domain.errors import TerraformError
from controller.domain.reasons.moving import TerraformFailed
from controller.edges.terraform import FlavorOutput, HeadOutput, Outputs, Plan
from tests.unit.controller.world.aws import HEAD_ADDRESS
from tests.unit.controller.world.calls import Effect
from tests.unit.controller.world.head import HEAD_ID, Head
from tests.unit.controller.world.world import MAX_NODES, World

LOCK_TIMEOUT_S = 60.0
TERRAFORM_LIMIT_S = 100.0
OURS = "ours"
"""What the id of a lock begins with that a Terraform of this environment took."""


class WorldTerraform:
    """Plans and applies the capacity file of the world."""

    def __init__(self, world: World, capacity_file: Path) -> None:
        self.world, self.capacity_file = world, capacity_file
        self.extra_changes: list[dict[str, Any]] = []

    def init(self) -> None:
        """Makes the providers available."""
        self.world.call("init", Effect(lambda: None, limit_s=TERRAFORM_LIMIT_S))

    def plan(self, file: Path, *, destroy: bool = False, read: bool = True, only: Sequence[str] = ()) -> Plan:
        """Plans into a file. A kill in the middle leaves the state locked until the next plan."""
        effect = Effect(lambda: self._plan(file), limit_s=TERRAFORM_LIMIT_S, killed=self._leave_lock)
        return self.world.call("plan", effect, seconds=4)  # type: ignore[no-any-return]

    def _plan(self, file: Path) -> Plan:
        self._refuse_locked("plan")
        wanted = json.loads(self.capacity_file.read_text())["capacity"]
        changes = [
            self._change(flavor, wanted[flavor])
            for flavor in self.world.flavors
            if wanted.get(flavor, 0) != self.world.desired.get(flavor, 0)
        ] + self.extra_changes
        if self.world.head.is_lost:
            changes.append(_new_head())
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(wanted))
        return Plan(file, bool(changes) or not self.world.is_up, {"format_version": "1.2", "resource_changes": changes})

    def _change(self, flavor: str, wanted: int) -> dict[str, Any]:
        before = {"name": f"c-{flavor}", "desired_capacity": self.world.desired.get(flavor, 0), "max_size": MAX_NODES}
        return {
            "address": f'module.flavor["{flavor}"].aws_autoscaling_group.this',
            "type": "aws_autoscaling_group",
            "mode": "managed",
            "change": {
                "actions": ["update"],
                "before": before,
                "after": {**before, "desired_capacity": wanted},
                "after_unknown": {},
            },
        }

    def apply(self, file: Path) -> None:
        """Applies a plan. Interrupted, it has changed one group; a kill leaves the state locked."""
        effect = Effect(
            lambda: self._apply(file, len(self.world.flavors)),
            lambda: self._apply(file, 1),
            TERRAFORM_LIMIT_S,
            self._leave_lock,
        )
        self.world.call("apply", effect, seconds=6)

    def _apply(self, file: Path, groups: int) -> None:
        self._refuse_locked("apply")
        planned, world = json.loads(file.read_text()), self.world
        if world.head.is_lost:
            world.head = Head(instance_id=f"{HEAD_ID}-{int(world.now)}")
        changed = sorted(world.flavors, key=lambda flavor: planned.get(flavor, 0) == world.desired.get(flavor, 0))
        world.is_up = True
        world.set_desired({flavor: planned.get(flavor, 0) for flavor in changed[:groups]})

    def _leave_lock(self) -> None:
        self.world.state_lock = f"{OURS}-{len(self.world.calls)}"

    def _refuse_locked(self, command: str) -> None:
        """Refuses while somebody else holds the lock. The edge takes off what a dead Terraform of ours has left."""
        if self.world.state_lock is not None and self.world.state_lock.startswith(OURS):
            self.world.state_lock = None
        if self.world.state_lock is None:
            return
        self.world.advance(LOCK_TIMEOUT_S)
        said = (
            "Error: Error acquiring the state lock\n\nError message: resource temporarily unavailable\nLock Info:\n"
            f"  ID:        {self.world.state_lock}\n  Operation: OperationTypeApply\n  Who:       u@host\n"
        )
        raise TerraformError(
            f"terraform {command} failed:\n{said}", "Nothing was changed.", reason=TerraformFailed(command, said)
        )

    def outputs(self) -> Outputs | None:
        """Returns what exists; None before the first apply."""
        if not self.world.is_up:
            return None
        return Outputs(
            "c",
            "us-east-1",
            "bucket",
            HeadOutput(self.world.head.instance_id, HEAD_ADDRESS, None, "t3.small"),
            {flavor: self._flavor(flavor) for flavor in self.world.flavors},
            nat_gateway_ids=("nat-1",),
        )

    def _flavor(self, flavor: str) -> FlavorOutput:
        market = "spot" if flavor in self.world.on_spot else "on-demand"
        mode = self.world.cpu_credits.get(flavor)
        return FlavorOutput(f"c-{flavor}", market, MAX_NODES, 2, 4 << 30, cpu_credits=mode)


def _new_head() -> dict[str, Any]:
    """Returns the change that makes another head in place of one that EC2 has lost."""
    return {
        "address": "module.head.aws_instance.this",
        "type": "aws_instance",
        "mode": "managed",
        "change": {"actions": ["create"], "before": None, "after": {"instance_type": "t3.small"}, "after_unknown": {}},
    }
