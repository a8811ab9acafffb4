"""Horovod's elastic driver, with votes that end, notices over SSH, and one thread for each rank."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from typing import Any

from horovod.runner.elastic.discovery import HostDiscovery
from horovod.runner.elastic.driver import ElasticDriver

from trainer.launch.ballot import Ballot, Vote
from trainer.launch.node import Phase
from trainer.launch.nodes import Nodes
from trainer.launch.options import LaunchOptions
from trainer.launch.rendezvous_server import RendezvousServer

log = logging.getLogger(__name__)

COOLDOWN_RANGE_S = (1, 30)
"""How long Horovod leaves a host out whose rank has failed: twice as long each time."""
COUNT_S = 1.0

RunRank = Callable[[Any, threading.Event], int]
"""Lets the host of a slot be a rank, and returns the rank's exit code. The event is set when all ranks are to stop."""


class Driver(ElasticDriver):  # type: ignore[misc]
    """Forms one world after another.

    Horovod's own driver finds the hosts, assigns the ranks and cools hosts down. Three of its parts are replaced: the
    votes (`Ballot`), the notices of changed hosts, which go over SSH to rank 0 and not to a listening service there,
    and the threads that wait for the ranks.
    """

    def __init__(
        self,
        server: RendezvousServer,
        discovery: HostDiscovery,
        nodes: Nodes,
        options: LaunchOptions,
        patience_s: Callable[[], float],
        run_rank: RunRank,
    ) -> None:
        self._nodes, self._run_rank = nodes, run_rank
        self._rank_threads: list[threading.Thread] = []
        self._ballot = Ballot(self, patience_s)
        super().__init__(
            server,
            discovery,
            options.min_np,
            options.max_np,
            timeout=options.elastic_timeout_s,
            cooldown_range=COOLDOWN_RANGE_S,
        )
        self._worker_registry = self._ballot
        self.problem: str | None = None
        """Why no further world could be formed; None where the ranks have ended by themselves."""

    def begin(self) -> None:
        """Forms the first world, and all later ones in a thread.

        Raises:
            Exception: There are too few hosts in time.
        """
        self._rendezvous.start(self.place)
        self.start(self._min_num_proc, None)
        threading.Thread(target=self._count_votes, name="ballot", daemon=True).start()

    def end(self, timeout_s: float) -> None:
        """Tells all ranks to stop, waits for them, and listens no more."""
        self.stop()
        deadline = time.monotonic() + timeout_s
        for thread in list(self._rank_threads):
            thread.join(max(0.0, deadline - time.monotonic()))

    @property
    def is_over(self) -> bool:
        """Whether all ranks have ended, or no further world will be formed."""
        return bool(self.finished()) or not any(thread.is_alive() for thread in self._rank_threads)

    def hosts(self) -> set[str]:
        """Returns the hosts of the present world."""
        return set(self._host_assignments)

    def place(self, host: str, slot: int) -> str | None:
        """Takes the vote of a rank that is ready, and returns its place in the next world.

        Returns:
            Six numbers; -1 where the host is to leave the training; None where it is to begin anew, since it is wanted
            and has lost its place.
        """
        self._ballot.await_next_world(host)
        if self.has_rank_assignment(host, slot):
            return str(self.get_slot_info(host, slot).to_response_string())
        node = self._nodes.get(host)
        if self._nodes.is_wanted(host) and (node is None or node.phase is not Phase.LEAVING):
            return None
        return "-1,-1,-1,-1,-1,-1"

    def close(self, votes: dict[str, Vote], silent: set[str]) -> None:
        """Forms the next world by these votes, without the hosts that stayed silent."""
        if Vote.READY not in votes.values() or Vote.FINISHED in votes.values():
            self.stop()
            return
        for host, vote in votes.items():
            if vote is Vote.FAILED:
                self._host_manager.blacklist(host)
        for host in silent:
            self._host_manager.blacklist(host)
            self._nodes.drop(host, "it did not come to the next world, which all others were ready for")
        try:
            self.resume()
        except Exception as error:  # Horovod raises what can end a job: too few hosts in time, no holder of the state
            self.problem = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
            log.error("no further world could be formed: %s", self.problem)
            self.stop()

    def get_worker_client(self, slot_info: Any) -> Any:
        """Returns what takes a notice of changed hosts for a rank. Horovod's driver calls it, for rank 0."""
        return self._nodes.get(slot_info.hostname)

    def _start_worker_process(self, slot_info: Any) -> None:
        thread = threading.Thread(
            target=self._run, args=(slot_info,), name=f"rank on {slot_info.hostname}", daemon=True
        )
        thread.start()
        self._rank_threads.append(thread)

    def _run(self, slot_info: Any) -> None:
        code = self._run_rank(slot_info, self._shutdown)
        if self.has_rank_assignment(slot_info.hostname, slot_info.local_rank):
            self._ballot.record(slot_info.hostname, Vote.FINISHED if code == 0 else Vote.FAILED)

    def _count_votes(self) -> None:
        while not self.finished():
            self._ballot.count_when_due(COUNT_S)
