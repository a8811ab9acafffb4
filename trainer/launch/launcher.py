"""The launcher on the head: Horovod's elastic driver over nodes whose workers are warm already.

Horovod finds the hosts, assigns the ranks and cools hosts down. Around it:

- The discovery (`trainer.launch.discovery`) starts no process a second, and names no host that is not ready.
- Ranks are reached through the SSH processes of `trainer.launch.node`, which run already.
- The rendezvous server (`trainer.launch.rendezvous_server`) answers only ranks of this attempt.
- The votes (`trainer.launch.ballot`) end, also where a rank hangs.
"""

from __future__ import annotations

import json
import logging
import signal
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from trainer.elastic.exchange import has_nccl
from trainer.files.lock import only_one
from trainer.launch.attempt import Attempt
from trainer.launch.discovery import Discovery
from trainer.launch.done import FILE_NAME, End, write_end
from trainer.launch.launcher_fact import LauncherFactWriter
from trainer.launch.node import Node, Phase
from trainer.launch.node_reports import ReportsWriter
from trainer.launch.nodes import Nodes
from trainer.launch.options import LaunchOptions
from trainer.launch.ssh import ssh_command
from trainer.settings.training import Settings
from trainer.storage.opening import open_storage
from trainer.storage.storage import StorageError
from trainer.training.results import fetch_results

log = logging.getLogger(__name__)

EXIT_STOPPED = 143
PAUSE_S = 5.0
"""The pause before something that has failed is tried again."""
FETCH_PATIENCE_S = 1800.0
WRITE_PATIENCE_S = 1800.0
PING_S = 5.0
LOOK_S = 60.0


class Launcher:
    """One training over changing nodes, from the first hosts to the results."""

    def __init__(self, options: LaunchOptions, settings: Settings) -> None:
        self._options, self._settings = options, settings
        self._nodes = Nodes(lambda address: ssh_command(options, address))
        self._fact = LauncherFactWriter(Path(settings.facts.path))
        self._reports = ReportsWriter(Path(settings.facts.path))
        self._stopped_by: str | None = None
        self._pinged_at = 0.0
        self._looked_at = time.monotonic()

    def run(self) -> int:
        """Launches the training, waits for its end, fetches the results and writes done.json. Returns the exit code.

        A launcher that an earlier supervisor has left behind is waited for. Where the training has ended already,
        nothing is done.
        """
        wanted = self._options.wanted_file
        with only_one(self._options.hosts_file.with_name("launcher.lock")):
            if wanted is not None and not wanted.exists():
                log.info("%s is missing: nothing is launched", wanted)
                return 0
            if (end := self._past_end()) is None:
                end = self._launch()
            if end is None:
                log.info("stopped by %s; a new launch continues from the last checkpoint", self._stopped_by)
                return EXIT_STOPPED
            if wanted is not None:
                wanted.unlink(missing_ok=True)
            log.info("%s%s", end.status, f": {end.reason}" if end.reason else "")
            return 0 if end.status == "finished" else 1

    def _past_end(self) -> End | None:
        """Returns how this training has ended already; None where it has not, or where a new launch may succeed."""
        done = self._options.results / FILE_NAME
        try:
            is_finished = json.loads(done.read_text()).get("status") == "finished"
        except (OSError, ValueError, AttributeError):
            is_finished = False
        if is_finished:
            log.info("%s says that the training has finished: nothing is launched", done)
            return End("finished")
        done.unlink(missing_ok=True)
        return None

    def _launch(self) -> End | None:
        """Trains, and writes done.json. Returns how the training ended, or None where the launcher was stopped."""
        self._options.results.mkdir(parents=True, exist_ok=True)
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
            return None
        fetched = self._fetch() if end.status == "finished" else end
        if fetched is None:
            return None
        end = fetched
        self._write_end(end)
        self._fact.update(state="ended", reason=end.reason, hosts=())
        return end

    def _is_stopped(self) -> bool:
        """Returns whether a signal has come, or the file that says that this launcher is wanted is gone."""
        wanted = self._options.wanted_file
        if self._stopped_by is None and wanted is not None and not wanted.exists():
            self._stopped_by = f"the removal of {wanted}"
        return self._stopped_by is not None

    def _on_signal(self, number: int, frame: Any) -> None:
        self._stopped_by = signal.Signals(number).name

    def _attempt_until_done(self) -> End:
        """Trains, from the last checkpoint again and again, until attempts in a row have got no further for long."""
        refusal = self._settings.horovod.refusal(is_elastic=True, has_nccl=has_nccl())
        if refusal is not None:
            return End("failed", refusal)
        number = in_vain = 0
        further_at = time.monotonic()
        while True:
            number, step = number + 1, self._nodes.step  # the highest step so far
            end = self._attempt(number)
            if end.status not in ("lost", "stopped") or self._stopped_by is not None:
                return end
            if self._nodes.step > step:
                in_vain, further_at = 0, time.monotonic()
            in_vain += 1
            log.error("attempt %d ended (%d in a row without getting further): %s", number, in_vain, end.reason)
            is_long = time.monotonic() - further_at >= self._options.patience_s
            if in_vain >= self._options.attempts and is_long:
                return End("failed", end.reason)
            self._fact.update(state="waiting", reason=end.reason)
            self._nodes.forget_outcomes()
            self._pause()

    def _pause(self) -> None:
        deadline = time.monotonic() + PAUSE_S
        while not self._is_stopped() and time.monotonic() < deadline:
            time.sleep(0.1)

    def _attempt(self, number: int) -> End:
        """Runs Horovod's driver once."""
        discovery = Discovery(self._options.hosts_file, self._nodes, self._options.max_np)
        self._fact.update(state="waiting", attempt=number)
        if (end := self._wait_for_first_hosts(discovery)) is not None:
            return end
        self._nodes.begin_attempt()
        self._fact.update(state="training")
        attempt = Attempt(self._options, self._settings.horovod, self._nodes, discovery)
        problem = attempt.run(lambda: f"stopped by {self._stopped_by}" if self._is_stopped() else None, self._watch)
        return _end_of(self._nodes.everyone(), problem)

    def _watch(self) -> None:
        """Tells the ranks that their launcher is alive, and writes what they do and report."""
        if time.monotonic() - self._pinged_at > PING_S:
            self._pinged_at = time.monotonic()
            self._nodes.ping()
        hosts = tuple(sorted(node.address for node in self._nodes.in_phase(Phase.ACTIVE, Phase.LEAVING)))
        self._fact.update(step=self._nodes.step, hosts=hosts, dropped=tuple(self._nodes.dropped()))
        self._reports.update(self._nodes.in_phase(Phase.ACTIVE))

    def _wait_for_first_hosts(self, discovery: Discovery) -> End | None:
        """Waits until all hosts of the file are ready, or, after a while, as many as are needed.

        Returns:
            None, or how the training ends before it has begun. It ends at once where too many nodes cannot train as
            they are, since waiting would change nothing.
        """
        needed, began = self._options.min_np, time.monotonic()
        while not self._is_stopped():
            wanted = discovery.refresh()
            self._fact.update()
            ready, refused = self._nodes.usable(wanted), self._nodes.in_phase(Phase.REFUSED)
            waited_s = time.monotonic() - began
            all_have_spoken = len(ready) + len(refused) >= len(wanted)
            is_time = len(ready) >= needed and (all_have_spoken or waited_s > self._options.start_patience_s)
            if is_time and self._nodes.of_one_training(wanted) == ready:
                return None
            if refused and len(wanted) - len(refused) < needed:
                nodes = "no node takes part" if len(refused) == len(wanted) else f"fewer than {needed} nodes take part"
                return End("failed", f"{nodes}; {refused[0].address}: {refused[0].reason}")
            if not ready and self._are_results_there():
                return End("finished")
            if waited_s > max(self._options.start_patience_s, self._options.elastic_timeout_s):
                return End("lost", f"fewer than {needed} nodes were ready in {self._options.elastic_timeout_s} s")
            time.sleep(0.1)
        return End("stopped", f"by {self._stopped_by}")

    def _are_results_there(self) -> bool:
        """Returns whether the training has finished before: then no worker will ever be ready. Looks once a minute."""
        if time.monotonic() - self._looked_at < LOOK_S:
            return False
        self._looked_at = time.monotonic()
        try:
            return bool(open_storage(self._settings.storage).names("results/scores.json"))
        except (StorageError, OSError) as error:
            log.warning("the storage does not answer: %s", error)
            return False

    def _fetch(self) -> End | None:
        """Copies the results to the head. A storage that does not answer is asked again and again.

        Returns:
            How the training ended, or None where the launcher was stopped meanwhile.
        """
        self._fact.update(state="fetching")
        deadline = time.monotonic() + FETCH_PATIENCE_S
        storage = open_storage(self._settings.storage)
        while True:
            try:
                files = fetch_results(storage, self._options.results)
                return End("finished") if "scores.json" in files else End("failed", "the training left no results")
            except (StorageError, OSError) as error:
                problem = f"its results in {storage.location} could not be fetched: {error}"
            if self._is_stopped():
                return None
            if time.monotonic() > deadline:
                return End("failed", f"the training has finished, but {problem}")
            log.error("%s; trying again", problem)
            self._fact.update(reason=problem)
            self._pause()

    def _write_end(self, end: End) -> None:
        """Writes done.json, as soon as there is room for it on the disk."""
        deadline = time.monotonic() + WRITE_PATIENCE_S
        while True:
            try:
                write_end(self._options.results, end)
                return
            except OSError as error:
                if time.monotonic() > deadline:
                    raise
                log.error("done.json cannot be written: %s; trying again", error)
            self._pause()


def _end_of(nodes: Sequence[Node], problem: str | None) -> End:
    """Returns how an attempt ended, by what the nodes have said. `problem` is what Horovod said."""
    for outcome in ("finished", "failed", "stopped"):
        for node in nodes:
            if node.outcome == outcome:
                return End(outcome, None if outcome == "finished" else f"{node.address}: {node.reason}")
    return End("lost", problem or "all ranks are lost")
