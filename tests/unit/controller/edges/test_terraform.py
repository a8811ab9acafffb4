"""The Terraform edge, with a stand-in for the command: what is asked of it, and how its failures are told."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from controller.domain.errors import StoppedError, TerraformError
from controller.edges.terraform import Terraform, parse_outputs

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
FakeCommand = Callable[..., Terraform]


@pytest.fixture
def terraform(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeCommand:
    """Terraform whose command writes its arguments to `calls`, then runs the given shell lines."""

    def make(script: str = "", is_stopping: bool = False) -> Terraform:
        command = tmp_path / "bin" / "terraform"
        command.parent.mkdir(exist_ok=True)
        command.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/calls\n{script}\n')
        command.chmod(0o755)
        monkeypatch.setenv("PATH", f"{command.parent}:/usr/bin:/bin")
        directory = tmp_path / "environment"
        directory.mkdir(exist_ok=True)
        return Terraform(directory, tmp_path / "terraform.log", [str(command), "init", "local"], lambda: is_stopping)

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


def test_before_the_first_apply_there_are_no_outputs(terraform: FakeCommand) -> None:
    assert terraform("echo '{}'").outputs() is None


@pytest.mark.parametrize("missing", sorted(OUTPUTS))
def test_outputs_of_a_half_made_environment_are_an_error_that_names_what_is_missing(missing: str) -> None:
    with pytest.raises(TerraformError, match=missing):
        parse_outputs({name: value for name, value in OUTPUTS.items() if name != missing})
