"""The Terraform edge, with a stand-in for the command: what is asked of it, and how its failures are told."""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest

from controller.domain.errors import StoppedError, TerraformError
from controller.domain.reasons.moving import TerraformTookTooLong
from controller.edges.process_identity import process, this_process
from controller.edges.terraform import Terraform, TerraformLimits, parse_outputs
from controller.edges.terraform_lock import other_terraform_runs
from tests.support.local_cloud import wait_until

OUTPUTS: dict[str, Any] = {
    "cluster": {"value": "c"},
    "region": {"value": "us-east-1"},
    "bucket": {"value": "b"},
    "head": {
        "value": {"instance_id": "i-head", "private_ip": "10.0.0.2", "public_ip": None, "instance_type": "t3.micro"}
    },
    "flavors": {
        "value": {
            "c5.large": {
                "autoscaling_group": "c-c5.large",
                "launch_template_id": "lt-1",
                "market": "on-demand",
                "max_nodes": 12,
                "vcpus": 2,
                "memory_bytes": 4 << 30,
            }
        }
    },
}
LIMITS = TerraformLimits()
FakeCommand = Callable[..., Terraform]


@pytest.fixture
def terraform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCommand:
    """Terraform whose command writes its arguments to `calls`, then runs the given shell lines."""

    def make(script: str = "", is_stopping: bool = False, limits: TerraformLimits = LIMITS) -> Terraform:
        command = tmp_path / "bin" / "terraform"
        command.parent.mkdir(exist_ok=True)
        command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n{script}\n')
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
        directory = tmp_path / "environment"
        directory.mkdir(exist_ok=True)
        init = [str(command), "init", "local"]
        return Terraform(directory, tmp_path / "terraform.log", init, lambda: is_stopping, limits)

    return make


def calls(tmp_path: Path) -> list[str]:
    return (tmp_path / "calls").read_text().splitlines()


def test_a_plan_is_kept_in_a_file_and_read_back_as_json(terraform: FakeCommand, tmp_path: Path) -> None:
    made = terraform('case "$1" in plan) exit 2;; show) echo \'{"resource_changes": []}\';; esac')
    plan = made.plan(tmp_path / "plans" / "p")
    assert plan.has_changes
    assert plan.document == {"resource_changes": []}
    planned, shown = calls(tmp_path)
    assert f"-out={tmp_path}/plans/p" in planned.split()
    assert "-detailed-exitcode" in planned.split()
    assert shown.split()[-1] == f"{tmp_path}/plans/p"


def test_a_plan_that_changes_nothing_is_not_looked_at(terraform: FakeCommand, tmp_path: Path) -> None:
    plan = terraform("exit 0").plan(tmp_path / "p")
    assert not plan.has_changes
    assert len(calls(tmp_path)) == 1


def test_the_very_plan_file_is_applied_and_the_output_kept(terraform: FakeCommand, tmp_path: Path) -> None:
    terraform("echo Apply complete").apply(tmp_path / "p")
    assert calls(tmp_path)[0].split()[0] == "apply"
    assert calls(tmp_path)[0].split()[-1] == f"{tmp_path}/p"
    assert "Apply complete" in (tmp_path / "terraform.log").read_text()


@pytest.mark.parametrize("command", ["init", "plan", "apply", "outputs"])
def test_a_failing_command_is_told_in_its_own_words(terraform: FakeCommand, tmp_path: Path, command: str) -> None:
    made = terraform("echo 'Error: no quota' >&2; exit 1")
    with pytest.raises(TerraformError, match="Error: no quota") as error:
        getattr(made, command)(*[tmp_path / "p"] if command in ("plan", "apply") else [])
    assert "Log: " in error.value.next_step


def test_an_apply_that_a_person_stopped_is_no_failure(terraform: FakeCommand, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        terraform("exit 1", is_stopping=True).apply(tmp_path / "p")


def test_a_machine_without_terraform_is_told_what_to_install(
    terraform: FakeCommand,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = terraform()
    monkeypatch.setenv("PATH", str(tmp_path / "nothing"))
    with pytest.raises(TerraformError, match="terraform was not found") as error:
        made.plan(tmp_path / "p")
    assert "Install Terraform" in error.value.next_step


def test_outputs_are_typed(terraform: FakeCommand) -> None:
    outputs = terraform(f"echo '{json.dumps(OUTPUTS)}'").outputs()
    assert outputs is not None
    assert outputs.flavors["c5.large"].max_nodes == 12
    assert outputs.head.public_ip is None


@pytest.mark.parametrize(("network", "zones"), [({"worker_zones": ["a", "b"]}, 2), ({"nat_gateways": 1}, 1), (None, 1)])
def test_the_zones_of_workers_are_counted_where_the_modules_tell_them(network: Any, zones: int) -> None:
    outputs = parse_outputs({**OUTPUTS, "network": {"value": network}})
    assert outputs is not None and outputs.zones == zones


@pytest.mark.parametrize(
    ("network", "ids"), [({"nat_gateway_ids": ["nat-1", "nat-2"]}, ("nat-1", "nat-2")), ({}, ()), (None, ())]
)
def test_the_nat_gateways_are_known_by_name_where_the_modules_tell_them(network: Any, ids: tuple[str, ...]) -> None:
    outputs = parse_outputs({**OUTPUTS, "network": {"value": network}})
    assert outputs is not None and outputs.nat_gateway_ids == ids


def test_before_the_first_apply_there_are_no_outputs(terraform: FakeCommand) -> None:
    assert terraform("echo '{}'").outputs() is None


@pytest.mark.parametrize("missing", sorted(OUTPUTS))
def test_outputs_of_a_half_made_environment_are_an_error_that_names_what_is_missing(missing: str) -> None:
    with pytest.raises(TerraformError, match=missing):
        parse_outputs({name: value for name, value in OUTPUTS.items() if name != missing})


@pytest.mark.parametrize("missing", sorted(OUTPUTS))
def test_an_environment_whose_first_apply_was_killed_is_not_made_yet(terraform: FakeCommand, missing: str) -> None:
    partly = {name: value for name, value in OUTPUTS.items() if name != missing}
    assert not terraform(f"echo '{json.dumps(partly)}'").is_made()
    assert not terraform("echo '{}'").is_made()
    assert terraform(f"echo '{json.dumps(OUTPUTS)}'").is_made()


STUBBORN = "trap '' INT; sleep 600"
OBEDIENT = "trap 'echo gave the lock back; exit 1' INT; sleep 600 & wait"
SOON = TerraformLimits(init_s=0.2, plan_s=0.2, apply_s=0.2, read_s=0.2, grace_s=0.3)
KILLED = TerraformLimits(grace_s=0.1)


@pytest.mark.parametrize("call", ["init", "plan", "apply", "show", "outputs", "state_id"])
@pytest.mark.parametrize("script", [STUBBORN, OBEDIENT])
def test_every_command_has_its_time_and_is_stopped_after_it(
    terraform: FakeCommand, tmp_path: Path, script: str, call: str
) -> None:
    made = terraform(script, limits=SOON)
    with pytest.raises(TerraformError, match=r"took longer than 0\.2 s and was stopped") as error:
        getattr(made, call)(*[tmp_path / "p"] if call in ("plan", "apply", "show") else [])
    assert isinstance(error.value.reason, TerraformTookTooLong)
    assert "controller.timeouts.terraform" in error.value.next_step


def stopped_when_ready(made: Terraform, tmp_path: Path) -> None:
    """A person stops the controller as soon as the command has made the file `ready`."""
    made._is_stopping = (tmp_path / "ready").exists
    with pytest.raises(StoppedError):
        made.apply(tmp_path / "p")


def test_terraform_is_asked_to_stop_before_it_is_killed_so_that_it_gives_its_lock_back(
    terraform: FakeCommand, tmp_path: Path
) -> None:
    script = f"trap 'echo gave the lock back; exit 1' INT; touch {tmp_path}/ready; while :; do sleep 0.1; done"
    stopped_when_ready(terraform(script), tmp_path)
    assert "gave the lock back" in (tmp_path / "terraform.log").read_text()
    assert not any((tmp_path / "terraform").iterdir())


def test_what_a_killed_terraform_has_started_is_killed_with_it(terraform: FakeCommand, tmp_path: Path) -> None:
    script = f"trap '' INT; sleep 600 & echo $! > {tmp_path}/child; touch {tmp_path}/ready; wait"
    stopped_when_ready(terraform(script, limits=KILLED), tmp_path)
    child, deadline = process(int((tmp_path / "child").read_text())), time.monotonic() + 60
    while not child.is_dead():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert any((tmp_path / "terraform").iterdir())


def test_a_person_who_stops_the_controller_stops_terraform_too(terraform: FakeCommand, tmp_path: Path) -> None:
    with pytest.raises(StoppedError):
        terraform(OBEDIENT, is_stopping=True).apply(tmp_path / "p")


def test_output_that_is_no_json_is_an_error_of_terraform(terraform: FakeCommand) -> None:
    with pytest.raises(TerraformError, match="its output is no JSON"):
        terraform("echo '{\"head\":'").outputs()


def test_a_log_that_can_not_be_written_costs_no_apply(terraform: FakeCommand, tmp_path: Path) -> None:
    made = terraform("echo Apply complete")
    (tmp_path / "terraform.log").mkdir()
    made.apply(tmp_path / "p")
    assert calls(tmp_path)[0].startswith("apply")


LOCKED = """
if [ "$1" = force-unlock ]; then rm {lock}; exit 0; fi
if [ -e {lock} ]; then cat >&2 <<END
Error: Error acquiring the state lock

Error message: operation error S3: PutObject, StatusCode: 412, PreconditionFailed
Lock Info:
  ID:        e4b0
  Path:      states/test.tfstate
  Operation: {operation}
  Who:       {who}
  Version:   1.11.4
  Created:   {created} +0000 UTC
  Info:
END
exit 1; fi
"""


@pytest.mark.parametrize(
    ("is_ours", "difference"),
    [
        (True, {}),
        (False, {"who": "eve@elsewhere"}),
        (False, {"operation": "OperationTypePlan"}),
        (False, {"created": "2026-01-01 00:00:00.5"}),
        (False, {"created": "yesterday"}),
    ],
)
def test_only_a_lock_that_a_terraform_of_ours_has_left_is_taken_away(
    terraform: FakeCommand, tmp_path: Path, is_ours: bool, difference: dict[str, str]
) -> None:
    with pytest.raises(TerraformError):
        terraform(STUBBORN, limits=SOON).apply(tmp_path / "p")
    own, lock = this_process(), tmp_path / "lock"
    lock.touch()
    left = {
        "who": f"{own.user}@{own.host}",
        "operation": "OperationTypeApply",
        "created": f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S.%f}",
        **difference,
    }
    made = terraform(LOCKED.format(lock=lock, **left))
    if is_ours:
        made.plan(tmp_path / "p")
    else:
        with pytest.raises(TerraformError, match="state is locked"):
            made.plan(tmp_path / "p")
    assert lock.exists() is not is_ours
    assert [call.split()[0] for call in calls(tmp_path)][1:] == (
        ["plan", "force-unlock", "plan"] if is_ours else ["plan", "plan"]
    )


def test_a_lock_is_not_taken_away_while_any_terraform_works_in_the_directory(
    terraform: FakeCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(TerraformError):
        terraform(STUBBORN, limits=SOON).apply(tmp_path / "p")
    own, lock = this_process(), tmp_path / "lock"
    lock.touch()
    created = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S}"
    who = f"{own.user}@{own.host}"
    made = terraform(LOCKED.format(lock=lock, who=who, operation="OperationTypeApply", created=created))
    monkeypatch.setattr("controller.edges.terraform.other_terraform_runs", lambda directory: True)
    with pytest.raises(TerraformError, match="state is locked"):
        made.plan(tmp_path / "p")
    assert lock.exists()


def test_a_terraform_of_this_machine_is_found_by_where_it_works(tmp_path: Path) -> None:
    other = tmp_path / "terraform"
    other.write_text("#!/bin/sh\nread line\n")
    other.chmod(0o755)
    here = tmp_path / "here"
    here.mkdir()
    assert not other_terraform_runs(here)
    running = subprocess.Popen([str(other)], cwd=here, stdin=subprocess.PIPE)
    try:
        wait_until(lambda: other_terraform_runs(here), "the program, which has just been started")
        assert not other_terraform_runs(tmp_path)
    finally:
        running.kill()
        running.wait()
