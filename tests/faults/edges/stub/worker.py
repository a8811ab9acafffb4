"""The worker: it waits at a socket until a launcher attaches, and then makes the steps that the launcher asks for."""

from __future__ import annotations

import json
import os
import signal
import socket
import urllib.request
from pathlib import Path
from typing import Any

from .notes import note, replace, timestamp

EXIT_AGAIN = 3
"""The exit code of a worker that supervisor is to start again."""


class Worker:
    """One worker, from its start to its end."""

    def __init__(self, settings: dict[str, Any], wanted: Path) -> None:
        self._settings, self._wanted = settings, wanted
        self._instance, self._flavor = _metadata("instance-id"), _metadata("instance-type")
        self._fact: dict[str, Any] = {"rank": None, "world_size": None, "step": 0, "window": 0}
        self._is_rank = False

    def run(self, path: Path) -> int:
        """Waits for a launcher and trains. Returns the exit code."""
        signal.signal(signal.SIGTERM, self._told_to_end)
        path.unlink(missing_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen(1)
            self._write("starting", "warm: ready to join")
            connection, _ = listener.accept()
        path.unlink(missing_ok=True)
        with connection, connection.makefile("rb") as lines:
            connection.sendall(b'{"event": "ready"}\n')
            for line in lines:
                message = json.loads(line)
                if "end" in message:
                    return self._end(message["end"])
                self._step(message)
                connection.sendall(b'{"event": "done"}\n')
        note(self._settings, "cut-off", instance=self._instance)
        return EXIT_AGAIN

    def _step(self, message: dict[str, Any]) -> None:
        if not self._is_rank:
            note(self._settings, "joins", instance=self._instance, step=message["step"])
        self._is_rank = True
        size = message["size"]
        self._fact = {
            "rank": message["rank"], "world_size": size, "step": message["step"], "window": 20,
            "iteration_time_s": 0.1, "compute_time_s": 0.05, "samples": 10.0, "tokens": 100.0,
            "total_tokens": 100 * size * message["step"], "loss": 1.0, "share": 1.0 / size,
        }  # fmt: skip
        self._write("training", None)

    def _end(self, how: str) -> int:
        """Leaves the training for good. Returns the exit code."""
        self._is_rank = False
        self._wanted.unlink(missing_ok=True)
        note(self._settings, how, instance=self._instance, step=self._fact["step"])
        self._write("finished" if how == "finished" else "draining", f"it has {how}")
        return 0

    def _told_to_end(self, *_: object) -> None:
        if self._is_rank:
            note(self._settings, "ended-in-training", instance=self._instance, step=self._fact["step"])
        os._exit(EXIT_AGAIN)

    def _write(self, state: str, reason: str | None) -> None:
        nothing = dict.fromkeys(("iteration_time_s", "compute_time_s", "samples", "tokens", "loss", "share"))
        fact = {
            **nothing, **self._fact, "schema": 1, "instance_id": self._instance, "flavor": self._flavor,
            "state": state, "reason": reason, "peak_memory_bytes": 1 << 20, "updated_at": timestamp(),
            "total_steps": self._settings["stop"]["steps"], "emulated_speed": None, "last_change": None,
        }  # fmt: skip
        lie = Path("says")
        try:
            content = lie.read_text() if lie.exists() else json.dumps(fact) + "\n"
            replace(Path(self._settings["facts"]["path"]) / "iteration.fact", content)
        except OSError as error:  # a full disk: the training goes on
            note(self._settings, "no-fact", instance=self._instance, why=str(error))


def _metadata(name: str) -> str:
    """Returns what the metadata service says of this instance."""
    base = os.environ["AWS_EC2_METADATA_SERVICE_ENDPOINT"].rstrip("/") + "/latest"
    seconds = {"X-aws-ec2-metadata-token-ttl-seconds": "60"}
    with urllib.request.urlopen(urllib.request.Request(f"{base}/api/token", headers=seconds, method="PUT")) as answer:
        token = answer.read().decode()
    request = urllib.request.Request(f"{base}/meta-data/{name}", headers={"X-aws-ec2-metadata-token": token})
    with urllib.request.urlopen(request) as answer:
        return str(answer.read().decode())
