"""How the cluster's nodes are reached, and what Ansible needs to know of them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.config.environment import Environment
from controller.edges.ssh import SshAccess
from controller.observe.instances import Instances
from controller.observe.made import Made

MIN_RANKS = 1


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
            "run": self.run,
            "training_config": str(self.training_config),
            "package": str(self.run_directory / "trainer.zip"),
            "min_np": MIN_RANKS,
            "max_np": self._max_ranks(),
            "environment": self.environment.name,
        }

    def _max_ranks(self) -> int:
        """Returns the most ranks that may ever train at once: two fleets, while a move has grown and not yet shrunk."""
        declared = sum(self.made.max_nodes.values())
        most = self.environment.settings.limits.max_nodes
        return declared if most is None else min(declared, 2 * most)
