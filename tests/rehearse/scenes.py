"""The steps of a rehearsal, in their order."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tests.rehearse.outcome import Outcome, Step
from tests.rehearse.pace import pace_of
from tests.rehearse.place import FLEET, Place
from tests.rehearse.reaching import Reaching
from tests.rehearse.running import RehearsalError, Running, found_in
from tests.rehearse.traces import left_over, summary, traces
from tests.rehearse.warmth import warm_after
from tests.support.sandbox import move_phases, running_instances

SIZE = sum(FLEET.values())
STEP = r"step [1-9]\d* of .* [1-9]\d* ranks train"
"""A line of the controller that shows a step of ranks."""
WARM = "warm after launch: "
"""What the controller says of new nodes, with the seconds that they took."""
NOTHING_LEFT = "Nothing of it costs money any more."
"""What `destroy` says at its end."""
COSTS = "dollars per hour, all included"
"""The line of a plan with what an hour costs: before, afterwards, and the difference."""
INTENDED = ("open-network", "change-iam")
"""The dangers of a first plan that a person has to acknowledge."""
Scene = tuple[str, Callable[[], str]]
"""A step by its name: it returns what it showed, or raises RehearsalError."""


class Rehearsal:
    """One rehearsal. Each step is a method that returns what it showed, or raises RehearsalError."""

    def __init__(self, place: Place, folder: Path, began: float) -> None:
        self.place, self._folder, self._began = place, folder, began
        self._steps: list[Step] = []
        self._training: Running | None = None
        self._before: dict[str, list[str]] = {}
        self._warmed: list[str] = []

    def run(self) -> Outcome:
        """Makes all steps. The first that fails ends the rehearsal; the cloud is taken down in any case."""
        with ExitStack() as stack:
            stack.callback(lambda: self._try("cloud down", self.cloud_down))
            stack.callback(self._kill_training)
            all(self._try(name, scene) for name, scene in self.scenes())
        return Outcome(tuple(self._steps), time.monotonic() - self._began)

    def scenes(self) -> Sequence[Scene]:
        """Returns the steps, in their order."""
        return (
            ("cloud up", self.cloud_up),
            ("plan", self.plan),
            ("apply", self.apply),
            ("configure", self.configure),
            ("security group of the workers", self.reach_a_worker),
            ("train", self.train),
            ("move to another flavor", self.move),
            ("a node is lost", self.lose_a_node),
            ("end of the training", self.end),
            ("destroy", self.destroy),
        )

    def cloud_up(self) -> str:
        """Starts the cloud, whose first start makes the image of the machines."""
        self._before = traces(self._folder)
        self._finish("localcloud", "up", limit_s=900)
        self.place.write_backend()
        return f"before it: {summary(self._before)}"

    def plan(self) -> str:
        """Plans, and shows what an hour costs."""
        acknowledged = [f"--acknowledge={danger}" for danger in INTENDED]
        text = self._finish("plan", *acknowledged, limit_s=600, status=2)
        return " ".join(found_in(text, COSTS).replace("│", " ").split())

    def apply(self) -> str:
        """Makes network, head and groups. A machine's first apply builds the wheelhouse before it buys anything."""
        self._finish("apply", limit_s=2400)
        return f"{len(self._workers())} workers and the head run"

    def configure(self) -> str:
        """Makes all nodes usable, twice: the second time changes nothing."""
        first = self._finish("configure", limit_s=600)
        again = self._finish("configure", limit_s=300)
        if "changed=0" not in again:
            raise RehearsalError("The second configure has changed something.")
        return found_in(first, WARM) or "all nodes are usable; a second time changes nothing"

    def reach_a_worker(self) -> str:
        """Dials a worker from outside, which its security group refuses, and through the head."""
        return Reaching(self.place).show(self._workers()[0])

    def train(self) -> str:
        """Starts the training and waits for the first steps."""
        self._training = self._start("optimize")
        text = self._training.text
        self._training.wait_for(lambda: bool(found_in(text(), STEP)), 900, "a first step of the training")
        return f"{SIZE} ranks train"

    def move(self) -> str:
        """Waits for a move to the other flavor."""
        training = self._running()
        training.wait_for(lambda: "done" in move_phases(self.place.latest_run), 600, "a move that is done")
        fleet = found_in(training.text(), r": the fleet is ").rpartition(": ")[-1]
        return f"{fleet}; {self._warm()}"

    def lose_a_node(self) -> str:
        """Terminates a worker as EC2 would lose it, and waits until another one trains in its place."""
        lost = self._workers()[0]["InstanceId"]
        self.place.client("ec2").terminate_instances(InstanceIds=[lost])

        training = self._running()
        before = len(training.text())

        def trains_again() -> bool:
            since_it_takes_part = training.text()[before:].partition(f"the hosts file names {SIZE} nodes")[-1]
            return bool(found_in(since_it_takes_part, rf" {SIZE} ranks train"))

        training.wait_for(trains_again, 600, f"a node that trains in the place of {lost}")
        return f"{lost} was terminated; another one trains in its place; {self._warm()}"

    def end(self) -> str:
        """Waits for the end of the training, which gives all nodes back."""
        self._running().finish(limit_s=900)
        report = json.loads((self.place.latest_run / "report.json").read_text())
        if self._workers():
            raise RehearsalError(f"{len(self._workers())} workers still run after the end of the training.")
        training = report["training"]
        return (
            f"{report['status']}, {training['steps']} steps, {training['steps_lost']} of them lost; no worker runs; "
            f"{pace_of(self.place.latest_run)}"
        )

    def destroy(self) -> str:
        """Removes everything that was made: the bucket with the training's results only when that is asked for."""
        refused = self._finish("destroy", limit_s=300, status=1)
        if "nothing was destroyed" not in refused:
            raise RehearsalError(f"A bucket that holds the results was not noticed.\n{refused}")
        text = self._finish("destroy", "--delete-data", limit_s=600)
        if NOTHING_LEFT not in text:
            raise RehearsalError(f"Something still costs money.\n{text}")
        return f"refused at first, since the bucket held the results; then: {NOTHING_LEFT}"

    def cloud_down(self) -> str:
        """Ends the cloud, and compares what this machine has with what it had before."""
        self._finish("localcloud", "down", limit_s=180)
        after = traces(self._folder)
        rest = left_over(self._before, after)
        if rest:
            raise RehearsalError(f"The cloud has left behind: {json.dumps(rest)}")
        return f"nothing is left: {summary(after)}"

    def _try(self, name: str, scene: Callable[[], str]) -> bool:
        print(f"\n=== {name}", flush=True)
        began = time.monotonic()
        try:
            shown, failure = scene(), None
        except RehearsalError as error:
            shown, failure = "", str(error)
        except (
            Exception
        ) as error:  # a step that can't even look is a step that failed; the cloud is taken down after it
            shown, failure = "", f"{type(error).__name__}: {error}"
        print(failure or shown, file=sys.stderr if failure else sys.stdout, flush=True)
        self._steps.append(Step(name, round(time.monotonic() - began, 1), shown, failure))
        return failure is None

    def _start(self, command: str, *arguments: str) -> Running:
        output = self._folder / f"{len(self._steps):02}-{'-'.join([command, *arguments])}.log"
        with output.open("w", encoding="utf-8") as log:
            if command == "localcloud":
                process = self.place.localcloud(*arguments, output=log)
            else:
                process = self.place.centavo(command, *arguments, output=log)
        return Running(" ".join(["centavo", command, *arguments]), process, output)

    def _finish(self, command: str, *arguments: str, limit_s: float, status: int = 0) -> str:
        text = self._start(command, *arguments).finish(limit_s, status)
        print(text, flush=True)
        return text

    def _warm(self) -> str:
        """Returns how soon the worker that came last was warm."""
        newest = max(self._workers(), key=lambda worker: worker["LaunchTime"])
        self._warmed.append(warm_after(self.place.root / ".localcloud" / "instances", newest))
        return self._warmed[-1]

    def _running(self) -> Running:
        assert self._training is not None
        return self._training

    def _kill_training(self) -> None:
        if self._training is not None:
            self._training.kill()
            print(self._training.text(), flush=True)

    def _workers(self) -> list[dict[str, Any]]:
        """Returns the running workers as EC2 describes them."""
        return running_instances(self.place.client("ec2"), "worker")
