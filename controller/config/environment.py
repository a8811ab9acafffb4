"""An environment: its name, its settings, and the places that belong to it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from controller.config.settings import Settings
from controller.domain import Fleet, Limits
from controller.domain.errors import ConfigError


@dataclass(frozen=True)
class Environment:
    """An environment's name, its settings and the places that belong to it (absolute paths)."""

    name: str
    root: Path
    settings: Settings

    @property
    def directory(self) -> Path:
        """Terraform's working directory."""
        return self.root / "terraform" / "environments" / self.name

    @property
    def settings_file(self) -> Path:
        """The file that the settings come from."""
        return self.directory / "centavo.yml"

    @property
    def prices_file(self) -> Path:
        """The prices that a person lists."""
        return self.directory / "prices.yml"

    @property
    def negotiated_prices_file(self) -> Path | None:
        """The file that prices.override names."""
        override = self.settings.prices.override
        return None if override is None else self.path(override)

    @property
    def capacity_file(self) -> Path:
        """The Terraform variables that the controller owns."""
        return self.directory / "capacity.auto.tfvars.json"

    @property
    def state_directory(self) -> Path:
        """What belongs to this checkout and environment and is never committed: keys, known hosts, plans."""
        return self.root / ".centavo" / self.name

    @property
    def speeds_file(self) -> Path:
        """What earlier runs have measured."""
        return self.state_directory / "speeds.json"

    @property
    def durations_file(self) -> Path:
        """How long the parts of moves took in earlier runs."""
        return self.state_directory / "durations.json"

    @property
    def losses_file(self) -> Path:
        """What earlier runs have lost to the spot market."""
        return self.state_directory / "losses.json"

    @property
    def runs_directory(self) -> Path:
        """The folders of all runs."""
        return self.root / "runs"

    @property
    def identity_file(self) -> Path:
        """The private key for the nodes' SSH."""
        return self.path(self.settings.ssh.identity_file)

    @property
    def public_key_file(self) -> Path:
        """The public half of this checkout's key."""
        return self.identity_file.with_name(f"{self.identity_file.name}.pub")

    @property
    def taken_key_file(self) -> Path:
        """The public key of the checkout that made the cluster, where another one has taken the cluster over."""
        return self.state_directory / "cluster_key.pub"

    @property
    def cluster_key_file(self) -> Path:
        """The public key that Terraform gives the nodes."""
        return self.taken_key_file if self.taken_key_file.is_file() else self.public_key_file

    @property
    def initial_fleet(self) -> Fleet:
        """The fleet that a training starts on."""
        return Fleet(self.settings.fleet.initial)

    def path(self, path: Path) -> Path:
        """Returns an absolute path. Relative paths count from the root of the repository; `~` is the home directory."""
        return self.root / path.expanduser()

    def limits(self, excluded: Mapping[str, str] | None = None) -> Limits:
        """Returns the limits on fleets. `excluded` names further flavors that may not be used for now, with reasons."""
        limits = self.settings.limits
        own = dict.fromkeys(limits.exclude, f"excluded in {self.settings_file.name}")
        return Limits(
            min_nodes=limits.min_nodes,
            max_nodes=limits.max_nodes,
            max_nodes_per_flavor=limits.max_nodes_per_flavor,
            max_vcpus_per_flavor=limits.max_vcpus_per_flavor,
            max_usd_per_hour=limits.max_usd_per_hour,
            excluded={**own, **(excluded or {})},
            deadline_at=limits.deadline_at,
            budget_usd=limits.budget_usd,
            max_surge=limits.max_surge,
        )

    def with_interval(self, interval_s: float | None) -> Environment:
        """Returns the environment with another time between two looks of the loop, in seconds; None changes nothing.

        Raises:
            ConfigError: The interval is no number above zero.
        """
        if interval_s is None:
            return self
        if not math.isfinite(interval_s) or interval_s <= 0:
            raise ConfigError(f"The interval is {interval_s:g} s.", "Give a number of seconds above zero.")
        controller = self.settings.controller.model_copy(update={"interval_s": interval_s})
        return Environment(self.name, self.root, self.settings.model_copy(update={"controller": controller}))
