"""`make storm`: one whole job on localcloud, whose controller is killed twenty times, and three of whose nodes fail.

The controller is killed with -9 at random moments and started again each time. One node is lost while the move shrinks
the fleet, one is frozen afterwards, and the head is rebooted. The job has to end by itself. What happened when is
printed, then what must hold, and whether it does.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

import yaml

from tests.faults.storm_checks import Ended, checks
from tests.faults.storm_view import Meter, View, listening, look
from tests.support.sandbox import REPOSITORY, Sandbox, make_sandbox

KILLS, STEPS = 20, 2000
GAPS_S = (1.0, 26.0)
"""The shortest and the longest time from a start of the controller to its next kill."""
KILLS_IN_ONE_PHASE = 4
"""So often the start of a run, or one phase of a move, is interrupted: each needs some time without a kill."""
LOOK_S = 0.3
CALM_S = 10.0
"""How long the fleet trains undisturbed between two faults of nodes."""
LIMIT_S = 3000.0
MOST_OWN_ENDS = 3
"""How often the controller may end with an error that no kill caused, before the storm gives up."""


@dataclass
class Storm:
    """One storm: what is still to come, and what has come."""

    sandbox: Sandbox
    random: random.Random
    kills_left: int
    output: IO[str]
    meter: Meter
    kills_made: int = 0
    _kills_in: Counter[str] = field(default_factory=Counter)
    began: float = field(default_factory=time.time)
    told: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    own_ends: list[int] = field(default_factory=list)
    listening: list[str] = field(default_factory=list)
    troubled: str = ""
    agreed_at: float | None = None
    seen_lost: int = 0
    _kill_at: float = 0.0
    _calm_since: float | None = None
    _step: int = 0

    def tell(self, what: str) -> None:
        """Notes an event, with the seconds since the beginning."""
        self.told.append(f"{time.time() - self.began:7.1f} s  {what}")
        print(self.told[-1], flush=True)

    def rage(self) -> Ended:
        """Runs the job to its end through all faults."""
        controller, code, view = self._start("the controller starts"), None, look(self.sandbox)
        while time.time() < self.began + LIMIT_S:
            time.sleep(LOOK_S)
            view = self._look(view)
            if controller.poll() is not None:
                code = controller.returncode
                self.tell(f"the controller ended by itself with {code}")
                self.own_ends += [code]
                if code == 0 or len(self.own_ends) == MOST_OWN_ENDS:
                    break
                controller = self._start("it is started again")
            elif self._is_time_to_kill(view):
                controller = self._kill(controller, view)
            self._harm(view)
        self._end(controller)
        return Ended(code, self.kills_left, self.own_ends, self.faults, self.agreed_at, self.seen_lost, self.meter.usd)

    def _is_time_to_kill(self, view: View) -> bool:
        if self._kills_in[_phase(view)] == KILLS_IN_ONE_PHASE and _phase(view) != "training":
            self._kill_at = time.time() + self.random.uniform(*GAPS_S)
        return self.kills_left > 0 and time.time() >= self._kill_at

    def _start(self, why: str) -> subprocess.Popen[str]:
        self._kill_at = time.time() + self.random.uniform(*GAPS_S)
        self.tell(why)
        return self.sandbox.start("optimize", output=self.output)

    def _kill(self, controller: subprocess.Popen[str], view: View) -> subprocess.Popen[str]:
        """Kills the controller, with its children or without them, and starts it again."""
        self.kills_left, self.kills_made = self.kills_left - 1, self.kills_made + 1
        with_children = self.random.random() < 0.5
        os.killpg(controller.pid, signal.SIGKILL) if with_children else controller.kill()
        controller.wait()
        doing = _phase(view)
        self._kills_in[doing] += 1
        children = " and its children" if with_children else ""
        return self._start(f"kill {self.kills_made}: controller{children}, {doing}, step {view.step}")

    def _look(self, before: View) -> View:
        view = look(self.sandbox)
        self.meter.take(view)
        if view.phases != before.phases and view.phases:
            self.tell(f"move {len(view.phases)}: {view.phases[-1]}")
        if view.values.get("stage") != before.values.get("stage"):
            self.tell(f"stage: {view.values.get('stage')}")
        if view.ranks:
            if view.step < self._step:
                self.seen_lost += self._step - view.step
                self.tell(f"step {self._step} -> {view.step}")
            self._step = view.step
        if len(view.ranks) != len(before.ranks):
            self.tell(f"{len(view.ranks)} ranks train, {len(view.workers)} workers run, step {view.step}")
        return view

    def _harm(self, view: View) -> None:
        """Lets a node fail where the next fault's moment has come, and notes when all is well again."""
        if "lost" not in self.faults:
            if view.phases[-1:] == ("shrinking",):
                self._lose(view)
            return
        is_well = view.whole(len(view.workers)) and bool(view.workers) and not view.disagreements()
        self._calm_since = (self._calm_since or time.time()) if is_well else None
        if self._calm_since is None or time.time() < self._calm_since + CALM_S:
            return
        if self.troubled:
            self.tell(f"all agree and train again after {self.troubled}, step {view.step}")
            self.troubled, self.agreed_at = "", time.time() - self.began
        if not self.listening:
            self.listening = listening(self.sandbox)
        if "frozen" not in self.faults:
            self._freeze(view)
        elif "rebooted" not in self.faults:
            self._reboot(view)

    def _lose(self, view: View) -> None:
        staying = sorted(view.members & view.workers)
        if staying:
            self._fault("lost", self.random.choice(staying), view, "terminate")

    def _freeze(self, view: View) -> None:
        self._fault("frozen", self.random.choice(sorted(view.members)), view, "fault")

    def _reboot(self, view: View) -> None:
        assert view.head is not None
        self._fault("rebooted", view.head, view, "reboot")

    def _fault(self, name: str, instance: str, view: View, action: str) -> None:
        request = {"kind": "freeze", "target": instance} if action == "fault" else {"instance_id": instance}
        self.sandbox.control(action, request)
        what = view.instances[instance]["flavor"] if view.instances[instance]["group"] else "head"
        self.faults.append(name)
        self.troubled, self._calm_since = f"the {what} was {name}", None
        self.tell(f"FAULT: {instance} ({what}) is {name}, step {view.step}")

    def _end(self, controller: subprocess.Popen[str]) -> None:
        if controller.poll() is None:
            self.tell(f"the job has not ended after {LIMIT_S:.0f} s")
            os.killpg(controller.pid, signal.SIGKILL)
            controller.wait()


def _phase(view: View) -> str:
    """Returns what the controller is at: a phase of a move with its number, or else the stage of the run."""
    return f"move {len(view.phases)} {view.phases[-1]}" if view.is_moving else view.values.get("stage", "starting")


def main(arguments: Sequence[str]) -> int:
    """Runs one storm. Returns the exit code: 1 where something that must hold does not."""
    parser = argparse.ArgumentParser(prog="make storm", description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10_000), help="repeats one storm")
    parser.add_argument("--steps", type=int, default=STEPS, help="how long the training is")
    parser.add_argument("--kills", type=int, default=KILLS, help="how often the controller is killed")
    parser.add_argument("--keep", type=Path, help="a new folder for the job, which is kept; else a temporary one")
    options = parser.parse_args(arguments)
    print(f"make storm SEED={options.seed}: {options.steps} steps, {options.kills} kills", flush=True)
    with ExitStack() as stack:
        if options.keep is not None:
            options.keep.mkdir(parents=True, exist_ok=True)
        folder = options.keep or Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="storm-")))
        sandbox = _sandbox(folder.resolve() / "centavo", stack, options.steps)
        output = stack.enter_context(open(folder / "controller.log", "w"))
        storm = Storm(sandbox, random.Random(options.seed), options.kills, output, Meter.of(sandbox))
        ended = storm.rage()
        print("\nListening in the middle of the run (`ss -ltnp`):", *storm.listening, sep="\n  ")
        failed = 0
        print("\nWhat must hold:")
        for name, is_kept, seen in checks(sandbox, storm.listening, ended, options.steps):
            print(f"  {'ok    ' if is_kept else 'FAILED'}  {name}: {seen}", flush=True)
            failed += not is_kept
        if failed:
            print(
                "\nThe controller's last lines:", *(folder / "controller.log").read_text().splitlines()[-40:], sep="\n"
            )
        print(f"\n{failed} of the checks failed; {time.time() - storm.began:.0f} s")
    return 1 if failed else 0


def _sandbox(root: Path, stack: ExitStack, steps: int) -> Sandbox:
    """Makes a copy of this checkout with the fleet and the flavors of its local environment."""
    environment = REPOSITORY / "terraform" / "environments" / "local"
    initial = yaml.safe_load((environment / "centavo.yml").read_text())["fleet"]["initial"]
    speeds = yaml.safe_load((environment / "localcloud.yml").read_text())["speeds"]
    return make_sandbox(root, stack, initial=initial, speeds=speeds, steps=steps)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
