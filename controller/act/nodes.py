"""What the controller does on the nodes, by playbooks over SSH."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from controller.domain import Instance
from controller.domain.errors import AnsibleError, DiskError
from controller.domain.reasons.moving import ConfiguringFailed
from controller.edges.ansible import Outcome
from controller.edges.connecting.ssh import SshAccess, config_for_people
from controller.edges.files import write_whole
from controller.observe.instances import Instances
from controller.observe.reaching import Reaching
from controller.supply.boot_bundle import keep_boot_bundle
from controller.supply.supplies import Supplies


class PlaybooksPort(Protocol):
    """The part of `edges.ansible.Ansible` that is used here."""

    def play(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome: ...


class Nodes:
    """The nodes of one run. Every method raises AnsibleError when its playbook fails."""

    def __init__(
        self,
        ansible: PlaybooksPort,
        instances: Instances,
        reaching: Reaching,
        supplies: Supplies,
        keep_members: Callable[[frozenset[str]], None],
        check_writer: Callable[[], None] = lambda: None,
    ) -> None:
        """Makes the nodes of a run. `check_writer` raises SupersededError where nothing may be done any more."""
        self._ansible = ansible
        self._instances, self._reaching, self._keep_members = instances, reaching, keep_members
        self._supplies, self._check_writer = supplies, check_writer

    def configure(self, instances: Sequence[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        """Makes workers of these nodes, warm and ready to join, and a head of the head where that is asked for."""
        self._supply()
        self._keep_ssh_config()
        limit = [i.instance_id for i in instances] + ([self._instances.head().instance_id] if with_head else [])
        try:
            self._prepare(instances, timeout_s, limit)
        except AnsibleError as error:
            reason = ConfiguringFailed(error.reason)
            raise AnsibleError(error.what, error.next_step, error.hosts, reason=reason) from error
        self._keep_boot_bundle()

    def configure_all(self) -> Outcome:
        """Prepares the head and all running workers; changes nothing where all is so already."""
        self._supply()
        self._keep_ssh_config()
        timeout_s = self._reaching.environment.settings.controller.timeouts.configure_s
        outcome = self._prepare(self._instances.running(), timeout_s)
        self._keep_boot_bundle()
        return outcome

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        """Writes the hosts file: these instances take part in the training.

        The journal is told first, so that it never knows of fewer members than the hosts file has.
        """
        self._keep_members(frozenset(i.instance_id for i in instances))
        self._play("hosts.yml", [], addresses=[i.private_ip for i in instances])

    def start_training(self) -> None:
        """Starts the launcher on the head, unless it runs already."""
        self._play("start.yml", [])

    def stop_training(self) -> None:
        """Stops the launcher on the head."""
        self._play("stop.yml", [])

    def fetch_results(self) -> bool:
        """Brings the training's results from the head into the run's folder. Returns whether there were any."""
        destination = self._reaching.run_directory / "results"
        destination.mkdir(exist_ok=True)
        self._play("fetch.yml", [], destination=str(destination))
        return any(destination.iterdir())

    # the controller on the head

    def place_controller(self, controller: Mapping[str, Any]) -> bytes:
        """Places a controller on the head, with an SSH key of its own, and does not start it.

        Args:
            controller: What the role has to know.

        Returns:
            The public half of the key. The private half never leaves the head.
        """
        with tempfile.TemporaryDirectory() as folder:
            public = Path(folder, "controller_key.pub")
            self._play("controller.yml", [], controller_step="place", controller={**controller, "public": str(public)})
            return public.read_bytes()

    def start_controller(self, controller: Mapping[str, Any]) -> None:
        """Starts the controller on the head as soon as its key is let in, and lets each boot of the head start it."""
        self._play("controller.yml", [], controller_step="start", controller=dict(controller))

    def stop_controller(self) -> None:
        """Stops the controller on the head for good."""
        self._play("controller.yml", [], controller_step="stop")

    def _prepare(self, instances: Sequence[Instance], timeout_s: float, limit: Sequence[str] | None = None) -> Outcome:
        """Prepares nodes. Only this playbook needs the supplies, and gets the URLs by which they can be read."""
        supplies = self._supplies.variables()
        return self._play("site.yml", instances, limit=limit, timeout_s=timeout_s, supplies=supplies)

    def _play(
        self,
        playbook: str,
        instances: Sequence[Instance],
        *,
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
        supplies: Mapping[str, Any] | None = None,
        **extra: Any,
    ) -> Outcome:
        self._check_writer()
        return self._ansible.play(
            playbook,
            self._reaching.access(),
            [self._instances.head(), *instances],
            {"centavo": {**self._reaching.variables(), **(supplies or {})}, **extra},
            limit=limit,
            timeout_s=timeout_s,
        )

    def _supply(self) -> None:
        """Puts into the bucket what the nodes fetch from there."""
        self._keep_training_config()
        self._supplies.provide(self._reaching.training_config, self._build_wheelhouse)

    def _build_wheelhouse(self, sources: Path, upload_url: str) -> Mapping[str, Any]:
        """Builds the wheelhouse on the head, and uploads it where a URL is given. Returns its manifest."""
        built = sources.with_name("manifest.json")
        wheelhouse = self._reaching.environment.settings.nodes.wheelhouse
        assert wheelhouse is not None
        self._play(
            "wheelhouse.yml",
            [],
            sources=str(sources),
            built_for=wheelhouse.model_dump(),
            manifest=str(built),
            upload_url=upload_url,
        )
        return dict(json.loads(built.read_text(encoding="utf-8")))

    def _keep_boot_bundle(self) -> None:
        """Keeps in the run's folder the bundle by which further nodes can prepare themselves."""
        reaching, head = self._reaching, self._instances.head()
        keep_boot_bundle(
            reaching.run_directory,
            reaching.environment.root / "ansible",
            {**reaching.variables(), **self._supplies.variables_with_keys()},
            {"instance_id": head.instance_id, "private_ip": head.private_ip, "flavor": head.flavor},
            reaching.environment.settings.nodes.prepare,
        )

    def _keep_training_config(self) -> None:
        """Copies training.yml, once in a run: nodes that join later get what the first ones got."""
        copy, environment = self._reaching.training_config, self._reaching.environment
        if not copy.is_file():
            write_whole(copy, environment.path(environment.settings.training.config).read_bytes())

    def _keep_ssh_config(self) -> None:
        """Writes for people how the nodes are reached: `ssh -F .centavo/ENV/ssh_config head`. They can do without."""
        with suppress(DiskError):
            file = self._reaching.environment.state_directory / "ssh_config"
            write_whole(file, config_for_people(self._reaching.access()))
