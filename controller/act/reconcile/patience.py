"""How long a goal with a way back is waited for before it is given up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.act.reconcile.actions import Awaited, Wait
from controller.act.reconcile.seen import Seen, SeenNode, Standing
from controller.domain import Fleet
from controller.domain.errors import CapacityUnavailableError, CentavoError, FlavorsError, HeadError, NodesError
from controller.domain.reasons import Reason
from controller.domain.reasons.moving import DidNotJoin, NoAnswer, NoCapacity, NotRunning, RankFailed
from controller.words.reasons.sentences import as_sentence

HEAD = "the head"
_LOOK = "Look at the nodes with `centavo status`, and at the logs in runs/latest/."


@dataclass(frozen=True)
class MoveLimits:
    """The time that each step may take, and the time between two looks, in seconds."""

    boot_s: float
    configure_s: float
    join_s: float
    drain_s: float
    poll_s: float


@dataclass(frozen=True)
class Times:
    """The times that patience is measured by, in seconds since the epoch.

    Attributes:
        now: The present.
        since: From when on the goal is wanted.
        hosts_written_at: When the hosts file was written; None where it is not known.
    """

    now: float
    since: float
    hosts_written_at: float | None = None


def given_up(
    wait: Wait, seen: Seen, times: Times, limits: MoveLimits, refused: Mapping[str, str] | None = None
) -> CentavoError | None:
    """Returns the error that a goal with a way back is given up for; None while it is worth waiting.

    Args:
        wait: What is waited for.
        seen: What is seen.
        times: The times to measure by.
        limits: The time limits.
        refused: By flavor what EC2 said of the instances that it could not launch.
    """
    if wait.awaited is Awaited.RUNNING:
        return _not_running(wait.missing, seen, times, limits.boot_s, refused or {})
    if wait.awaited is Awaited.TRAINING:
        return _not_training(wait, seen, times, limits.join_s)
    if wait.awaited is Awaited.READY:
        late = [node for node in _nodes(wait, seen) if times.now >= _began(node, times) + limits.boot_s]
        return _silent(late, limits.boot_s) if late else None
    if wait.awaited is Awaited.HEAD and times.now >= times.since + limits.boot_s:
        reason = NoAnswer({HEAD: "no answer"}, limits.boot_s)
        return HeadError(as_sentence(reason), _LOOK, reason=reason)
    return None


def nodes_error(reason: Reason, *flavors: str) -> NodesError:
    """Returns the error that nodes of these flavors did not do what was waited for."""
    return NodesError(as_sentence(reason), _LOOK, reason=reason, flavors=tuple(sorted({*flavors})))


def _not_running(
    missing: Fleet, seen: Seen, times: Times, boot_s: float, refused: Mapping[str, str]
) -> FlavorsError | None:
    told = {flavor: said for flavor, said in refused.items() if missing.count(flavor)}
    if told:
        reason = NoCapacity(told)
        return CapacityUnavailableError(as_sentence(reason), reason=reason, flavors=tuple(sorted(told)))
    is_booting = any(
        node.standing is Standing.PENDING and times.now < _began(node, times) + boot_s
        for node in seen.nodes
        if missing.count(node.flavor)
    )
    if is_booting or times.now < times.since + boot_s:
        return None
    return nodes_error(NotRunning(missing, boot_s), *missing.present)


def _not_training(wait: Wait, seen: Seen, times: Times, join_s: float) -> FlavorsError | None:
    late = _nodes(wait, seen)
    for node in late:
        if node.standing is Standing.FAILED:
            return nodes_error(RankFailed(node.instance_id, node.flavor, node.said or None), node.flavor)
    began = max(times.since, times.hosts_written_at or 0.0)
    if times.now < began + join_s:
        return None
    reason = DidNotJoin({node.instance_id: node.flavor for node in late}, len(seen.members), join_s)
    return nodes_error(reason, *(node.flavor for node in late))


def _silent(late: list[SeenNode], boot_s: float) -> NodesError:
    reason = NoAnswer({node.instance_id: node.said or node.standing.value for node in late}, boot_s)
    return nodes_error(reason, *(node.flavor for node in late))


def _nodes(wait: Wait, seen: Seen) -> list[SeenNode]:
    return [node for node in seen.nodes if node.instance_id in wait.nodes]


def _began(node: SeenNode, times: Times) -> float:
    """Returns from when on a node is waited for: it was launched, and is wanted."""
    return max(times.since, node.launched_at or 0.0)
