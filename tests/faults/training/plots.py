"""The faults of the layer, by name."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from localcloud.support.sockets import drop_packets, socket_of_process, sockets_of, take_packets, tcp_connections
from tests.faults.training.trial import BEGIN_STEP, RANKS, STEPS, Plot, Trial

FAULT_STEP = BEGIN_STEP + 10
SILENCE_S = 20.0
"""Longer than Horovod waits for a rank, and the launcher for its vote."""
S3_DOWN_S = 30.0
"""Longer than boto3 tries again by itself."""


def kill_rank(number: int) -> Plot:
    """Returns the plot in which a rank is killed."""
    return Plot(f"rank {number} killed", lambda trial: trial.kill(trial.rank(number)))


def kill_launcher(trial: Trial) -> None:
    """Kills the launcher."""
    assert trial.fleet.launcher is not None
    trial.fleet.launcher.kill()


def freeze_launcher(trial: Trial) -> None:
    """Stops the launcher for a while."""
    assert trial.fleet.launcher is not None
    trial.fleet.launcher.send_signal(signal.SIGSTOP)
    time.sleep(8)
    trial.fleet.launcher.send_signal(signal.SIGCONT)


def kill_launcher_with_rank_0(trial: Trial) -> None:
    """Kills the launcher and rank 0 at once."""
    trial.kill(trial.rank(0))
    kill_launcher(trial)


def kill_all_ranks(trial: Trial) -> None:
    """Kills all ranks at once, so that only checkpoints are left."""
    for host in trial.fleet.hosts.values():
        trial.kill(host)


def stop_rank(trial: Trial) -> None:
    """Stops a rank in the middle of a step, and lets it go on when the others have gone on without it."""
    host = trial.rank(1)
    trial.kill(host, signal.SIGSTOP)
    trial.wait(lambda: trial.world(without=host) == RANKS - 1, "a world without it")
    trial.train_on(3)
    trial.kill(host, signal.SIGCONT)


def starve_rank(trial: Trial) -> None:
    """Lets a rank get no more memory than it has."""
    pid = trial.pid(trial.rank(1))
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[0])
    held = pages * resource.getpagesize()
    resource.prlimit(pid, resource.RLIMIT_AS, (held, held))
    trial.tell(f"process {pid} gets no more memory than {held >> 20} MiB")


def s3_down(trial: Trial) -> None:
    """Lets S3 answer 503 for a while."""
    assert trial.cloud is not None
    trial.cloud.control("fault", {"kind": "s3-down", "for_s": S3_DOWN_S})
    trial.tell(f"S3 is down for {S3_DOWN_S:.0f} s")


def s3_down_at_finish(trial: Trial) -> None:
    """Lets S3 answer 503 from just before the last step on."""
    trial.wait(lambda: trial.fleet.step() >= STEPS - 2, "the last step")
    s3_down(trial)


def partition(trial: Trial) -> None:
    """Cuts the connections that a rank has, without a word to either side. New ones get through."""
    host = trial.rank(2)
    trial.tell(f"{host.address} is cut off")
    with cut(trial.pid(host)):
        time.sleep(SILENCE_S)
    trial.tell(f"{host.address} is joined again")


@contextmanager
def cut(pid: int) -> Iterator[None]:
    """Drops the packets to a process, and those to the other ends of its connections."""
    connections = tcp_connections()
    own = sockets_of([pid])
    wanted = {connections[inode].reversed for inode in own if inode in connections}
    everyone = [int(entry.name) for entry in Path("/proc").glob("[0-9]*")]
    ends = {inode for inode, there in connections.items() if there in wanted and not there.is_listening}
    holders = [holder for inode, holder in sockets_of(everyone).items() if inode in ends or inode in own]
    for holder in holders:
        with suppress(OSError), socket_of_process(*holder) as one:
            drop_packets(one)
    try:
        yield
    finally:
        for holder in holders:
            with suppress(OSError), socket_of_process(*holder) as one:
                take_packets(one)


def cut_ssh(trial: Trial) -> None:
    """Ends the launcher's SSH connection to a rank."""
    address = trial.rank(2).address
    assert trial.fleet.launcher is not None
    children = Path(f"/proc/{trial.fleet.launcher.pid}/task").glob("*/children")
    for pid in {int(word) for file in children for word in file.read_text().split()}:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
        if address.encode() in words:
            trial.tell(f"the connection to {address} is cut")
            os.kill(pid, signal.SIGKILL)
            return
    raise LookupError(f"there is no connection to {address}")


def drain(trial: Trial) -> None:
    """Takes a node out of the hosts file, lets its worker leave, and configures it again."""
    host = trial.rank(1)
    others = [one for one in trial.fleet.hosts.values() if one is not host]
    trial.fleet.write_hosts(others)
    assert host.worker is not None
    code = host.worker.wait(120)
    trial.tell(f"{host.address} has left with {code}")
    host.start_worker()
    trial.wait(lambda: host.is_warm, "the worker is warm again")
    trial.fleet.write_hosts([*others, host])


def kill_supervisor(trial: Trial) -> None:
    """Lets a real supervisor run a fourth node's worker, kills the supervisor while the rank trains, starts another."""
    host = trial.fleet.add(RANKS + 1, speed=0.1, warm=False)
    (host.home / "run").mkdir()
    wanted = host.home / "wanted"
    wanted.touch()
    command = f"{sys.executable} -m trainer warm --socket run/warm.sock --config {host.config} --wanted-file {wanted}"
    (host.home / "supervisord.conf").write_text(
        f"[supervisord]\nnodaemon=true\nlogfile={host.home}/supervisord.log\npidfile={host.home}/run/pid\n"
        f"[program:worker]\ncommand={command}\ndirectory={host.home}\nautorestart=unexpected\nexitcodes=0\n"
        f"stopasgroup=true\nkillasgroup=true\nredirect_stderr=true\nstdout_logfile={host.home}/warm.log\n"
    )
    program = [sys.executable, "-m", "supervisor.supervisord", "-n", "-c", "supervisord.conf"]

    def supervise() -> subprocess.Popen[bytes]:
        null = subprocess.DEVNULL
        started = subprocess.Popen(program, cwd=host.home, env=host.environment, stdout=null, stderr=null)
        trial.look_after(started)
        return started

    first = supervise()
    trial.wait(lambda: host.is_warm, "the supervised worker is warm")
    trial.fleet.write_hosts(list(trial.fleet.hosts.values()))
    trial.wait(lambda: trial.world() == RANKS + 1, "the supervised worker trains")
    step = trial.fleet.step()
    first.kill()
    first.wait()
    trial.tell(f"the supervisor of {host.address} was killed, and another one starts")
    supervise()
    trial.train_on(10)
    if trial.fleet.step() <= step:
        raise LookupError("the training was over before its supervisor was killed")


def spot_notice(trial: Trial) -> None:
    """Sends SIGTERM to a rank, as a node does that is about to go. It has to leave with 0 within two minutes."""
    host = trial.rank(1)
    trial.kill(host, signal.SIGTERM)
    assert host.worker is not None
    code = host.worker.wait(120)
    trial.tell(f"{host.address} has left with {code}")
    if code != 0:
        trial.violations.append(f"a rank that was interrupted left with {code}")


def wait_for_it(trial: Trial) -> None:
    """Waits for what the rank itself does wrong."""
    trial.wait(lambda: trial.fleet.step() > FAULT_STEP, f"step {FAULT_STEP}")


def in_rank(rank: int, what: str) -> str:
    """Returns what goes wrong in a rank, for `faulty_rank.py`."""
    return json.dumps([{"rank": rank, "step": FAULT_STEP, "what": what}])


PLOTS: Mapping[str, Plot] = {
    "kill-rank": kill_rank(1),
    "kill-rank-0": kill_rank(0),
    "kill-launcher": Plot("launcher killed", kill_launcher),
    "freeze-launcher": Plot("launcher stopped for a while", freeze_launcher),
    "kill-launcher-with-rank-0": Plot("launcher and rank 0 killed", kill_launcher_with_rank_0),
    "kill-all-ranks": Plot("all ranks killed", kill_all_ranks),
    "stop-rank": Plot("a rank stopped within a step", stop_rank, evidence="is dropped for"),
    "out-of-memory": Plot("out of memory in a rank", starve_rank),
    "s3-down-at-commit": Plot(
        "S3 down at a commit", s3_down, s3=True, evidence="could not be written|the storage is slower"
    ),
    "s3-down-at-finish": Plot(
        "S3 down at the finish", s3_down_at_finish, s3=True, expected=RANKS, evidence="cannot be (written|listed|read)"
    ),
    "partition": Plot("a rank cut off", partition, evidence="a rank is lost"),
    "cut-ssh": Plot("the launcher's connection cut", cut_ssh, evidence="ended with exit code -9"),
    "nan-gradients": Plot(
        "gradients that are not finite", wait_for_it, in_rank(1, "gradients"), skipped=1, expected=RANKS
    ),
    "changed-parameters": Plot(
        "parameters changed",
        wait_for_it,
        in_rank(1, "parameters"),
        {"horovod": {"cycle_time_ms": 10}, "elastic": {"check_replicas_every_steps": 20}},
        corrected=True,
        expected=RANKS,
    ),
    "drain-and-return": Plot("a worker drained and configured again", drain, most_lost=0),
    "kill-supervisor": Plot("a supervisor killed", kill_supervisor, most_lost=0, expected=RANKS + 1),
    "spot-notice": Plot("a spot notice", spot_notice, most_lost=0),
}
