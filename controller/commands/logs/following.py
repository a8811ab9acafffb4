"""Looking at logs again and again: new lines, and nodes that come and go."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

from controller.commands.logs.log_lines import Wanted
from controller.domain import Instance
from controller.domain.errors import AwsError
from controller.edges.account.logs import LogLine, Logs
from controller.edges.clock import Clock
from controller.words.times import clock as time_of_day

LOOK_EVERY_S = 2.0
NODES_EVERY_S = 10.0
LATE_S = 120.0
"""How late a line may come to be shown. Lines that were held up for longer are there when the logs are read anew."""


class Follower:
    """What has been shown of a run's logs.

    Args:
        logs: Where the logs are.
        run: The run.
        wanted: Which lines are shown.
        show: Shows a line.
        since: Shows no line that is older, in seconds since the epoch.
        now: The time, in seconds since the epoch.
    """

    def __init__(
        self, logs: Logs, run: str, wanted: Wanted, show: Callable[[LogLine], None], since: float, now: float
    ) -> None:
        self._logs, self._run, self._wanted, self._show, self._since = logs, run, wanted, show, since
        self._asked_again_from = now - LATE_S
        self._shown: dict[tuple[str, float, str], float] = {}
        self._trouble = ""
        self._nodes: dict[str, Instance] | None = None
        self._nodes_at = float("-inf")

    def look(self) -> int:
        """Shows the lines that are new. Returns how many there were. Raises AwsError."""
        count = 0
        for line in self._logs.lines(self._run, self._since, self._wanted.log):
            key = (line.log, line.at, line.line_id)
            if key not in self._shown and self._wanted.has(line):
                self._show(line)
                count += 1
            if line.at >= self._asked_again_from:
                self._shown[key] = line.at
        return count

    def follow(
        self, clock: Clock, instances: Callable[[], Sequence[Instance]], latest_run: Callable[[], str | None]
    ) -> str | None:
        """Looks, through times in which AWS does not answer, until another run is the latest one. Returns that run.

        Raises:
            StoppedError: A person has stopped it.
        """
        while True:
            clock.sleep(LOOK_EVERY_S)
            try:
                if clock.now() - self._nodes_at >= NODES_EVERY_S:
                    self._look_at_nodes(clock.now(), instances())
                    latest = latest_run()
                    if latest != self._run:
                        _tell(clock.now(), f"the run {latest} has begun")
                        return latest
                self._since = max(self._since, self._asked_again_from)
                self.look()
                self._trouble = ""
                self._forget(clock.now() - LATE_S)
            except AwsError as error:
                if not self._trouble:
                    _tell(clock.now(), f"the logs can't be read now, which is tried again: {error.what}")
                self._trouble = error.what

    def _forget(self, until: float) -> None:
        """Forgets the lines that are not asked for again."""
        self._asked_again_from = until
        self._shown = {key: at for key, at in self._shown.items() if at >= until}

    def _look_at_nodes(self, now: float, instances: Sequence[Instance]) -> None:
        self._nodes_at = now
        seen = {instance.instance_id: instance for instance in instances}
        before = seen if self._nodes is None else self._nodes
        for one in [before[name] for name in before if name not in seen]:
            _tell(now, f"{one.role} {one.instance_id} ({one.flavor}) is gone: nothing more comes from it")
        for one in [seen[name] for name in seen if name not in before]:
            _tell(now, f"{one.role} {one.instance_id} ({one.flavor}) has come")
        self._nodes = seen


def _tell(at: float, message: str) -> None:
    print(f"{time_of_day(at)} -- {message}", file=sys.stderr, flush=True)
