"""A worker instance as the world has it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from controller.domain.observed.nodes import WorkerState


@dataclass
class Node:
    """A worker instance, with its service, its rank, and what is wrong with it.

    Attributes:
        is_protected: Whether a scale-in spares it. Its group sets this when the instance is in service.
        service: The state of the worker's service.
        warm_at: When a service that starts is warm.
        joined_at: When the launcher let it in; None for a node that is not offered to the training.
        is_rank: Whether it trains, and so holds the parameters.
        clock_ahead_s: How far its clock is ahead of the world's.
        back_at: When a reboot is over; None for a node that does not reboot.
        ends_at: When EC2 takes it back after a spot notice.
        leaves_at: When its rank leaves after a spot notice.
        notice: What its fact says of the spot service.
        is_silent: The controller does not reach it. The head does.
        is_cut_off: Neither the controller nor the head reaches it.
        is_frozen: It accepts SSH and never answers. Its rank does not vote. A reboot helps.
        hung_since: Since when its rank lives and does not vote.
        says: What it makes of the fact that an honest rank would write.
        facts_stop_at: Its rank trains on, and its facts stay as they were at this time.
    """

    instance_id: str
    flavor: str
    address: str
    launched_at: float
    in_service_at: float = 0.0
    is_in_service: bool = False
    is_protected: bool = False
    service: WorkerState = WorkerState.ABSENT
    warm_at: float = math.inf
    joined_at: float | None = None
    is_rank: bool = False
    clock_ahead_s: float = 0.0
    back_at: float | None = None
    ends_at: float | None = None
    leaves_at: float | None = None
    notice: dict[str, Any] | None = None
    is_silent: bool = False
    is_cut_off: bool = False
    is_frozen: bool = False
    hung_since: float | None = None
    says: Callable[[dict[str, Any]], Any] | None = None
    facts_stop_at: float | None = None

    @property
    def is_configured(self) -> bool:
        """Whether its worker is set up and waits for a rank, or has one."""
        return self.service is WorkerState.WARM

    @is_configured.setter
    def is_configured(self, value: bool) -> None:
        self.service = WorkerState.WARM if value else WorkerState.ABSENT

    @property
    def is_up(self) -> bool:
        """Whether its operating system runs."""
        return self.back_at is None and not self.is_frozen

    @property
    def is_hung(self) -> bool:
        """Whether its rank lives and does not vote."""
        return self.hung_since is not None or self.is_frozen

    @property
    def is_usable(self) -> bool:
        """Whether the launcher could make a rank of it."""
        return self.is_up and not self.is_cut_off and self.service is WorkerState.WARM

    @property
    def why_unreachable(self) -> str | None:
        """What SSH says when the controller calls; None where it answers."""
        if self.is_silent or self.is_cut_off or self.back_at is not None:
            return "unreachable: Connection refused"
        return "unreachable: no answer within the time limit" if self.is_frozen else None

    def start_service(self, warm_at: float) -> None:
        """Starts the worker's service, which is warm after a while."""
        self.service, self.warm_at = WorkerState.STARTING, warm_at

    def stop_training(self, service: WorkerState) -> None:
        """Ends its rank and leaves its service in a state."""
        self.is_rank, self.joined_at, self.hung_since, self.service = False, None, None, service
