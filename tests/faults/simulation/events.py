"""What happens in the world by itself, in a phase of a run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from controller.domain.observed.nodes import WorkerState
from tests.faults.simulation.hostile import HOSTILE
from tests.faults.simulation.scenarios import phase_of
from tests.unit.controller.world import Manner, Node, World
from tests.unit.controller.world.training import REBOOT_S, SPOT_NOTICE_S, WARM_S

A_WHILE_S = 60.0
SKEW_S = 300.0
HOUR_S = 3600.0

Duration = float
"""How long the world takes until it is whole again, in seconds, without what the controller has to do."""
Happening = Callable[[World], "Duration | None"]
"""Changes the world. Returns None where there is nothing that it could happen to."""
LOCAL_WRITES = ("journal", "capacity")


def _member(world: World) -> Node | None:
    """Returns the rank that all scenarios keep, where there is one, so that its loss matters."""
    ranks = [node for node in world.ranks() if world.trains(node)]
    return next((node for node in ranks if node.flavor == "c5.large"), ranks[0] if ranks else None)


def _newest(world: World) -> Node | None:
    aside = [node for node in world.nodes if not node.is_rank]
    return aside[-1] if aside else None


def _leaving(world: World) -> Node | None:
    """Returns a rank of a flavor that every scenario gives up."""
    ranks = [node for node in world.ranks() if world.trains(node) and node.flavor != "c5.large"]
    return ranks[-1] if ranks else None


def _all(world: World) -> Duration:
    for node in list(world.nodes):
        world.lose(node.instance_id)
    return world.boot_s


def _on(choose: Callable[[World], Node | None], do: Callable[[World, Node], Duration], world: World) -> Duration | None:
    node = choose(world)
    return None if node is None else do(world, node)


def _lose(world: World, node: Node) -> Duration:
    world.lose(node.instance_id)
    return world.boot_s


def _lose_replaced_late(world: World, node: Node) -> Duration:
    world.replace_after_s = A_WHILE_S
    world.lose(node.instance_id)
    return A_WHILE_S + world.boot_s


def _lose_without_another(world: World, node: Node) -> Duration:
    world.capacity_limits[node.flavor] = sum(other.flavor == node.flavor for other in world.nodes) - 1
    world.lose(node.instance_id)
    return 0.0


def _reboot(world: World, node: Node) -> Duration:
    world.reboot(node)
    return REBOOT_S + WARM_S


def _interrupt(world: World, node: Node) -> Duration:
    world.interrupt(node)
    return SPOT_NOTICE_S + world.boot_s


def _recommend(world: World, node: Node) -> Duration:
    world.recommend(node)
    return world.boot_s


def _reclaim_all(world: World) -> Duration | None:
    """Takes all ranks back at once. For a while after their end there is no capacity on the spot market."""
    ranks = [node for node in world.ranks() if world.trains(node)]
    if not ranks:
        return None
    for node in ranks:
        world.interrupt(node)
    before = dict(world.capacity_limits)
    world.capacity_limits.update(dict.fromkeys(world.on_spot, 0))

    def give_again() -> None:
        world.capacity_limits.clear()
        world.capacity_limits.update(before)

    duration = SPOT_NOTICE_S + A_WHILE_S
    _later(world, duration, give_again)
    return duration + world.boot_s


def _skew(seconds: float, world: World, node: Node) -> Duration:
    node.clock_ahead_s = seconds
    return 0.0


def _set(name: str, duration: Duration, world: World, node: Node) -> Duration:
    """Sets an attribute of a node, for a while where there is a duration, else for good."""
    setattr(node, name, True)
    if duration:
        _later(world, duration, lambda: setattr(node, name, False))
    return duration or world.drops_hung_after_s


def _hang(world: World, node: Node) -> Duration:
    node.hung_since = world.now
    return world.drops_hung_after_s


def _stop_facts(world: World, node: Node) -> Duration:
    node.facts_stop_at = world.now
    _later(world, A_WHILE_S, lambda: setattr(node, "facts_stop_at", None))
    return A_WHILE_S


def _die(world: World, node: Node) -> Duration:
    world.rank_fails(node)
    node.service = WorkerState.DEAD
    return 0.0


def _say(lie: Callable[[dict[str, Any]], Any], world: World, node: Node) -> Duration:
    node.says = lie
    return 0.0


def _never_join(world: World, node: Node) -> Duration:
    world.never_joins.add(node.instance_id)
    return 0.0


def _head(name: str, world: World) -> Duration:
    setattr(world.head, name, True)
    _later(world, A_WHILE_S, lambda: setattr(world.head, name, False))
    return A_WHILE_S


def _skew_head(seconds: float, world: World) -> Duration:
    world.head.clock_ahead_s = seconds
    return 0.0


def _skew_all(seconds: float, world: World) -> Duration:
    for node in (world.head, *world.nodes):
        node.clock_ahead_s = seconds
    return 0.0


def _step_clock(seconds: float, world: World) -> Duration:
    world.wall_ahead_s += seconds
    return 0.0


def _reboot_head(world: World) -> Duration:
    world.reboot_head()
    return REBOOT_S + WARM_S


def _lose_head(world: World) -> Duration:
    world.lose_head()
    return 0.0


def _kill_launcher(comes_back: bool, world: World) -> Duration | None:
    if not world.head.is_launching:
        return None
    world.kill_launcher(comes_back=comes_back)
    return 2 * WARM_S


def _lock_state(world: World) -> Duration:
    world.state_lock = "of-somebody-else"
    _later(world, A_WHILE_S, lambda: setattr(world, "state_lock", None))
    return A_WHILE_S


def _fail(names: tuple[str, ...], manner: Manner, world: World) -> Duration:
    until = world.now + A_WHILE_S
    world.plots.append(lambda number, name: manner if name in names and world.now < until else None)
    return A_WHILE_S


def _later(world: World, after_s: float, do: Callable[[], Any]) -> None:
    at = world.now + after_s
    waiting = [do]

    def look(tick: float) -> None:
        if waiting and world.now >= at:
            waiting.pop()()

    world.at_each_tick.append(look)


EVENTS: dict[str, Happening] = {
    "lose-member": partial(_on, _member, _lose),
    "lose-leaving": partial(_on, _leaving, _lose),
    "lose-newest": partial(_on, _newest, _lose),
    "lose-member-replaced-late": partial(_on, _member, _lose_replaced_late),
    "lose-member-without-another": partial(_on, _member, _lose_without_another),
    "lose-all": _all,
    "reboot-member": partial(_on, _member, _reboot),
    "reboot-leaving": partial(_on, _leaving, _reboot),
    "reboot-newest": partial(_on, _newest, _reboot),
    "reboot-head": _reboot_head,
    "interrupt-member": partial(_on, _member, _interrupt),
    "interrupt-leaving": partial(_on, _leaving, _interrupt),
    "rebalance-member": partial(_on, _member, _recommend),
    "reclaim-all": _reclaim_all,
    "skew+member": partial(_on, _member, partial(_skew, SKEW_S)),
    "skew-member": partial(_on, _member, partial(_skew, -SKEW_S)),
    "skew+newest": partial(_on, _newest, partial(_skew, SKEW_S)),
    "skew-newest": partial(_on, _newest, partial(_skew, -SKEW_S)),
    "skew+head": partial(_skew_head, SKEW_S),
    "skew-head": partial(_skew_head, -SKEW_S),
    "skew+all": partial(_skew_all, SKEW_S),
    "skew-all": partial(_skew_all, -SKEW_S),
    "step+1h": partial(_step_clock, HOUR_S),
    "step-1h": partial(_step_clock, -HOUR_S),
    "lose-head": _lose_head,
    "silence-head": partial(_head, "is_silent"),
    "freeze-head": partial(_head, "is_frozen"),
    "silence-member": partial(_on, _member, partial(_set, "is_silent", A_WHILE_S)),
    "silence-newest": partial(_on, _newest, partial(_set, "is_silent", A_WHILE_S)),
    "cut-off-member": partial(_on, _member, partial(_set, "is_cut_off", A_WHILE_S)),
    "freeze-member": partial(_on, _member, partial(_set, "is_frozen", 0.0)),
    "freeze-member-a-while": partial(_on, _member, partial(_set, "is_frozen", A_WHILE_S)),
    "freeze-newest": partial(_on, _newest, partial(_set, "is_frozen", 0.0)),
    "hang-rank": partial(_on, _member, _hang),
    "hang-leaving-rank": partial(_on, _leaving, _hang),
    "worker-dies": partial(_on, _member, _die),
    "newest-worker-dies": partial(_on, _newest, _die),
    "newest-never-joins": partial(_on, _newest, _never_join),
    "facts-stop": partial(_on, _member, _stop_facts),
    "kill-launcher": partial(_kill_launcher, True),
    "kill-launcher-for-good": partial(_kill_launcher, False),
    "state-locked": _lock_state,
    "disk-full": partial(_fail, LOCAL_WRITES, Manner.NO_SPACE),
    "aws-down": partial(_fail, ("instances", "desired", "protection", "empty", "failures"), Manner.FAIL_BEFORE),
    "ssh-down": partial(
        _fail,
        ("ssh", "facts", "hosts.yml", "site.yml", "start.yml", "stop.yml", "fetch.yml"),
        Manner.FAIL_BEFORE,
    ),
    "s3-down": partial(_fail, ("s3-put",), Manner.FAIL_BEFORE),
    **{f"hostile-{name}": partial(_on, _member, partial(_say, lie)) for name, lie in HOSTILE.items()},
}
MAY_END_EARLY = ("lose-head", "hostile-says-failed")
"""Events after which a training may end without success, with everything given back."""
LOSES_ALL = ("lose-all", "reclaim-all", "reboot-head", "lose-head", "kill-launcher", "kill-launcher-for-good")
"""Events that end all ranks, so that the training goes on from its last checkpoint."""
STANDS_STILL = ("hang-rank", "hang-leaving-rank", "freeze-member", "freeze-member-a-while", "freeze-newest")
"""Events that may stop the training without ending it, so that a restart of its launcher is the remedy."""
SECOND_CONTROLLER = "second-controller"


@dataclass
class Event:
    """An event that happens at the first call in a phase.

    Attributes:
        fired_at: When it happened.
        until: When the world is whole again.
    """

    what: str
    phase: str
    fired_at: float | None = None
    until: float = 0.0
    happening: Happening = field(init=False)

    def __post_init__(self) -> None:
        self.happening = EVENTS[self.what]

    def plot(self, world: World, number: int, name: str) -> Manner | None:
        """Lets the event happen."""
        if self.fired_at is None and phase_of(world) == self.phase:
            duration = self.happening(world)
            if duration is not None:
                self.fired_at, self.until = world.now, world.now + duration
        return None
