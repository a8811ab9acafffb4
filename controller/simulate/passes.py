"""When the simulated controller looks again: a pass a minute would take most of the computer's time."""

from __future__ import annotations

import math

from controller.simulate.moves import Moves
from controller.simulate.world import World

MAX_INTERVAL_SHARE, MIN_INTERVAL_SHARE = 0.15, 0.02
"""While nothing changes, passes become rarer, up to these shares of the remaining and of the passed time."""
CLOSE_S = 600.0
"""For so long after a change that shows, passes stay as close as the scenario says."""
CLOSE_WINDOWS = 5
"""After a change that shows, so many windows of steps are seen, each of them as soon as it is whole."""


class Passes:
    """The seconds between the passes in one world."""

    def __init__(self, world: World, moves: Moves, cooldown_s: float) -> None:
        self._world, self._moves, self._cooldown_s = world, moves, cooldown_s
        self._changed_at = 0.0
        self.interval_s = world.scenario.interval_s

    def looked(self) -> None:
        """Works out how long it is until the next pass, after one in which `has_changed` tells what showed."""
        world, scenario = self._world, self._world.scenario
        if world.has_changed or self._moves.is_under_way:
            self._changed_at = world.now
        close_until = max(self._changed_at + CLOSE_S, self._moves.changed_at + 2 * self._cooldown_s)
        if world.now < close_until:
            self.interval_s = scenario.interval_s
            return
        window_s = scenario.window * world.step_time_s()
        if math.isfinite(window_s) and world.now < self._changed_at + CLOSE_WINDOWS * window_s:
            self.interval_s = max(scenario.interval_s, window_s / 2)
            return
        longest_s = MAX_INTERVAL_SHARE * world.remaining_s() + MIN_INTERVAL_SHARE * world.now
        longest_s = min(longest_s, scenario.longest_interval_s)
        self.interval_s = max(scenario.interval_s, min(self.interval_s * 3, longest_s))

    def moved(self) -> None:
        """Keeps the next pass close, since a move begins."""
        self.interval_s = self._world.scenario.interval_s
