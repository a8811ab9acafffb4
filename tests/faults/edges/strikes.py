"""What each fault does to a run. A strike returns when only the controller has something left to mend."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from tests.faults.edges.place import Machine
from tests.faults.edges.run import LOCKED, LateError, Run

Strike = Callable[[Run], None]
A_WHILE_S = 7.0
"""How long a fault lasts that ends by itself: longer than a look of the controller, and than a rank may be late."""


def staying(run: Run) -> Machine:
    """Returns the worker that is in both fleets."""
    return next(worker for worker in run.place.workers() if worker.flavor == "c5.large")


def leaving(run: Run) -> Machine:
    """Returns a worker that the wanted fleet does not have."""
    flavor = "t2.large" if run.wants_there else "c5.xlarge"
    return next(worker for worker in run.place.workers() if worker.flavor == flavor)


def coming(run: Run) -> Machine:
    """Returns a worker that only the wanted fleet has."""
    flavor = "c5.xlarge" if run.wants_there else "t2.large"
    return next(worker for worker in reversed(run.place.workers()) if worker.flavor == flavor)


def head(run: Run) -> Machine:
    """Returns the head."""
    return run.place.head()


# the controller


def kill_controller(run: Run) -> None:
    """Kills the controller with -9. What it has started lives on for a moment, while another one begins."""
    run.restart_controller()


def kill_with_terraform(run: Run) -> None:
    """Kills the controller and its Terraform with -9 while the state is locked, so that the lock stays."""
    lock = run.place.sandbox.environment / ".terraform.tfstate.lock.info"
    run.wait_for(lambda: lock.exists() and bool(run.place.terraforms()), "an apply", 60.0)
    run.kill_controller()
    for process in run.place.terraforms():
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
    run.start_controller()


def second_controller(run: Run) -> None:
    """Starts a second controller, which has to be refused."""
    path = run.place.root / f"second-{time.monotonic_ns()}.log"
    with open(path, "w") as output:
        code = run.place.start("optimize", output).wait(60)
    if code != LOCKED:
        raise LateError(f"at_most_one_writer: a second controller ended with {code}: {path.read_text()[-600:]}")


def controller_cannot_write(run: Run) -> None:
    """Lets the controller write no file for a while (RLIMIT_FSIZE)."""
    process, forever = run.controller.pid, resource.RLIM_INFINITY
    resource.prlimit(process, resource.RLIMIT_FSIZE, (0, forever))
    time.sleep(A_WHILE_S)
    with suppress(ProcessLookupError):
        resource.prlimit(process, resource.RLIMIT_FSIZE, (forever, forever))


# nodes


def ill(kind: str, who: Callable[[Run], Machine]) -> Strike:
    """Returns the strike that puts a fault of localcloud on a machine for a while."""

    def strike(run: Run) -> None:
        machine = who(run)
        run.watch.struck.add(machine.id)
        run.place.control("fault", kind=kind, target=machine.id, for_s=A_WHILE_S)
        time.sleep(A_WHILE_S)

    return strike


def at_once(action: str, who: Callable[[Run], Machine], **more: object) -> Strike:
    """Returns the strike that has localcloud do something to a machine."""

    def strike(run: Run) -> None:
        machine = who(run)
        run.watch.struck.add(machine.id)
        run.place.control(action, instance_id=machine.id, **more)

    return strike


def kill_program(word: str, who: Callable[[Run], Machine]) -> Strike:
    """Returns the strike that kills the stub's program of this name on a machine."""

    def strike(run: Run) -> None:
        mark = f"CENTAVO_LOCALCLOUD_INSTANCE={who(run).id}".encode()
        found = []
        for process in run.place.processes("trainer", word, "--config"):
            with suppress(OSError):
                if mark in Path(f"/proc/{process}/environ").read_bytes().split(b"\0"):
                    os.kill(process, signal.SIGKILL)
                    found.append(process)
        if not found:
            raise LateError(f"there was no program {word} to kill")

    return strike


# the cloud


def _cloud(kind: str, run: Run, **more: object) -> None:
    run.place.control("fault", kind=kind, for_s=A_WHILE_S, **more)
    time.sleep(A_WHILE_S)


throttle = partial(_cloud, "throttle")
slow_api = partial(_cloud, "slow-api", seconds=2.0)
s3_down = partial(_cloud, "s3-down")


def no_capacity(run: Run) -> None:
    """Takes the wanted fleet's flavor away while its nodes are to be launched."""
    flavor = "c5.xlarge" if run.wants_there else "t2.large"
    run.lacks_capacity = True
    run.place.control("fault", kind="no-capacity", target=flavor, for_s=2 * A_WHILE_S)
    time.sleep(2 * A_WHILE_S)


def s3_down_at_the_end(run: Run) -> None:
    """Lets S3 fail while the training ends."""
    run.place.control("fault", kind="s3-down", for_s=A_WHILE_S)
    run.end_training()
    time.sleep(A_WHILE_S)


# files and what nodes say


@contextmanager
def _changed(run: Run, name: str, content: str | None) -> Iterator[None]:
    """Has another content in a file of the head while inside; None removes it."""
    path = run.place.home(head(run).id) / "centavo" / name
    had = path.read_text() if path.exists() else None
    path.unlink(missing_ok=True) if content is None else path.write_text(content)
    try:
        yield
    finally:
        if had is None:
            path.unlink(missing_ok=True)


def _hosts(content: str | None, run: Run) -> None:
    run.watch.allow_foreign_hosts()
    with _changed(run, "hosts", content):
        time.sleep(A_WHILE_S / 3)


def torn_done(run: Run) -> None:
    """Leaves a torn done.json on the head for a while."""
    with _changed(run, "results/done.json", '{"status": "finis'):
        time.sleep(A_WHILE_S / 2)


def says(content: str, run: Run) -> None:
    """Lets a worker write this in place of its fact for a while."""
    says_file = run.place.home(staying(run).id) / "centavo" / "says"
    says_file.write_text(content.replace("CANARY", str(run.place.canary)))
    time.sleep(A_WHILE_S)
    says_file.unlink(missing_ok=True)


def says_too_much(run: Run) -> None:
    """Lets a worker lie about its step, with a fact that has the right form and is from the future."""
    home = run.place.home(staying(run).id)
    fact = json.loads((home / "facts.d" / "iteration.fact").read_text())
    says(json.dumps({**fact, "step": 2**52, "loss": 1e300, "updated_at": "2099-01-01T00:00:00.000Z"}), run)


def capacity_by_hand(run: Run) -> None:
    """Changes the capacity file by hand for a while, when a move is due."""
    path = run.place.sandbox.environment / "capacity.auto.tfvars.json"
    had = path.read_text()
    document = json.loads(had)
    document["capacity"]["c5.large"] = 2
    path.write_text(json.dumps(document))
    run.turn_prices()
    time.sleep(A_WHILE_S)
    path.write_text(had)


def another_host_key(run: Run) -> None:
    """Gives a worker another host key in known_hosts for a while, as if somebody else answered at its address."""
    known = run.place.sandbox.root / ".centavo" / "local" / "known_hosts"
    had, worker, other = known.read_text(), staying(run).id, head(run).id
    run.watch.struck.add(worker)
    key = _keygen("-F", other, known).splitlines()[-1].partition(" ")[2]
    _keygen("-R", worker, known)
    with known.open("a") as file:
        file.write(f"{worker} {key}\n")
    run.place.end_connection(worker)
    time.sleep(A_WHILE_S)
    known.write_text(had)


def _keygen(option: str, name: str, known: Path) -> str:
    """Looks a name up in known_hosts (-F), or removes it (-R). Names may be hashed there. Returns what is printed."""
    command = ["ssh-keygen", option, name, "-f", str(known)]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout


hosts_removed = partial(_hosts, None)
hosts_of_strangers = partial(_hosts, "# another run\n127.20.9.9:1\n")
huge_number = partial(says, '{"schema": 1, "step": 1' + "0" * 400 + "}")
deep_json = partial(says, "[" * 20000 + "]" * 20000)
commands = partial(
    says,
    '{"schema": 1, "reason": "$(touch CANARY); `touch CANARY`", "state": "{{ lookup(\'pipe\', \'touch CANARY\') }}"}',
)
endless = partial(says, "x" * 3_000_000)


def kill_controller_in_the_ending(run: Run) -> None:
    """Kills the controller while it gives everything back."""
    run.end_training()
    run.wait_for(lambda: run.value("stage") == "ending", "the ending")
    run.restart_controller()


def hang_head_at_the_end(run: Run) -> None:
    """Lets the head's SSH hang while the training ends."""
    run.end_training()
    ill("hang-ssh", head)(run)


def lose_any(run: Run) -> None:
    """Loses a worker of a fleet that comes up."""
    run.wait_for(lambda: any(worker.host == "ready" for worker in run.place.workers()), "a worker")
    at_once("terminate", lambda run: run.place.workers()[0])(run)
