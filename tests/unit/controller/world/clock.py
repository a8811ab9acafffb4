"""The clock of a controller process."""

from __future__ import annotations

from tests.unit.controller.world.world import World


class WorldClock:
    """The clock of one controller process: the machine's time of day when it began, and what has gone by since.

    Waiting lets the world go on.
    """

    def __init__(self, world: World) -> None:
        self.world = world
        world.controller_ahead_s = world.wall_ahead_s

    def now(self) -> float:
        """Returns the seconds since the epoch."""
        return self.world.now + self.world.controller_ahead_s

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        self.world.call("sleep", lambda: self.world.advance(max(0.5, seconds)))
