"""The clock of the machine that the controller runs on."""

from __future__ import annotations

from tests.unit.controller.world.world import World


class WorldClock:
    """The clock of the controller's machine; waiting lets the world go on."""

    def __init__(self, world: World) -> None:
        self.world = world

    def now(self) -> float:
        """Returns the time of day, which may jump."""
        return self.world.now + self.world.wall_ahead_s

    def monotonic(self) -> float:
        """Returns a time that never jumps."""
        return self.world.now

    def sleep(self, seconds: float) -> None:
        """Lets time pass."""
        self.world.call("sleep", lambda: self.world.advance(max(0.5, seconds)))
