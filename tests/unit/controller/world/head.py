"""The head as the world has it."""

from __future__ import annotations

from dataclasses import dataclass

HEAD_ID = "i-head"


@dataclass
class Head:
    """The head instance, with its hosts file and its launcher.

    Attributes:
        hosts: The addresses in the hosts file; None where there is no such file.
        is_started: Whether the launcher was started for this run, and not stopped since.
        is_launcher_dead: Whether the launcher has died, and nothing starts it again.
        launcher_back_at: When the supervisor starts a launcher again that was killed.
        is_lost: Whether EC2 has lost the instance.
        is_silent: The controller does not reach it. The training goes on.
        is_frozen: It accepts SSH and never answers. The training goes on.
        has_results: Whether its folder of results has any.
    """

    instance_id: str = HEAD_ID
    hosts: tuple[str, ...] | None = None
    hosts_written_at: float | None = None
    clock_ahead_s: float = 0.0
    is_started: bool = False
    is_launcher_dead: bool = False
    launcher_back_at: float | None = None
    back_at: float | None = None
    is_lost: bool = False
    is_silent: bool = False
    is_frozen: bool = False
    has_results: bool = True

    @property
    def is_up(self) -> bool:
        """Whether its operating system runs."""
        return not self.is_lost and self.back_at is None

    @property
    def is_launching(self) -> bool:
        """Whether the launcher runs."""
        return self.is_up and self.is_started and not self.is_launcher_dead and self.launcher_back_at is None

    @property
    def why_unreachable(self) -> str | None:
        """What SSH says when the controller calls; None where it answers."""
        if self.is_silent or not self.is_up:
            return "unreachable: Connection refused"
        return "unreachable: no answer within the time limit" if self.is_frozen else None
