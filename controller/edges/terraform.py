"""Terraform, through python-terraform: init, plan, show, apply exactly that plan, outputs, destroy.

Every command's output is kept in a log file. Settings travel in the process's environment (AWS_*, TF_VAR_*).
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from python_terraform import IsFlagged
from python_terraform import Terraform as TerraformCommand

from controller.domain.errors import StoppedError, TerraformError
from controller.domain.reasons.moving import TerraformFailed

LOCK_TIMEOUT = "60s"
NO_CHANGE, FAILED, CHANGES = 0, 1, 2


@dataclass(frozen=True)
class Plan:
    """A plan file and what is in it; `document` is the JSON of `terraform show`."""

    file: Path
    has_changes: bool
    document: Mapping[str, Any]


@dataclass(frozen=True)
class FlavorOutput:
    """What Terraform made for one flavor."""

    autoscaling_group: str
    market: str
    max_nodes: int
    vcpus: int | None
    memory_bytes: int | None


@dataclass(frozen=True)
class HeadOutput:
    """The head instance."""

    instance_id: str
    private_ip: str
    public_ip: str | None
    instance_type: str


@dataclass(frozen=True)
class Outputs:
    """What the root module says exists."""

    cluster: str
    region: str
    bucket: str
    head: HeadOutput
    flavors: Mapping[str, FlavorOutput]


class Terraform:
    """Terraform in one environment's directory. Raises TerraformError with the command's own words."""

    def __init__(
        self,
        directory: Path,
        log_file: Path,
        init_script: Sequence[str],
        is_stopping: Callable[[], bool] = lambda: False,
    ) -> None:
        self._directory = directory
        self._is_stopping = is_stopping
        self._log_file = log_file
        self._init_script = tuple(init_script)
        self._command = TerraformCommand(working_dir=str(directory))

    def init(self) -> None:
        """Makes the providers available and the working directory ready; quick when it is already."""
        try:
            done = subprocess.run(self._init_script, capture_output=True, text=True, check=False)
        except OSError as error:
            raise TerraformError(
                f"{self._init_script[0]} can't be run: {error.strerror}.",
                "Is this a complete checkout? `make setup` says what is missing.",
            ) from error
        self._log("init", done.stdout + done.stderr)
        if done.returncode:
            raise self._error(
                "init",
                done.stdout,
                done.stderr,
                "Is Terraform installed, and its registry or a mirror "
                "of the aws provider within reach? `make setup` says.",
            )

    def plan(self, file: Path, *, destroy: bool = False, read: bool = True) -> Plan:
        """Plans into `file` and reads the plan back as JSON, unless nobody will look at that (`read`)."""
        file.parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = {"destroy": IsFlagged} if destroy else {}
        code, out, err = self._run(
            "plan", out=str(file), detailed_exitcode=IsFlagged, input=False, lock_timeout=LOCK_TIMEOUT, **options
        )
        if code not in (NO_CHANGE, CHANGES):
            raise self._error("plan", out, err, "Nothing was changed. Correct what Terraform names, and try again.")
        return Plan(file, code == CHANGES, self.show(file) if read and code == CHANGES else {})

    def show(self, file: Path) -> Mapping[str, Any]:
        """Returns a plan file's JSON."""
        code, out, err = self._run("show", str(file), json=IsFlagged)
        if code:
            raise self._error("show", out, err, "Make a new plan.")
        document: Mapping[str, Any] = json.loads(out)
        return document

    def apply(self, file: Path) -> None:
        """Applies exactly this plan file."""
        code, out, err = self._run("apply", str(file), input=False, lock_timeout=LOCK_TIMEOUT)
        if code:
            raise self._error(
                "apply",
                out,
                err,
                "What it had changed by then stays and is in its state; `centavo plan` shows what is missing.",
            )

    def state_id(self) -> tuple[str, int]:
        """Returns lineage and serial of the state as it is now, which tell whether anything was applied since.

        An environment that was never applied has no lineage yet.
        """
        code, out, err = self._run("state pull")
        if code:
            raise self._error("state pull", out, err, "Is the backend that holds the state within reach?")
        state: Mapping[str, Any] = json.loads(out) if out.strip() else {}
        return str(state.get("lineage", "")), int(state.get("serial", 0))

    def outputs(self) -> Outputs | None:
        """Returns what exists; None before the first apply and after a destroy. Starts no provider, so it is cheap."""
        code, out, err = self._run("output", json=IsFlagged)
        if code:
            raise self._error("output", out, err, "Run `centavo apply` first.")
        return parse_outputs(json.loads(out))

    def _run(self, command: str, *arguments: str, **options: Any) -> tuple[int, str, str]:
        try:
            code, out, err = self._command.cmd(command, *arguments, no_color=IsFlagged, **options)
        except FileNotFoundError as error:
            raise TerraformError(
                "The command terraform was not found.",
                "Install Terraform 1.6 or later, and see that it is on the PATH.",
            ) from error
        self._log(command, out + err)
        if code == FAILED and self._is_stopping():
            raise StoppedError(f"Stopped during terraform {command}.")
        return code, out, err

    def _log(self, command: str, text: str) -> None:
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        with self._log_file.open("a", encoding="utf-8") as log:
            if command not in ("show", "output", "state pull"):
                log.write(f"$ terraform {command}   ({self._directory}, process {os.getpid()})\n{text}\n")

    def _error(self, command: str, out: str, err: str, next_step: str) -> TerraformError:
        said = (err or out).strip()
        return TerraformError(
            f"terraform {command} failed in {self._directory}:\n{said}",
            f"{next_step} Log: {self._log_file}",
            reason=TerraformFailed(command, said),
        )


def parse_outputs(document: Mapping[str, Any]) -> Outputs | None:
    """Returns Terraform's outputs, typed; None when there are none. Raises TerraformError when some are missing."""
    if not document:
        return None
    try:
        values = {name: output["value"] for name, output in document.items()}
        head = values["head"]
        return Outputs(
            cluster=values["cluster"],
            region=values["region"],
            bucket=values["bucket"],
            head=HeadOutput(
                head["instance_id"], head["private_ip"], head.get("public_ip") or None, head["instance_type"]
            ),
            flavors={
                name: FlavorOutput(
                    autoscaling_group=flavor["autoscaling_group"],
                    market=flavor["market"],
                    max_nodes=int(flavor["max_nodes"]),
                    vcpus=flavor.get("vcpus"),
                    memory_bytes=flavor.get("memory_bytes"),
                )
                for name, flavor in values["flavors"].items()
            },
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TerraformError(
            f"Terraform's outputs are not what Centavo needs: {error!r}.",
            "The environment's outputs.tf must give cluster, region, bucket, head and flavors; "
            "then run `centavo apply`.",
        ) from error
