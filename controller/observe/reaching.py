"""How the cluster's nodes are reached, and what Ansible needs to know of them."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.edges.connecting.ssh import SshAccess
from controller.observe.instances import Instances
from controller.observe.made import Made

MIN_RANKS = 1
PROGRAM_DIGITS = 12
"""The digits of the digest in the name of the program's folder (`trainer_path` in ansible/playbooks/group_vars)."""


@dataclass(frozen=True)
class Reaching:
    """The way to the nodes of one run.

    Attributes:
        run: The run's name.
        run_directory: The run's folder.
    """

    environment: Environment
    made: Made
    instances: Instances
    run: str
    run_directory: Path

    @property
    def training_config(self) -> Path:
        """The run's own copy of training.yml."""
        return self.run_directory / "training.yml"

    @property
    def package(self) -> Path:
        """The run's own copy of the training program."""
        return self.run_directory / "trainer.zip"

    def access(self) -> SshAccess:
        """Returns the SSH access to the nodes. Raises NodesError when the head does not run."""
        ssh = self.environment.settings.ssh
        return SshAccess(
            ssh.user,
            ssh.port,
            self.environment.identity_file,
            self.environment.state_directory / "known_hosts",
            self.instances.head(),
            ssh.jump_through_head,
            self.environment.settings.aws.region,
        )

    def variables(self) -> dict[str, Any]:
        """Returns the variables that every playbook gets as `centavo`."""
        settings = self.environment.settings
        return {
            "root": settings.nodes.root,
            "python": settings.nodes.python,
            "fact_path": settings.nodes.fact_path,
            "network_interface": settings.nodes.network_interface,
            "ssh_port": settings.ssh.port,
            "cluster": self.made.outputs.cluster,
            "bucket": self.made.outputs.bucket,
            "region": self.made.outputs.region,
            "log_group": self.made.outputs.log_group,
            "run": self.run,
            "training_config": str(self.training_config),
            "package": str(self.package),
            "program": self._program(),
            "min_np": MIN_RANKS,
            "max_np": self._max_ranks(),
            "environment": self.environment.name,
            "boot_s": round(settings.controller.timeouts.boot_s),
        }

    def _program(self) -> str:
        """Returns the digest under which the training program lies on the nodes; empty before it is packed."""
        if not self.package.is_file():
            return ""
        return hashlib.sha256(self.package.read_bytes()).hexdigest()[:PROGRAM_DIGITS]

    def _max_ranks(self) -> int:
        """Returns the most ranks that may ever train at once: two fleets, while a move has grown and not yet shrunk."""
        declared = sum(self.made.max_nodes.values())
        most = self.environment.settings.limits.max_nodes
        return declared if most is None else min(declared, 2 * most)
