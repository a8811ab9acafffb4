"""How the nodes are reached, and what every playbook is told."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from pathlib import Path

import pytest

from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain import Instance
from controller.edges.connecting.ssh import SshAccess
from controller.edges.terraform import FlavorOutput, HeadOutput, Outputs
from controller.observe.instances import Instances
from controller.observe.made import Made
from controller.observe.reaching import Reaching
from tests.unit.controller.harness import SETTINGS

HEAD = Instance("i-head", "t3.small", "head", "running", "10.0.0.1", "1.2.3.4")


def flavor(most: int) -> FlavorOutput:
    return FlavorOutput(autoscaling_group="group", market="on-demand", max_nodes=most, vcpus=2, memory_bytes=1 << 32)


OUTPUTS = Outputs(
    "a-cluster",
    "eu-central-1",
    "a-bucket",
    HeadOutput("i-head", "10.0.0.1", "1.2.3.4", "t3.small"),
    {"c5.large": flavor(6), "t2.medium": flavor(4)},
    log_group="/centavo/a-cluster",
)


class Terraform:
    def outputs(self) -> Outputs:
        return OUTPUTS


class Aws:
    def instances(self, cluster: str) -> tuple[Instance, ...]:
        return (HEAD,) if cluster == "a-cluster" else ()

    def failures(self, group: str, since: float) -> tuple[str, ...]:
        return ()


@pytest.fixture
def reaching(tmp_path: Path) -> Reaching:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, tmp_path / "centavo.yml"))
    made = Made(Terraform(), "test")
    return Reaching(environment, made, Instances(Aws(), made), "a-run", tmp_path / "a-run")


def with_most_nodes(reaching: Reaching, most: int | None) -> Reaching:
    limits = {**SETTINGS["limits"], "max_nodes": most} if most else {"min_nodes": 1}
    settings = parse_settings({**SETTINGS, "limits": limits}, reaching.environment.root / "centavo.yml")
    return replace(reaching, environment=replace(reaching.environment, settings=settings))


def test_ssh_goes_to_the_nodes_as_the_settings_say_by_way_of_the_head(reaching: Reaching) -> None:
    environment = reaching.environment
    ssh = environment.settings.ssh
    known_hosts = environment.state_directory / "known_hosts"
    assert reaching.access() == SshAccess(
        ssh.user, ssh.port, environment.identity_file, known_hosts, HEAD, ssh.jump_through_head, "us-east-1"
    )


def test_every_playbook_is_told_of_the_cluster_the_run_and_the_settings(reaching: Reaching) -> None:
    settings, folder = reaching.environment.settings, reaching.run_directory
    assert reaching.variables() == {
        "root": settings.nodes.root,
        "python": settings.nodes.python,
        "fact_path": settings.nodes.fact_path,
        "network_interface": settings.nodes.network_interface,
        "ssh_port": settings.ssh.port,
        "cluster": "a-cluster",
        "bucket": "a-bucket",
        "region": reaching.made.outputs.region,
        "log_group": "/centavo/a-cluster",
        "run": "a-run",
        "training_config": str(folder / "training.yml"),
        "package": str(folder / "trainer.zip"),
        "program": "",
        "min_np": 1,
        "max_np": reaching.variables()["max_np"],
        "environment": "test",
        "boot_s": settings.controller.timeouts.boot_s,
    }


def test_the_training_program_is_named_by_its_content(reaching: Reaching) -> None:
    reaching.run_directory.mkdir()
    reaching.package.write_bytes(b"a program")
    assert reaching.variables()["program"] == hashlib.sha256(b"a program").hexdigest()[:12]


@pytest.mark.parametrize(("most", "ranks"), [(None, 10), (3, 6), (5, 10), (8, 10)])
def test_two_fleets_may_train_at_once_as_far_as_terraform_allows(
    reaching: Reaching, most: int | None, ranks: int
) -> None:
    assert with_most_nodes(reaching, most).variables()["max_np"] == ranks
