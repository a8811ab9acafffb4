"""The launcher on the head: it reaches the workers of the hosts file over SSH, and has them make steps."""

from __future__ import annotations

import argparse
import fcntl
import json
import time
from pathlib import Path
from typing import Any

from .checkpoint import Checkpoints
from .link import Link
from .notes import note, replace

STEP_S = 0.15
STEP_LIMIT_S = 4.0
"""How long a rank may take for a step. One that takes longer is dropped, and may come back when it answers again."""
COOL_S = 4.0
START_PATIENCE_S = 30.0
"""How long all hosts are waited for at the start. Then one suffices."""
CHECKPOINT_STEPS = 10


class Launcher:
    """One training over changing nodes."""

    def __init__(self, settings: dict[str, Any], options: argparse.Namespace) -> None:
        self._settings, self._options = settings, options
        self._checkpoints = Checkpoints(settings)
        self._links: dict[str, Link] = {}
        self._members: list[str] = []
        self._cool_until: dict[str, float] = {}
        self._hosts: list[str] = []
        self._step = 0

    def run(self) -> int:
        """Trains to the end. Returns the exit code."""
        results: Path = self._options.results
        done = results / "done.json"
        with open(self._options.hosts_file.with_name("launcher.lock"), "a") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not self._options.wanted_file.exists() or _is_finished(done):
                return 0
            done.unlink(missing_ok=True)
            results.mkdir(parents=True, exist_ok=True)
            self._step = self._checkpoints.latest()
            note(self._settings, "launched", step=self._step)
            self._wait_for_hosts()
            while not (Path.cwd() / "end").exists() and self._step < self._settings["stop"]["steps"]:
                self._go_on()
            self._finish(results)
            self._options.wanted_file.unlink(missing_ok=True)
        return 0

    def _wait_for_hosts(self) -> None:
        deadline = time.monotonic() + START_PATIENCE_S
        while True:
            self._look()
            ready = [host for host in self._hosts if self._is_ready(host)]
            if self._hosts and ready and (len(ready) == len(self._hosts) or time.monotonic() > deadline):
                return
            time.sleep(0.1)

    def _go_on(self) -> None:
        """Takes up the hosts file, and makes a step."""
        began = time.monotonic()
        self._look()
        self._change_members()
        if self._members:
            self._make_step()
        time.sleep(max(0.02, STEP_S - (time.monotonic() - began)))

    def _look(self) -> None:
        """Reads the hosts file, and reaches for hosts that are new. A file that names nobody is not followed."""
        try:
            lines = self._options.hosts_file.read_text().splitlines()
        except (OSError, UnicodeDecodeError):
            lines = []
        hosts = [line.partition(":")[0] for line in lines if line.strip() and not line.startswith("#")]
        self._hosts = hosts or self._hosts
        now = time.monotonic()
        for host in self._hosts:
            link = self._links.get(host)
            if link is not None and link.has_ended:
                self._drop(host, "its connection has ended")
            elif link is None and self._cool_until.get(host, 0.0) <= now:
                self._links[host] = Link(self._options, host)

    def _change_members(self) -> None:
        """Lets in who is ready, and lets go who is not in the hosts file, unless nobody would be left."""
        staying = [host for host in self._members if host in self._hosts]
        ready = [host for host in self._hosts if host not in self._members and self._is_ready(host)]
        members = [*staying, *ready]
        if not members and self._members:
            return
        for host in [host for host in self._links if host not in self._hosts and host not in members]:
            self._links.pop(host).end("drained")
        if members != self._members:
            if not self._members:
                self._step = self._checkpoints.latest()
            self._members = members
            note(self._settings, "world", members=members, step=self._step)

    def _make_step(self) -> None:
        step, size = self._step + 1, len(self._members)
        for rank, host in enumerate(self._members):
            self._links[host].send({"rank": rank, "size": size, "step": step})
        deadline = time.monotonic() + STEP_LIMIT_S
        late = [host for host in self._members if not self._links[host].await_done(deadline)]
        for host in late:
            self._drop(host, "it did not make its step")
        if self._members:
            self._step = step
            note(self._settings, "step", step=step, members=self._members)
            if step % CHECKPOINT_STEPS == 0:
                self._checkpoints.keep(step)
        else:
            note(self._settings, "all-lost", step=self._step)

    def _drop(self, host: str, why: str) -> None:
        link = self._links.pop(host, None)
        if link is not None:
            link.cut()
        if host in self._members:
            self._members = [other for other in self._members if other != host]
            note(self._settings, "dropped", host=host, why=why, step=self._step)
        self._cool_until[host] = time.monotonic() + COOL_S

    def _is_ready(self, host: str) -> bool:
        link = self._links.get(host)
        return link is not None and link.is_ready and not link.has_ended

    def _finish(self, results: Path) -> None:
        """Keeps the results in the storage, lets all ranks end, and writes done.json."""
        self._checkpoints.keep_until_done("results/model.params", str(self._step))
        for link in self._links.values():
            link.end("finished")
        (results / "model.params").write_text(f"{self._step}\n")
        note(self._settings, "finished-all", step=self._step)
        replace(results / "done.json", json.dumps({"status": "finished", "reason": None}) + "\n")


def _is_finished(done: Path) -> bool:
    try:
        return bool(json.loads(done.read_text())["status"] == "finished")
    except (OSError, ValueError, TypeError, KeyError):
        return False
