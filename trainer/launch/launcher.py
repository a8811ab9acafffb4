"""The launcher on the head: Horovod's elastic driver over nodes that are warm already, from a hosts file that changes.

Horovod's own parts do the work (driver, rendezvous server, registry). Three are replaced, through the places that it
has for them: the discovery (no process a second, and no host that is not ready), the execution (the SSH processes of
`trainer.launch.nodes`, which are there already) and the backlog of the rendezvous server (5 connections, of which eleven
ranks lose some, a second each).
"""

from __future__ import annotations

import json
import logging
import os
import shlex
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from horovod.runner.common.util import secret
from horovod.runner.common.util.timeout import Timeout
from horovod.runner.elastic.discovery import HostDiscovery
from horovod.runner.elastic.settings import ElasticSettings
from horovod.runner.gloo_run import launch_gloo_elastic
from horovod.runner.http.http_server import RendezvousHTTPServer, RendezvousServer

from trainer.checkpoint.storage import StorageError, open_storage
from trainer.elastic.world import has_nccl
from trainer.launch.nodes import Node, Nodes, Phase
from trainer.settings.settings import Settings
from trainer.training.ending import fetch_results

log = logging.getLogger(__name__)

BACKLOG = 1024
SETTLE_TIMEOUT_S = 45.0
COMPANY_TIMEOUT_S = 15.0
STOP_TIMEOUT_S = 30.0
COOLDOWN_RANGE_S = (1, 30)
EXIT_STOPPED = 143
INTERFACE = "HOROVOD_GLOO_IFACE"


@dataclass(frozen=True)
class LaunchOptions:
    """How to reach the nodes, and how many ranks there may be."""

    hosts_file: Path
    results: Path
    attach_command: str
    network_interface: str
    min_np: int = 1
    max_np: int = 64
    ssh_port: int | None = None
    ssh_identity_file: Path | None = None
    ssh_config: Path | None = None
    ssh_user: str | None = None
    start_patience_s: float = 120.0
    elastic_timeout_s: int = 600
    attempts: int = 3


def ssh_command(options: LaunchOptions, address: str) -> list[str]:
    """The command that ties the node at `address`. The user's own SSH settings and known hosts are left alone."""
    command = ["ssh", "-T", "-o", "BatchMode=yes", "-o", "ServerAliveInterval=5", "-o", "ServerAliveCountMax=3"]
    if options.ssh_config is not None:
        command += ["-F", str(options.ssh_config)]
    else:
        known_hosts = options.results / "known_hosts"
        command += [
            "-F",
            "/dev/null",
            "-o",
            f"UserKnownHostsFile={known_hosts}",
            "-o",
            "GlobalKnownHostsFile=/dev/null",
        ]
        command += ["-o", "StrictHostKeyChecking=accept-new", "-o", "LogLevel=ERROR"]
    if options.ssh_identity_file is not None:
        command += ["-i", str(options.ssh_identity_file), "-o", "IdentitiesOnly=yes"]
    if options.ssh_port is not None:
        command += ["-p", str(options.ssh_port)]
    if options.ssh_user is not None:
        command += ["-l", options.ssh_user]
    return [*command, address, options.attach_command]


def read_hosts(path: Path) -> list[str]:
    """The addresses of a hosts file, in its order: one a line, `address` or `address:1`, # for comments.

    Raises OSError when it cannot be read, ValueError for a line that is no address.
    """
    addresses = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        address, _, slots = text.partition(":")
        if " " in text or not address or slots not in ("", "1"):
            raise ValueError(f"{path}, line {number}: expected an address, or address:1, not {text!r}")
        addresses.append(address)
    return list(dict.fromkeys(addresses))


class Discovery(HostDiscovery):  # type: ignore[misc]
    """Tells Horovod which hosts there are: those of the hosts file that are ready, one settled world after another.

    A change is passed on only when the world of the one before trains: Horovod forgets a change that comes while rank
    0 is not listening yet.
    """

    def __init__(self, hosts_file: Path, nodes: Nodes, max_np: int) -> None:
        self._hosts_file, self._nodes, self._max_np = hosts_file, nodes, max_np
        self._wanted: list[str] = []
        self._offered: list[str] = []
        self._offered_at = time.monotonic()
        self._wanted_since: dict[str, float] = {}
        self._problem: str | None = None

    def find_available_hosts_and_slots(self) -> dict[str, int]:
        """Called by Horovod once a second."""
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
        """Read the hosts file and tie its hosts. While it cannot be read, what it said last holds."""
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
        """Whether a host is on its way that was added just now: hosts that come together join together."""
        now = time.monotonic()
        connecting = {node.address for node in self._nodes.in_phase(Phase.CONNECTING)}
        return any(now - self._wanted_since.get(host, 0.0) < COMPANY_TIMEOUT_S for host in connecting)

    def _is_settled(self) -> bool:
        if time.monotonic() - self._offered_at > SETTLE_TIMEOUT_S:
            return True
        offered = [node for host in self._offered if (node := self._nodes.get(host)) is not None]
        active = [node for node in offered if node.phase in (Phase.ACTIVE, Phase.LEAVING)]
        waiting = [node for node in offered if node.phase is Phase.READY]
        if waiting and len(active) < self._max_np:
            return False
        return bool(active) and all(node.joined_size == len(active) for node in active)

    def _with_survivor(self, usable: list[str]) -> list[str]:
        """A world none of whose ranks is in the next has nobody to hand the state on: let the new ones join first."""
        active = {node.address for node in self._nodes.in_phase(Phase.ACTIVE)}
        if active and not active & set(usable):
            return list(dict.fromkeys([*self._offered, *usable]))
        return usable

    def _difference(self, hosts: Sequence[str]) -> str:
        came = [f"+{host}" for host in hosts if host not in self._offered]
        went = [f"-{host}" for host in self._offered if host not in hosts]
        return " ".join([f"{len(hosts)} in all", *came, *went])


class Launcher:
    """One training over changing nodes, from the first hosts to the results."""

    def __init__(self, options: LaunchOptions, settings: Settings) -> None:
        self._options, self._settings = options, settings
        self._nodes = Nodes(lambda address: ssh_command(options, address))
        self._stopped_by: str | None = None

    def run(self) -> int:
        """Launch, wait for the end, fetch the results, write done.json. Returns the exit code."""
        self._options.results.mkdir(parents=True, exist_ok=True)
        done = self._options.results / "done.json"
        done.unlink(missing_ok=True)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._on_signal)
        try:
            status, reason = self._attempt_until_done()
        except Exception as error:  # written down like any failure: who waits for the end would never learn of it
            log.exception("the launcher failed")
            status, reason = "failed", f"the launcher failed: {type(error).__name__}: {error}"
        finally:
            self._nodes.close()
        if self._stopped_by is not None and status != "finished":
            log.info("stopped by %s; a new launch goes on from the last checkpoint", self._stopped_by)
            return EXIT_STOPPED
        if status == "finished":
            status, reason = self._fetch()
        _write_atomically(done, json.dumps({"status": status, "reason": reason}) + "\n")
        log.info("%s%s", status, f": {reason}" if reason else "")
        return 0 if status == "finished" else 1

    def _on_signal(self, number: int, frame: Any) -> None:
        self._stopped_by = signal.Signals(number).name

    def _attempt_until_done(self) -> tuple[str, str | None]:
        reason = self._settings.horovod.refusal(is_elastic=True, has_nccl=has_nccl())
        if reason is not None:
            return "failed", reason
        for attempt in range(1, self._options.attempts + 1):
            status, reason = self._attempt()
            if status in ("finished", "stopped", "failed") or self._stopped_by is not None:
                return status, reason
            log.error("attempt %d of %d: %s", attempt, self._options.attempts, reason)
        return "failed", reason

    def _attempt(self) -> tuple[str, str | None]:
        """Run Horovod's driver once. "lost" is an end that a new attempt, from the last checkpoint, may mend."""
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
        return self._outcome(self._nodes.everyone(), problem)

    def _outcome(self, nodes: Sequence[Node], problem: str | None) -> tuple[str, str | None]:
        for outcome in ("finished", "failed", "stopped"):
            for node in nodes:
                if node.outcome == outcome:
                    return outcome, None if outcome == "finished" else f"{node.address}: {node.reason}"
        return "lost", problem or "all ranks are lost"

    def _wait_for_first_hosts(self, discovery: Discovery) -> tuple[str, str] | None:
        """Wait until all hosts of the file are ready, or, after a while, as many as are needed. None, or how it ended:
        at once where too many nodes cannot train as they are, since waiting would change nothing."""
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
                return "failed", f"{nodes}; {refused[0].address}: {refused[0].reason}"
            if waited_s > max(self._options.start_patience_s, self._options.elastic_timeout_s):
                return "lost", f"fewer than {needed} nodes were ready in {self._options.elastic_timeout_s} s"
            time.sleep(0.1)
        return "stopped", f"by {self._stopped_by}"

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
        """Let the host of `slot` be a rank until it ends, as Horovod asks for it. Its exit code and when."""
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

    def _fetch(self) -> tuple[str, str | None]:
        try:
            files = fetch_results(open_storage(self._settings.storage), self._options.results)
        except (StorageError, OSError) as error:
            return "failed", f"the training has finished, but its results could not be fetched: {error}"
        return ("finished", None) if "scores.json" in files else ("failed", "the training left no results")


def environment_of(command: str) -> dict[str, str]:
    """The HOROVOD_* variables of a command line that Horovod made: `env NAME=value ... command`.

    But for the network interface: Horovod names the head's, and the nodes may have others, which are in their own
    environment.
    """
    words = shlex.split(command)
    pairs = (word.split("=", 1) for word in words if "=" in word)
    return {name: value for name, value in pairs if name.startswith("HOROVOD_") and name != INTERFACE}


def _write_atomically(path: Path, text: str) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    os.replace(temporary, path)
