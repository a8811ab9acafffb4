"""What is wrong with a training, and what to do about it now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controller.decide.health.remedies import Tried
from controller.decide.health.signs import Condition, NodeSigns, Signs
from controller.domain import LauncherState
from controller.domain.health import Ailment, HealthLimits, Remedy, RemedyKind
from controller.domain.reasons import Reason
from controller.domain.reasons.ending import GivenUp
from controller.domain.reasons.health import (
    HeadGone,
    HeadSilent,
    LauncherDied,
    LauncherNotStarted,
    NeverBecameRank,
    NodeSilent,
    NoNewStep,
    RankHangs,
    WorkerDied,
)

CAN_REBOOT = ("pending", "running")
"""The states, in EC2's words, of a head that is up or may come up."""


def diagnose(
    signs: Signs, tried: Sequence[Remedy], limits: HealthLimits, head_state: str | None = None
) -> tuple[Ailment, ...]:
    """Returns what is wrong and what to do about it now. What concerns the whole training comes first.

    Args:
        signs: How long each state has lasted.
        tried: The remedies that were tried in this run.
        limits: How long each state may last.
        head_state: What EC2 says of the head: `running`, `stopped`, ...; None where it could not be asked.
    """
    if signs.at is None:
        return ()
    doctor = _Doctor(signs, Tried.of(tried, signs.at, limits), limits)
    head = doctor.head(head_state)
    if head is not None:
        return (head,)
    nodes = doctor.nodes()
    whole = doctor.launcher() or doctor.stall(nodes)
    return nodes if whole is None else (whole, *nodes)


@dataclass(frozen=True)
class _Doctor:
    """Judges the signs of one moment."""

    signs: Signs
    tried: Tried
    limits: HealthLimits

    # the whole training

    def head(self, state: str | None) -> Ailment | None:
        """Returns what is wrong with the head. It is not rebooted while the training makes steps without it."""
        silent_s = self.signs.head_silent_s
        if silent_s is None:
            return None
        if state is not None and state not in CAN_REBOOT and silent_s >= self.limits.service_s:
            return self._given_up(HeadGone(state), ())
        if silent_s < self.limits.head_s:
            return None
        reason = HeadSilent(silent_s, self.limits.head_s)
        if self.signs.is_moving:
            return Ailment(reason, None)
        return self._whole(reason, RemedyKind.REBOOT_HEAD, self.limits.head_s)

    def launcher(self) -> Ailment | None:
        """Returns what is wrong with the launcher."""
        for_s = self.signs.launcher_s
        if for_s < self.limits.service_s:
            return None
        if self.signs.launcher is LauncherState.DEAD:
            return self._whole(LauncherDied(for_s), RemedyKind.RESTART_LAUNCHER, self.limits.remedy_s)
        if self.signs.launcher is LauncherState.ABSENT:
            return self._whole(LauncherNotStarted(for_s), RemedyKind.RESTART_LAUNCHER, self.limits.remedy_s)
        return None

    def stall(self, nodes: tuple[Ailment, ...]) -> Ailment | None:
        """Returns that the training makes no new step. What single nodes lack is mended first."""
        limit_s = self.limits.finish_s if self._is_near_end() else self.limits.stall_s
        if self.signs.still_s < limit_s:
            return None
        reason = NoNewStep(self.signs.step, self.signs.still_s, limit_s)
        if self.tried.is_dropping() or any(ailment.remedy is RemedyKind.DROP_RANK for ailment in nodes):
            return Ailment(reason, None)
        return self._whole(reason, RemedyKind.RESTART_LAUNCHER, limit_s)

    def _is_near_end(self) -> bool:
        """Tells whether the last step may have been made since the last look that showed one."""
        return self.signs.left_s is not None and self.signs.left_s <= self.limits.gap_s

    def _whole(self, reason: Reason, kind: RemedyKind, patience_s: float) -> Ailment:
        remedy = self.tried.repeated(kind, patience_s)
        if remedy is RemedyKind.END_TRAINING:
            return self._given_up(reason, self.tried.kinds(RemedyKind.RESTART_LAUNCHER, RemedyKind.REBOOT_HEAD))
        return Ailment(reason, remedy)

    def _given_up(self, reason: Reason, remedies: tuple[str, ...]) -> Ailment:
        return Ailment(GivenUp(reason, remedies), RemedyKind.END_TRAINING)

    # single nodes

    def nodes(self) -> tuple[Ailment, ...]:
        """Returns what is wrong with single nodes."""
        ill = {node: reason for node, signs in self.signs.nodes.items() if (reason := self._reason(node, signs))}
        members = [signs for signs in self.signs.nodes.values() if signs.is_member]
        ill_members = sum(self.signs.nodes[node].is_member for node in ill)
        may_drop = 2 * ill_members <= len(members)
        found, tried = [], self.tried
        for node, reason in sorted(ill.items()):
            found.append(Ailment(reason, self._remedy(node, tried, may_drop), node))
            if found[-1].remedy is not None:
                tried = tried.and_also(found[-1].tried(tried.now))
        return tuple(found)

    def _remedy(self, node: str, tried: Tried, may_drop: bool) -> RemedyKind | None:
        """Returns what is to be done about one node. A member is dropped only where at least half are well."""
        if not self.signs.nodes[node].is_member:
            return tried.replace(node)
        return tried.drop(node) if may_drop else None

    def _reason(self, node: str, signs: NodeSigns) -> Reason | None:
        """Returns what is wrong with a node; for one that was dropped, what was wrong with it then."""
        dropped = self.tried.last(node, RemedyKind.DROP_RANK)
        if dropped is not None and not signs.is_member:
            return dropped.reason
        flavor, for_s, limits = signs.flavor, signs.for_s, self.limits
        if signs.condition is Condition.SILENT:
            limit_s = limits.silent_s + (0.0 if signs.has_answered else limits.boot_s)
            return NodeSilent(node, flavor, for_s, limit_s) if for_s >= limit_s else None
        if signs.condition is Condition.DEAD:
            return WorkerDied(node, flavor, for_s) if for_s >= limits.service_s else None
        if signs.condition is Condition.WELL or for_s < limits.rank_s:
            return None
        kind = RankHangs if signs.condition is Condition.STILL else NeverBecameRank
        return kind(node, flavor, for_s, limits.rank_s)
