"""The launcher on the head: Horovod's elastic driver over nodes whose workers are warm already.

Horovod's own parts do the work (driver, rendezvous server, registry). Three of them are replaced, in the ways that it
offers:

- The discovery (`trainer.launch.discovery`) starts no process a second, and names no host that is not ready.
- The execution uses the SSH processes of `trainer.launch.node`, which run already.
- The rendezvous server has a longer backlog. With its own, of 5 connections, some of eleven ranks lose a second each.
"""

from __future__ import annotations

import logging
import shlex
import signal
import threading
import time
from collections.abc import Sequence
from typing import Any

from horovod.runner.common.util import secret
from horovod.runner.common.util.timeout import Timeout
from horovod.runner.elastic.settings import ElasticSettings
from horovod.runner.gloo_run import launch_gloo_elastic
from horovod.runner.http.http_server import RendezvousHTTPServer, RendezvousServer

from trainer.checkpoint.open_storage import open_storage
from trainer.checkpoint.storage import StorageError
from trainer.elastic.exchange import has_nccl
from trainer.launch.discovery import Discovery
from trainer.launch.done import FILE_NAME, End, write_end
from trainer.launch.node import Node, Phase
from trainer.launch.nodes import Nodes
from trainer.launch.options import LaunchOptions
from trainer.launch.ssh import ssh_command
from trainer.settings.training import Settings
from trainer.training.results import fetch_results

log = logging.getLogger(__name__)

BACKLOG = 1024
STOP_TIMEOUT_S = 30.0
COOLDOWN_RANGE_S = (1, 30)
EXIT_STOPPED = 143
INTERFACE = "HOROVOD_GLOO_IFACE"


class Launcher:
    """One training over changing nodes, from the first hosts to the results."""

    def __init__(self, options: LaunchOptions, settings: Settings) -> None:
        self._options, self._settings = options, settings
        self._nodes = Nodes(lambda address: ssh_command(options, address))
        self._stopped_by: str | None = None

    def run(self) -> int:
        """Launches the training, waits for its end, fetches the results and writes done.json. Returns the exit code."""
        self._options.results.mkdir(parents=True, exist_ok=True)
        (self._options.results / FILE_NAME).unlink(missing_ok=True)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            end = self._attempt_until_done()
        except Exception as error:  # without a done.json, nobody would learn that the training has ended
            log.exception("the launcher failed")
            end = End("failed", f"the launcher failed: {type(error).__name__}: {error}")
        finally:
            self._nodes.close()
        if self._stopped_by is not None and end.status != "finished":
            log.info("stopped by %s; a new launch continues from the last checkpoint", self._stopped_by)
            return EXIT_STOPPED
        if end.status == "finished":
            end = self._fetch()
        write_end(self._options.results, end)
        log.info("%s%s", end.status, f": {end.reason}" if end.reason else "")
        return 0 if end.status == "finished" else 1

    def _on_signal(self, number: int, frame: Any) -> None:
        self._stopped_by = signal.Signals(number).name

    def _attempt_until_done(self) -> End:
        refusal = self._settings.horovod.refusal(is_elastic=True, has_nccl=has_nccl())
        if refusal is not None:
            return End("failed", refusal)
        end = End("failed", "no attempt was made")
        for attempt in range(1, self._options.attempts + 1):
            end = self._attempt()
            if end.status != "lost" or self._stopped_by is not None:
                return end
            log.error("attempt %d of %d: %s", attempt, self._options.attempts, end.reason)
        return End("failed", end.reason)

    def _attempt(self) -> End:
        """Runs Horovod's driver once."""
        discovery = Discovery(self._options.hosts_file, self._nodes, self._options.max_np)
        if (end := self._wait_for_first_hosts(discovery)) is not None:
            return end
        problem: str | None = None
        try:
            RendezvousHTTPServer.request_queue_size = BACKLOG
            launch_gloo_elastic(
                ["attach"],
                self._execute,
                self._horovod_settings(discovery),
                {"HOROVOD_LAUNCHED_BY": "centavo"},
                lambda driver: {self._options.network_interface},
                RendezvousServer(0),
                None,
            )
        except Exception as error:  # Horovod raises RuntimeError for all that can end a job
            problem = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        return _end_of(self._nodes.everyone(), problem)

    def _wait_for_first_hosts(self, discovery: Discovery) -> End | None:
        """Waits until all hosts of the file are ready, or, after a while, as many as are needed.

        Returns:
            None, or how the training ends before it has begun. It ends at once where too many nodes cannot train as
            they are, since waiting would change nothing.
        """
        needed, began = self._options.min_np, time.monotonic()
        while self._stopped_by is None:
            wanted = discovery.refresh()
            ready, refused = self._nodes.usable(wanted), self._nodes.in_phase(Phase.REFUSED)
            waited_s = time.monotonic() - began
            all_have_spoken = len(ready) + len(refused) >= len(wanted)
            is_time = len(ready) >= needed and (all_have_spoken or waited_s > self._options.start_patience_s)
            if is_time and self._nodes.of_one_training(wanted) == ready:
                return None
            if refused and len(wanted) - len(refused) < needed:
                nodes = "no node takes part" if len(refused) == len(wanted) else f"fewer than {needed} nodes take part"
                return End("failed", f"{nodes}; {refused[0].address}: {refused[0].reason}")
            if waited_s > max(self._options.start_patience_s, self._options.elastic_timeout_s):
                return End("lost", f"fewer than {needed} nodes were ready in {self._options.elastic_timeout_s} s")
            time.sleep(0.1)
        return End("stopped", f"by {self._stopped_by}")

    def _horovod_settings(self, discovery: Discovery) -> Any:
        options = self._options
        return ElasticSettings(
            discovery=discovery,
            min_num_proc=options.min_np,
            max_num_proc=options.max_np,
            elastic_timeout=options.elastic_timeout_s,
            reset_limit=None,
            cooldown_range=COOLDOWN_RANGE_S,
            num_proc=options.min_np,
            verbose=0,
            ssh_port=options.ssh_port,
            key=secret.make_secret_key(),
            start_timeout=Timeout(int(options.start_patience_s), message="Timed out waiting for {activity}."),
            run_func_mode=False,
            nics={options.network_interface},
        )

    def _execute(self, command: str, slot: Any, events: list[threading.Event]) -> tuple[int, float]:
        """Lets the host of `slot` be a rank. Horovod calls it. Returns the rank's exit code, and when it ended."""
        node = self._nodes.get(slot.hostname)
        if node is None or not node.activate(environment_of(command)):
            log.warning("%s is not ready after all", slot.hostname)
            return 1, time.time()
        told_at: float | None = None
        while (code := node.wait(0.1)) is None:
            if told_at is None and any(event.is_set() for event in events):
                told_at = time.monotonic()
                self._stopped_by = self._stopped_by or ("a signal" if events[0].is_set() else None)
                node.stop(f"the launcher was stopped by {self._stopped_by or 'Horovod'}")
            elif told_at is not None and time.monotonic() - told_at > STOP_TIMEOUT_S:
                node.hang_up()
                node.kill()
        log.info("%s ended with exit code %d", slot.hostname, code)
        return code, time.time()

    def _fetch(self) -> End:
        try:
            files = fetch_results(open_storage(self._settings.storage), self._options.results)
        except (StorageError, OSError) as error:
            return End("failed", f"the training has finished, but its results could not be fetched: {error}")
        return End("finished") if "scores.json" in files else End("failed", "the training left no results")


def _end_of(nodes: Sequence[Node], problem: str | None) -> End:
    """Returns how an attempt ended, by what the nodes have said. `problem` is what Horovod said."""
    for outcome in ("finished", "failed", "stopped"):
        for node in nodes:
            if node.outcome == outcome:
                return End(outcome, None if outcome == "finished" else f"{node.address}: {node.reason}")
    return End("lost", problem or "all ranks are lost")


def environment_of(command: str) -> dict[str, str]:
    """Returns the HOROVOD_* variables of a command line that Horovod made: `env NAME=value ... command`.

    The network interface is left out. Horovod names the head's; the nodes may have others, and have them in their own
    environment.
    """
    words = shlex.split(command)
    pairs = (word.split("=", 1) for word in words if "=" in word)
    return {name: value for name, value in pairs if name.startswith("HOROVOD_") and name != INTERFACE}
