"""One attempt at a training: Horovod's driver over the nodes, until all ranks have ended."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from horovod.runner.gloo_run import create_run_env_vars, create_slot_env_vars
from horovod.runner.util.network import get_driver_ip

from trainer.launch.discovery import Discovery
from trainer.launch.driver import Driver
from trainer.launch.nodes import Nodes
from trainer.launch.options import LaunchOptions
from trainer.launch.rendezvous_server import RendezvousServer
from trainer.settings.horovod import HorovodSettings

log = logging.getLogger(__name__)

STOP_TIMEOUT_S = 30.0
WATCH_S = 0.2
STEPS_OF_PATIENCE = 3
NOT_HANDED_OVER = ("HOROVOD_GLOO_IFACE", "NCCL_SOCKET_IFNAME")
"""Horovod names the head's interface. Nodes may have others, and have them in their own environment."""


class Attempt:
    """One run of the driver."""

    def __init__(self, options: LaunchOptions, horovod: HorovodSettings, nodes: Nodes, discovery: Discovery) -> None:
        self._options, self._horovod, self._nodes = options, horovod, nodes
        self._server = RendezvousServer(get_driver_ip({options.network_interface}))
        self._driver = Driver(self._server, discovery, nodes, options, self._patience_s, self._run_rank)
        self._stop_reason = "the launcher ends this attempt"

    def run(self, is_stopped: Callable[[], str | None], watch: Callable[[], None]) -> str | None:
        """Forms worlds until all ranks have ended.

        Args:
            is_stopped: Returns why all ranks are to stop now, or None.
            watch: Is called several times a second.

        Returns:
            Why the attempt ended, where it is not the ranks that know; None otherwise.
        """
        problem: str | None = None
        try:
            self._driver.begin()
            while not self._driver.is_over and (problem := is_stopped() or self._stuck()) is None:
                watch()
                time.sleep(WATCH_S)
        except Exception as error:  # Horovod raises its own errors where there are too few hosts in time
            problem = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        self._stop_reason = problem or self._stop_reason
        self._driver.end(STOP_TIMEOUT_S + 5)
        return problem or self._driver.problem

    def _stuck(self) -> str | None:
        """Returns that nothing has gone on for too long, or None."""
        idle_s = time.monotonic() - self._nodes.progressed_at
        if idle_s <= self._horovod.stuck_timeout_s:
            return None
        return f"no rank has made a step for {idle_s:.0f} s, in whichever world"

    def _patience_s(self) -> float:
        """Returns how long a host may be silent after others are ready: a rank votes between two steps."""
        return max(self._horovod.vote_timeout_s, STEPS_OF_PATIENCE * self._nodes.longest_step_s())

    def _run_rank(self, slot: Any, is_over: threading.Event) -> int:
        """Lets the host of `slot` be a rank. Returns the rank's exit code."""
        node = self._nodes.get(slot.hostname)
        if node is None or not node.activate(self._environment(slot)):
            log.warning("%s is not ready after all", slot.hostname)
            return 1
        told_at: float | None = None
        while (code := node.wait(0.1)) is None:
            if told_at is None and is_over.is_set():
                told_at = time.monotonic()
                node.stop(self._stop_reason)
            elif told_at is not None and time.monotonic() - told_at > STOP_TIMEOUT_S:
                node.hang_up()
                node.kill()
        log.info("%s ended with exit code %d", slot.hostname, code)
        return code

    def _environment(self, slot: Any) -> dict[str, str]:
        """Returns the variables that make a warm worker the rank of `slot`."""
        interfaces = [self._options.network_interface]
        world = create_run_env_vars(self._server.address_for_ranks, interfaces, self._server.port, elastic=True)
        variables = {**world, **create_slot_env_vars(slot), "HOROVOD_LAUNCHED_BY": "centavo"}
        return {name: str(value) for name, value in variables.items() if name not in NOT_HANDED_OVER}
