"""Terraform, through python-terraform: init, plan, show, apply exactly that plan, outputs, destroy.

Every command's output is kept in a log file. Settings travel in the process's environment (AWS_*, TF_VAR_*).
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from python_terraform import IsFlagged
from python_terraform import Terraform as TerraformCommand

from controller.domain.errors import StoppedError, TerraformError
from controller.domain.prices.standing import Standing
from controller.domain.reasons.moving import StateLocked, TerraformFailed, TerraformTookTooLong
from controller.domain.times import iso
from controller.edges.limited import Ended, run_limited
from controller.edges.process_identity import process, this_process
from controller.edges.terraform_lock import (
    OPERATIONS,
    Records,
    Running,
    StateLock,
    end_orphans,
    other_terraform_runs,
    read_state_lock,
)
from controller.words.reasons.sentences import as_sentence

LOCK_TIMEOUT = "60s"
NO_CHANGE, CHANGES = 0, 2
OUTPUTS = {"cluster", "region", "bucket", "head", "flavors"}
"""What an environment's outputs.tf gives. An apply writes an output when all that it is made of is there."""
QUIET = ("show", "output", "state pull")
"""Commands whose output is not kept in the log."""


@dataclass(frozen=True)
class Plan:
    """A plan file and what is in it; `document` is the JSON of `terraform show`."""

    file: Path
    has_changes: bool
    document: Mapping[str, Any]


@dataclass(frozen=True)
class FlavorOutput:
    """What Terraform made for one flavor. So many nodes as `on_demand_base` of a spot flavor are bought on demand."""

    autoscaling_group: str
    market: str
    max_nodes: int
    vcpus: int | None
    memory_bytes: int | None
    volume_gb: float = 0.0
    on_demand_base: int = 0
    cpu_credits: str | None = None
    """The mode of a burstable flavor, `standard` or `unlimited`; None: AWS's default."""


@dataclass(frozen=True)
class HeadOutput:
    """The head instance."""

    instance_id: str
    private_ip: str
    public_ip: str | None
    instance_type: str
    volume_gb: float = 0.0


@dataclass(frozen=True)
class Outputs:
    """What the root module says exists."""

    cluster: str
    region: str
    bucket: str
    head: HeadOutput
    flavors: Mapping[str, FlavorOutput]
    nat_gateways: int = 0
    nat_gateway_ids: tuple[str, ...] = ()
    """None where an older version of the modules was applied."""
    public_addresses: int = 0
    zones: int = 1
    """Over how many availability zones new workers spread."""
    log_group: str | None = None
    """Where the logs of runs go; None where an older version of the modules was applied."""
    reaper: str | None = None
    """The Lambda function that ends what has outlived its lease; None where there is none."""

    @property
    def floors(self) -> dict[str, int]:
        """By spot flavor how many of its nodes are bought on demand; flavors without such nodes are left out."""
        return {name: made.on_demand_base for name, made in self.flavors.items() if made.on_demand_base}

    @property
    def standing(self) -> Standing:
        """What costs money beside the workers."""
        return Standing(
            head=self.head.instance_type,
            head_volume_gb=self.head.volume_gb,
            nat_gateways=self.nat_gateways,
            addresses=self.public_addresses,
            volume_gb={flavor: made.volume_gb for flavor, made in self.flavors.items()},
        )


@dataclass(frozen=True)
class TerraformLimits:
    """How long Terraform may take, in seconds."""

    init_s: float = 600
    plan_s: float = 600
    apply_s: float = 3600
    read_s: float = 120
    """For commands that only read: output, show, state pull; and for taking a lock away."""
    grace_s: float = 60
    """For ending, and giving the state's lock back, after it was asked to stop. It is killed then."""


USUAL_LIMITS = TerraformLimits()


class Terraform:
    """Terraform in one environment's directory. Every method raises TerraformError with the command's own words.

    Args:
        directory: The environment's.
        log_file: Where each command's output is kept.
        init_script: The command that makes the directory ready.
        is_stopping: Whether a person wants to stop.
        limits: How long the commands may take.
        records: The folder for what a Terraform leaves behind that is killed; by default it is beside the log.
        tell: Gets notes for people: what was left behind by a controller that died, and was cleared.
    """

    def __init__(
        self,
        directory: Path,
        log_file: Path,
        init_script: Sequence[str],
        is_stopping: Callable[[], bool] = lambda: False,
        limits: TerraformLimits = USUAL_LIMITS,
        records: Path | None = None,
        tell: Callable[[str], None] = lambda message: None,
    ) -> None:
        self._directory, self._log_file, self._init_script = directory, log_file, tuple(init_script)
        self._is_stopping, self._limits, self._tell = is_stopping, limits, tell
        self._records = Records(records or log_file.parent / "terraform")
        self._command = TerraformCommand(working_dir=str(directory))

    def init(self) -> None:
        """Makes the providers available and the working directory ready; quick when it is already."""
        done = self._run_program(self._init_script, self._limits.init_s, Path.cwd())
        self._keep_output("init", done)
        self._check(
            "init",
            done,
            self._limits.init_s,
            "Is Terraform installed, and its registry or a mirror of the aws provider within reach? `make setup` says.",
        )

    def plan(self, file: Path, *, destroy: bool = False, read: bool = True, only: Sequence[str] = ()) -> Plan:
        """Plans into `file`, for the addresses in `only` if there are any, and reads the plan as JSON if `read`."""
        file.parent.mkdir(parents=True, exist_ok=True)
        options: dict[str, Any] = {"destroy": IsFlagged} if destroy else {}
        options |= {"target": list(only)} if only else {}
        limit_s, next_step = self._limits.plan_s, "Nothing was changed. Correct what Terraform names, and try again."
        done = self._run_locking("plan", limit_s, out=str(file), detailed_exitcode=IsFlagged, **options)
        self._check("plan", done, limit_s, next_step, fine=(NO_CHANGE, CHANGES))
        has_changes = done.code == CHANGES
        return Plan(file, has_changes, self.show(file) if read and has_changes else {})

    def show(self, file: Path) -> Mapping[str, Any]:
        """Returns a plan file's JSON."""
        return self._read_json("show", str(file), next_step="Make a new plan.", json=IsFlagged)

    def apply(self, file: Path) -> None:
        """Applies exactly this plan file."""
        limit_s = self._limits.apply_s
        done = self._run_locking("apply", limit_s, str(file))
        next_step = "What it had changed by then stays and is in its state; `centavo plan` shows what is missing."
        self._check("apply", done, limit_s, next_step)

    def state_id(self) -> tuple[str, int]:
        """Returns lineage and serial of the state as it is now, which tell whether anything was applied since.

        An environment that was never applied has no lineage yet.
        """
        state = self._read_json("state pull", next_step="Is the backend that holds the state within reach?")
        return str(state.get("lineage", "")), int(state.get("serial", 0))

    def outputs(self) -> Outputs | None:
        """Returns what exists; None before the first apply and after a destroy. Starts no provider, so it is cheap."""
        return parse_outputs(self._read_json("output", next_step="Run `centavo apply` first.", json=IsFlagged))

    def is_made(self) -> bool:
        """Returns whether an apply has made everything once. A first apply that was killed leaves a part of it."""
        document = self._read_json("output", next_step="Run `centavo apply` first.", json=IsFlagged)
        return set(document) >= OUTPUTS

    # running

    def _read_json(self, command: str, *arguments: str, next_step: str, **options: Any) -> Mapping[str, Any]:
        """Returns what a command prints as JSON; empty where it prints nothing."""
        done = self._run(command, self._limits.read_s, *arguments, **options)
        self._check(command, done, self._limits.read_s, next_step)
        try:
            document: Mapping[str, Any] = json.loads(done.out) if done.out.strip() else {}
        except ValueError as error:
            raise self._error(command, f"its output is no JSON: {error}", next_step) from error
        return document

    def _run_locking(self, command: str, limit_s: float, *arguments: str, **options: Any) -> Ended:
        """Runs a command that locks the state. A lock that a dead Terraform of ours has left is taken away first."""
        run = partial(self._run, command, limit_s, *arguments, input=False, **options)
        end_orphans(self._records, self._limits.grace_s, self._is_stopping, self._tell)
        left = self._records.dead()
        done = run(lock_timeout="0s" if left else LOCK_TIMEOUT)
        lock = read_state_lock(done.err)
        if lock is not None and left:
            if any(dead.has_left(lock) for dead in left) and not other_terraform_runs(self._directory):
                self._unlock(lock)
            done = run(lock_timeout=LOCK_TIMEOUT)
            lock = read_state_lock(done.err)
        if lock is not None:
            raise self._locked(lock)
        for dead in left:
            self._records.remove(dead.process.pid)
        return done

    def _unlock(self, lock: StateLock) -> None:
        """Takes away a lock that a Terraform of ours has left, and tells people so."""
        done = self._run("force-unlock", self._limits.read_s, lock.lock_id, force=IsFlagged)
        self._check("force-unlock", done, self._limits.read_s, "The lock was left by a Terraform that was killed.")
        since = iso(lock.created_at)
        self._tell(
            f"Terraform's state was still locked by a Terraform that was killed ({lock.operation}, {since}); "
            "the lock is cleared"
        )

    def _run(self, command: str, limit_s: float, *arguments: str, **options: Any) -> Ended:
        line = self._command.generate_cmd_string(command, *arguments, no_color=IsFlagged, **options)
        locks = command in OPERATIONS
        pids: list[int] = []

        def started(pid: int) -> None:
            pids.append(pid)
            if locks:
                self._records.add(Running(process(pid), this_process(), command, time.time(), limit_s))

        done = self._run_program(line, limit_s, self._directory, started)
        if locks and done.code >= 0:  # one that was killed may have left its lock
            self._records.remove(pids[0])
        if command not in QUIET:
            self._keep_output(command, done)
        return done

    def _run_program(
        self, line: Sequence[str], limit_s: float, directory: Path, started: Callable[[int], None] = lambda pid: None
    ) -> Ended:
        try:
            return run_limited(
                line,
                directory=directory,
                limit_s=limit_s,
                grace_s=self._limits.grace_s,
                is_stopping=self._is_stopping,
                started=started,
            )
        except FileNotFoundError as error:
            raise TerraformError(
                f"The command {line[0]} was not found.",
                "Install Terraform 1.10 or later, and see that it is on the PATH. `make setup` says what is missing.",
            ) from error
        except OSError as error:
            raise TerraformError(
                f"{line[0]} can't be run: {error.strerror}.",
                "Is this a complete checkout, and has the disk room? `make setup` says what is missing.",
            ) from error

    # telling

    def _keep_output(self, command: str, done: Ended) -> None:
        """Adds a command's output to the log. A full disk costs the log and not the command."""
        head = f"$ terraform {command}   ({self._directory}, process {os.getpid()})"
        with suppress(OSError):
            self._log_file.parent.mkdir(parents=True, exist_ok=True)
            with self._log_file.open("a", encoding="utf-8") as log:
                log.write(f"{head}\n{done.out}{done.err}\n")

    def _check(
        self, command: str, done: Ended, limit_s: float, next_step: str, fine: Sequence[int] = (NO_CHANGE,)
    ) -> None:
        """Raises the error of a command that has failed, was stopped, or took too long."""
        if done.code in fine:
            return
        if done.was_late:
            reason = TerraformTookTooLong(command, limit_s)
            next_step = f"controller.timeouts.terraform in centavo.yml says how long it may take. {next_step}"
            said = f"{as_sentence(reason)}\n{(done.err or done.out).strip()}".strip()
            raise TerraformError(said, f"{next_step} Log: {self._log_file}", reason=reason)
        if self._is_stopping():
            raise StoppedError(f"Stopped during terraform {command}.")
        raise self._error(command, (done.err or done.out).strip(), next_step)

    def _error(self, command: str, said: str, next_step: str) -> TerraformError:
        return TerraformError(
            f"terraform {command} failed in {self._directory}:\n{said}",
            f"{next_step} Log: {self._log_file}",
            reason=TerraformFailed(command, said),
        )

    def _locked(self, lock: StateLock) -> TerraformError:
        reason = StateLocked(lock.who, lock.operation, lock.created_at, lock.lock_id)
        return TerraformError(
            as_sentence(reason),
            "Wait until that Terraform has ended. Where you know that it was killed, take its lock away: "
            f"`terraform -chdir={self._directory} force-unlock {lock.lock_id}`.",
            reason=reason,
        )


def parse_outputs(document: Mapping[str, Any]) -> Outputs | None:
    """Returns Terraform's outputs, typed; None when there are none. Raises TerraformError when some are missing."""
    if not document:
        return None
    try:
        values = {name: output["value"] for name, output in document.items()}
        head = values["head"]
        network = values.get("network") or {}
        return Outputs(
            cluster=values["cluster"],
            region=values["region"],
            bucket=values["bucket"],
            head=HeadOutput(
                head["instance_id"],
                head["private_ip"],
                head.get("public_ip") or None,
                head["instance_type"],
                float(head.get("volume_gb") or 0.0),
            ),
            flavors={
                name: FlavorOutput(
                    autoscaling_group=flavor["autoscaling_group"],
                    market=flavor["market"],
                    max_nodes=int(flavor["max_nodes"]),
                    vcpus=flavor.get("vcpus"),
                    memory_bytes=flavor.get("memory_bytes"),
                    volume_gb=float(flavor.get("volume_gb") or 0.0),
                    on_demand_base=int(flavor.get("on_demand_base") or 0),
                    cpu_credits=flavor.get("cpu_credits"),
                )
                for name, flavor in values["flavors"].items()
            },
            nat_gateways=int(network.get("nat_gateways") or 0),
            nat_gateway_ids=tuple(network.get("nat_gateway_ids") or ()),
            public_addresses=int(network.get("public_addresses") or 0),
            zones=max(1, len(network.get("worker_zones") or ())),
            log_group=values.get("log_group"),
            reaper=values.get("reaper") or None,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise TerraformError(
            f"Terraform's outputs are not what Centavo needs: {error!r}.",
            "The environment's outputs.tf must give cluster, region, bucket, head and flavors; "
            "then run `centavo apply`.",
        ) from error
