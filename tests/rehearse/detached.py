"""The steps of a rehearsal in which the run is handed to the head, and the person's machine goes away."""

from __future__ import annotations

import gzip
import json
import os
import shutil
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.rehearse.memory import Memory, watched
from tests.rehearse.pace import pace_of
from tests.rehearse.place import STATE_BUCKET, Place
from tests.rehearse.running import RehearsalError, found_in
from tests.rehearse.scenes import Rehearsal, Scene
from tests.support.sandbox import move_phases, processes_of, running_instances

MOST_BYTES = 1_200_000_000
"""What the controller on the head may take, Terraform's provider included."""


class DetachedRehearsal(Rehearsal):
    """One rehearsal with a controller on the head. Nothing but the bucket tells of the run after the hand-over."""

    def __init__(self, place: Place, folder: Path, began: float) -> None:
        super().__init__(place, folder, began)
        self._memory = Memory()

    def scenes(self) -> Sequence[Scene]:
        """Returns the steps, in their order."""
        return (
            ("cloud up", self.cloud_up),
            ("hand over", self.hand_over),
            ("the person goes away", self.go_away),
            ("status from elsewhere", self.look_from_elsewhere),
            ("move to another flavor", self.move),
            ("end of the training", self.end),
            ("report from elsewhere", self.report_from_elsewhere),
            ("take over", self.take_over),
            ("destroy", self.destroy),
        )

    def hand_over(self) -> str:
        """Makes everything and hands the run over, in a checkout of its own."""
        self.place.move_to(self._folder / "desk")
        text = self._finish("optimize", "--detach", "--budget", "20", limit_s=1800)
        if self._lease()["holder"]["place"] != "head":
            raise RehearsalError("The head's controller has not taken the lease.")
        return found_in(text, r"goes on at the head of") or "the head's controller has the lease"

    def go_away(self) -> str:
        """Deletes the person's checkout with its key, and ends all that still runs in it."""
        desk = self.place.checkout
        left = processes_of(desk)  # such as SSH connections that were kept open
        for process in left:
            with suppress(OSError):
                os.kill(process, signal.SIGKILL)
        shutil.rmtree(desk)
        self.place.desk = None
        return f"its checkout is deleted, and {len(left)} processes in it are killed"

    def look_from_elsewhere(self) -> str:
        """Asks for the status in a new checkout."""
        self.place.move_to(self._folder / "elsewhere")
        began = time.monotonic()
        text = self._finish("status", "--remote", limit_s=60)
        if self._lease()["run"] not in text:
            raise RehearsalError(f"The status does not name the run {self._lease()['run']}.\n{text}")
        return f"told in {time.monotonic() - began:.1f} s"

    def move(self) -> str:
        """Waits for a move that the head's controller has made."""
        with watched(self._memory):
            self._wait(lambda: "done" in self._phases(), 900, "a move that is done")
        if self._memory.most > MOST_BYTES:
            raise RehearsalError(f"The head's controller takes too much memory: {self._memory}.")
        return f"{self._fleet()}; the head's controller: {self._memory}"

    def end(self) -> str:
        """Waits until the run has ended by itself, and nothing runs but the head."""
        self._wait(self._has_ended, 1200, "the end of the run")
        if self._workers():
            raise RehearsalError(f"{len(self._workers())} workers still run after the end of the run.")
        report, run = self._report(), self._lease()["run"]
        for name in ("control/report.html", "control/centavo.log", "results/scores.json"):
            if self._object(f"{run}/{name}") is None:
                raise RehearsalError(f"The bucket has no {run}/{name}.")
        training = report["training"]
        if report["status"] != "finished" or training["steps_lost"]:
            raise RehearsalError(f"{report['status']}, {training['steps_lost']} steps lost.")
        self._phases()  # brings the journal
        return (
            f"{report['status']}, {training['steps']} steps, {training['steps_lost']} of them lost; no worker runs; "
            f"{pace_of(self._folder)}"
        )

    def report_from_elsewhere(self) -> str:
        """Asks for the report in the other checkout."""
        text = self._finish("report", "--remote", limit_s=60)
        return found_in(text, r"training|cost") or "the report is there"

    def take_over(self) -> str:
        """Makes the other checkout the one that controls the cluster, so that it can remove it."""
        text = self._finish("take-over", limit_s=120)
        return found_in(text, "controls the cluster")

    # what the bucket tells

    def _bucket(self) -> str:
        names = [one["Name"] for one in self.place.client("s3").list_buckets()["Buckets"]]
        return str(next(name for name in names if name != STATE_BUCKET))

    def _object(self, key: str) -> bytes | None:
        s3 = self.place.client("s3")
        with suppress(s3.exceptions.NoSuchKey):
            return bytes(s3.get_object(Bucket=self._bucket(), Key=key)["Body"].read())
        return None

    def _lease(self) -> dict[str, Any]:
        return dict(json.loads(self._object("control/lease.json") or b"{}"))

    def _has_ended(self) -> bool:
        lease = self._lease()
        return bool(lease["released"]) and lease["stage"] == "ended"

    def _report(self) -> dict[str, Any]:
        return dict(json.loads(self._object(f"{self._lease()['run']}/control/report.json") or b"{}"))

    def _phases(self) -> list[str]:
        packed = self._object(f"{self._lease()['run']}/control/journal.sqlite.gz")
        if packed is None:
            return []
        (self._folder / "journal.sqlite").write_bytes(gzip.decompress(packed))
        return move_phases(self._folder)

    def _fleet(self) -> str:
        running = [one["InstanceType"] for one in running_instances(self.place.client("ec2"), "worker")]
        return "the fleet is " + ", ".join(f"{running.count(flavor)} x {flavor}" for flavor in sorted({*running}))

    def _wait(self, condition: Callable[[], bool], limit_s: float, what: str) -> None:
        """Waits until a condition holds. Raises RehearsalError where the run ends or the time is over before."""
        end = time.monotonic() + limit_s
        while not condition():
            lease = self._lease()
            if condition != self._has_ended and lease["released"] and lease["stage"] == "ended":
                raise RehearsalError(f"The run has ended before {what}.\n{self._log()}")
            if time.monotonic() > end:
                raise RehearsalError(f"Not within {limit_s:g} s: {what}.\n{self._log()}")
            time.sleep(2)

    def _log(self) -> str:
        log = self._object(f"{self._lease()['run']}/control/centavo.log") or b""
        return "\n".join(f"    {line}" for line in log.decode(errors="replace").splitlines()[-25:])
