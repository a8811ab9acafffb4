"""One training of three ranks with a fault in it. It is tended as supervisors tend workers and launcher."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.fleet import Fleet, Host
from tests.support.local_cloud import LocalCloud, is_alive

STEPS, COMMIT_STEPS = 150, 10
RANKS = 3
BEGIN_STEP = 30
"""The training has gone so far when its fault comes."""
LIMIT_S = 300.0
"""A training that has not ended by then is stuck. It takes 10 to 40 seconds on a machine that is idle."""
START_PATIENCE_S = 60.0
SILENT_S = 60.0
"""A worker that trains and has said nothing for so long hangs. The controller would replace its node."""
GOING_S = 60.0
"""How long workers may take to end after the launcher. One that has just been started has to warm up first."""
FAULTY_RANK = Path(__file__).parents[2] / "support" / "faulty_rank.py"
BUCKET = "training"
_NETS = itertools.cycle(range(97, 104))
"""Trainings that run side by side have addresses of their own."""


@dataclass(frozen=True)
class Plot:
    """What happens in a training.

    Attributes:
        kind: The row of the table that it is counted in.
        act: Does the harm, once `BEGIN_STEP` steps are made. It returns when the harm is done.
        faulty: What goes wrong in the ranks themselves; see `faulty_rank.py`.
        sections: Settings of the training in place of the usual ones.
        s3: Whether the training stores its checkpoints in the S3 of a localcloud.
        most_lost: The most steps that the training may make again.
        expected: How many ranks the training has to end with, at least.
        skipped: How many updates have to be skipped.
        corrected: Whether a rank has to take over the state of the others.
        evidence: A pattern that the log of the launcher and the ranks has to have.
    """

    kind: str
    act: Callable[[Trial], None]
    faulty: str = "[]"
    sections: dict[str, Any] = field(default_factory=dict)
    s3: bool = False
    most_lost: int = COMMIT_STEPS
    expected: int = 2
    skipped: int = 0
    corrected: bool = False
    evidence: str = ""


def settings(plot: Plot) -> dict[str, Any]:
    """Returns the settings of a training of half a minute."""
    return {
        "stop": {"steps": STEPS},
        "corpus": {"kind": "generated", "pairs": 1500, "held_out": 20},
        "vocabulary": {"size": 400},
        "model": {"preset": "tiny", "layers": 1, "units": 32, "hidden": 32, "heads": 2},
        "batch": {"tokens": 768, "max_tokens": 120},
        "checkpoint": {"every_steps": COMMIT_STEPS},
        "translate": {"beam_size": 1, "max_length": 8},
        "horovod": {"cycle_time_ms": 10, "vote_timeout_s": 6, "gloo_timeout_s": 5, "stuck_timeout_s": 30},
        **({"storage": f"s3://{BUCKET}/one"} if plot.s3 else {}),
        **plot.sections,
    }


class Trial:
    """One training. Workers and launcher that end with an error are started again, as their supervisors would."""

    def __init__(self, directory: Path, plot: Plot) -> None:
        self.plot, self.directory = plot, directory
        self.fleet = Fleet(directory / "fleet", settings(plot), net=next(_NETS))
        self.cloud = LocalCloud(directory / "cloud") if plot.s3 else None
        self.told: list[str] = []
        self.has_happened = False
        self.highest_step = 0
        """The highest step when the fault began."""
        self.code: int | None = None
        self.took_s = 0.0
        self.left: list[str] = []
        """The command lines of processes that were still there after the end."""
        self.violations: list[str] = []
        """What a plot saw itself that must not be."""
        self._others: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> Trial:
        if self.cloud is not None:
            self.cloud.__enter__()
            self.cloud.client("s3").create_bucket(Bucket=BUCKET)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for process in self._others:
            process.kill()
            process.wait()
        self.fleet.close()
        if self.cloud is not None:
            self.cloud.__exit__()

    def run(self) -> None:
        """Trains, lets the harm be done, and waits for the end."""
        began = time.monotonic()
        hosts = [self.add(number) for number in range(1, RANKS + 1)]
        self.fleet.write_hosts(hosts)
        self.launch()
        if self._goes_on_until(lambda: self.fleet.step() >= BEGIN_STEP and self.world() == RANKS):
            self.has_happened, self.highest_step = True, self.fleet.step()
            self.tell("the fault begins")
            harm = threading.Thread(target=self._harm, daemon=True)
            harm.start()
            self._goes_on_until(lambda: not harm.is_alive() and self.launcher_code in (0, 1))
        self.code, self.took_s = self.launcher_code, time.monotonic() - began
        self.tell(f"the launcher ended with {self.code}")
        self._wait_for_workers()

    def _harm(self) -> None:
        try:
            self.plot.act(self)
        except Exception as error:  # the invariants tell of it, and the trial goes on
            self.has_happened = False
            self.tell(f"the fault could not be brought about: {type(error).__name__}: {error}")

    def tell(self, what: str) -> None:
        """Notes an event."""
        self.told.append(f"{time.strftime('%H:%M:%S')} step {self.fleet.step()}: {what}")

    # what a fault needs

    def add(self, number: int) -> Host:
        """Adds a host, whose worker has the plot's own flaws."""
        host = self.fleet.add(number, speed=0.1, warm=False)
        host.command = [sys.executable, str(FAULTY_RANK), self.plot.faulty]
        if self.cloud is not None:
            host.environment |= self.cloud.environment
        host.start_worker()
        return host

    def look_after(self, process: subprocess.Popen[bytes]) -> None:
        """Ends a process at the end of the trial."""
        self._others.append(process)

    def launch(self) -> None:
        """Starts the launcher."""
        environment = None if self.cloud is None else self.cloud.environment
        self.fleet.launch(environment=environment, start_patience_s=START_PATIENCE_S)

    @property
    def launcher_code(self) -> int | None:
        """The launcher's exit code; None while it runs."""
        return None if self.fleet.launcher is None else self.fleet.launcher.poll()

    def rank(self, number: int) -> Host:
        """Returns the host whose worker is this rank."""
        return next(host for host in self.fleet.hosts.values() if host.fact().get("rank") == number)

    def pid(self, host: Host) -> int:
        """Returns the process of a host's worker."""
        assert host.worker is not None
        return host.worker.pid

    def kill(self, host: Host, number: signal.Signals = signal.SIGKILL) -> None:
        """Sends a signal to a host's worker."""
        self.tell(f"{host.address}, rank {host.fact().get('rank')}, gets {number.name}")
        os.kill(self.pid(host), number)

    def world(self, without: Host | None = None) -> int:
        """Returns the size of the world in which all ranks train, one host left out; 0 where there is none."""
        hosts = [host for host in self.fleet.hosts.values() if host is not without]
        sizes = [fact["world_size"] for host in hosts if (fact := _training(host))]
        return len(sizes) if set(sizes) == {len(sizes)} else 0

    def wait(self, condition: Callable[[], bool], what: str, limit_s: float = LIMIT_S / 2) -> None:
        """Waits for a condition, or for the end of the training. Raises TimeoutError."""
        deadline = time.monotonic() + limit_s
        while not condition() and self.launcher_code not in (0, 1):
            if time.monotonic() > deadline:
                raise TimeoutError(what)
            time.sleep(0.05)

    def train_on(self, steps: int) -> None:
        """Waits until so many steps more are made, or the training ends."""
        goal = min(self.fleet.step() + steps, STEPS)
        self.wait(lambda: self.fleet.step() >= goal, f"step {goal}")

    # tending

    def _goes_on_until(self, condition: Callable[[], bool]) -> bool:
        """Tends workers and launcher until a condition holds. Returns False where it never did."""
        deadline = time.monotonic() + LIMIT_S
        while not condition():
            if time.monotonic() > deadline:
                self.tell(f"stuck: nothing has come of it in {LIMIT_S:.0f} s")
                return False
            self._tend()
            time.sleep(0.1)
        return True

    def _tend(self) -> None:
        for host in self.fleet.hosts.values():
            if host.worker is None:
                continue
            code = host.worker.poll()
            if code is None and _hangs(host):
                self.tell(f"{host.address} is silent: its node is replaced")
                host.worker.kill()
                host.fact_file.unlink()  # the new node has none
            if code not in (None, 0):
                self.tell(f"{host.address}: the worker ended with {code} and is started again")
                host.start_worker()
        if self.launcher_code not in (None, 0, 1):
            self.tell(f"the launcher ended with {self.launcher_code} and is started again")
            self.launch()

    def _wait_for_workers(self) -> None:
        """Waits for workers that are ending. One that came back too late and is warm now is told to go."""
        deadline = time.monotonic() + GOING_S
        while self._alive() and time.monotonic() < deadline:
            for process in self._others:
                process.send_signal(signal.SIGTERM)
            for host in self.fleet.hosts.values():
                if host.is_warm and host.worker is not None and host.worker.poll() is None:
                    host.worker.send_signal(signal.SIGTERM)
            time.sleep(0.5)
        self.left = self._alive()

    def _alive(self) -> list[str]:
        """Returns the command lines of the training's processes that run."""
        mark, found = os.fsencode(self.fleet.directory), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes()
                about = command + (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark in about and int(entry.name) != os.getpid() and is_alive(int(entry.name)):
                found.append(command.replace(b"\0", b" ").decode(errors="replace"))
        return found


def _training(host: Host) -> dict[str, Any] | None:
    fact = host.fact()
    return fact if fact.get("state") == "training" and fact.get("world_size") else None


def _hangs(host: Host) -> bool:
    """Returns whether a rank has said nothing for long. One that waits writes its fact, too."""
    try:
        age_s = time.time() - host.fact_file.stat().st_mtime
    except FileNotFoundError:
        return False
    return age_s > SILENT_S and host.fact().get("state") == "training"
