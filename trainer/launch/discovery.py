"""Which hosts Horovod is told about."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from pathlib import Path

from horovod.runner.elastic.discovery import HostDiscovery

from trainer.launch.hosts_file import read_hosts
from trainer.launch.node import Phase
from trainer.launch.nodes import Nodes

log = logging.getLogger(__name__)

SETTLE_TIMEOUT_S = 45.0
COMPANY_TIMEOUT_S = 15.0


class Discovery(HostDiscovery):  # type: ignore[misc]
    """Tells Horovod which hosts there are: those of the hosts file that are ready.

    A change is passed on only when the world of the change before trains, since Horovod forgets a change that comes
    while rank 0 is not listening yet.
    """

    def __init__(self, hosts_file: Path, nodes: Nodes, max_np: int) -> None:
        self._hosts_file, self._nodes, self._max_np = hosts_file, nodes, max_np
        self._wanted: list[str] = []
        self._offered: list[str] = []
        self._offered_at = time.monotonic()
        self._wanted_since: dict[str, float] = {}
        self._problem: str | None = None

    def find_available_hosts_and_slots(self) -> dict[str, int]:
        """Returns the hosts with one slot each. Horovod calls it once a second."""
        wanted = self.refresh()
        usable = self._nodes.of_one_training(wanted)
        if self._offered and not self._is_settled():
            usable = list(self._offered)
        elif self._offered and self._is_company_expected():
            usable = [host for host in usable if host in self._offered]
        usable = self._with_survivor(usable)
        if set(usable) != set(self._offered):
            log.info("hosts: %s", self._difference(usable))
            self._offered, self._offered_at = usable, time.monotonic()
        return dict.fromkeys(self._offered, 1)

    def refresh(self) -> list[str]:
        """Reads the hosts file and connects to its hosts. Returns them; the last ones while the file cannot be read."""
        try:
            self._wanted, self._problem = read_hosts(self._hosts_file), None
        except (OSError, ValueError) as error:
            if str(error) != self._problem:
                self._problem = str(error)
                log.error("%s; the hosts stay as they are", error)
        self._nodes.keep(self._wanted)
        now = time.monotonic()
        self._wanted_since = {host: self._wanted_since.get(host, now) for host in self._wanted}
        return self._wanted

    def _is_company_expected(self) -> bool:
        """Returns whether a host that was added just now still connects: hosts that come together join together."""
        now = time.monotonic()
        connecting = {node.address for node in self._nodes.in_phase(Phase.CONNECTING)}
        return any(now - self._wanted_since.get(host, 0.0) < COMPANY_TIMEOUT_S for host in connecting)

    def _is_settled(self) -> bool:
        """Returns whether the hosts that were offered last train together, or have had time enough."""
        if time.monotonic() - self._offered_at > SETTLE_TIMEOUT_S:
            return True
        offered = [node for host in self._offered if (node := self._nodes.get(host)) is not None]
        active = [node for node in offered if node.phase in (Phase.ACTIVE, Phase.LEAVING)]
        waiting = [node for node in offered if node.phase is Phase.READY]
        if waiting and len(active) < self._max_np:
            return False
        return bool(active) and all(node.joined_size == len(active) for node in active)

    def _with_survivor(self, usable: list[str]) -> list[str]:
        """Returns `usable`, and the present hosts too where none of them would be left to hand the state on."""
        active = {node.address for node in self._nodes.in_phase(Phase.ACTIVE)}
        if active and not active & set(usable):
            return list(dict.fromkeys([*self._offered, *usable]))
        return usable

    def _difference(self, hosts: Sequence[str]) -> str:
        came = [f"+{host}" for host in hosts if host not in self._offered]
        went = [f"-{host}" for host in self._offered if host not in hosts]
        return " ".join([f"{len(hosts)} in all", *came, *went])
