"""The settings of one environment: `terraform/environments/ENV/centavo.yml`, validated and frozen.

Relative paths in the file are relative to the root of the repository.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

import yaml
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from controller.config.deciding import DecideOptions
from controller.domain import Fleet, Limits
from controller.domain.errors import ConfigError
from controller.domain.times import parse_time

Count = Annotated[int, Field(ge=0, le=100_000, strict=True)]
PositiveCount = Annotated[int, Field(ge=1, le=100_000, strict=True)]
Seconds = Annotated[float, Field(ge=0)]
PositiveSeconds = Annotated[float, Field(gt=0)]
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
PositiveUsd = Annotated[float, Field(gt=0)]


class _Section(BaseModel):
    """A part of the settings: unknown keys are errors, values don't change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AwsSettings(_Section):
    """Where the cloud is. `environment` is exported to boto3, Terraform and Ansible."""

    region: str
    environment: Mapping[str, str] = Field(default_factory=dict)


class SshSettings(_Section):
    """How nodes are reached."""

    user: str
    port: Port = 22
    identity_file: Path
    jump_through_head: bool = False


class FleetSettings(_Section):
    """The fleet that a training starts on."""

    initial: Mapping[str, Count]


def _seconds_since_epoch(value: Any) -> Any:
    """YAML reads 2026-11-21T18:00:00Z as a time by itself, and in quotes as text. Raises ValueError without a zone."""
    if isinstance(value, datetime):
        value = value.isoformat()
    return parse_time(value) if isinstance(value, str) else value


class LimitSettings(_Section):
    """What a fleet may be; what is left out is not limited."""

    min_nodes: PositiveCount = 1
    max_nodes: PositiveCount | None = None
    max_nodes_per_flavor: Mapping[str, Count] = Field(default_factory=dict)
    max_vcpus_per_flavor: Mapping[str, Count] = Field(default_factory=dict)
    max_usd_per_hour: PositiveUsd | None = None
    budget_usd: PositiveUsd | None = None
    deadline_at: Annotated[float | None, BeforeValidator(_seconds_since_epoch)] = None
    """Seconds since the epoch, which the file may give as an ISO 8601 time with its zone."""
    max_surge: Count | None = None
    exclude: tuple[str, ...] = ()


class PriceSource(str, Enum):
    """Who says what an instance costs."""

    FILE = "file"
    """prices.yml."""
    AWS = "aws"
    """AWS's price list, and the spot price history for flavors that are bought on spot."""


class PriceSettings(_Section):
    """Where prices come from."""

    source: PriceSource = PriceSource.FILE
    refresh_s: PositiveSeconds = 3600
    """How often AWS is asked."""
    max_age_s: PositiveSeconds = 86400
    """AWS's prices that could not be refreshed for longer than this are not decided on."""
    override: Path | None = None
    """A file of negotiated prices, written as prices.yml is, which take the place of either source's."""
    interruptions_per_hour: Mapping[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Expected spot interruptions of one node in an hour, by flavor."""


class Timeouts(_Section):
    """How long each step of a move may take, in seconds."""

    boot_s: PositiveSeconds = 600
    configure_s: PositiveSeconds = 900
    join_s: PositiveSeconds = 300
    drain_s: PositiveSeconds = 180


class ControllerSettings(_Section):
    """The loop's rhythm and the policy's caution."""

    interval_s: PositiveSeconds = 60
    poll_s: PositiveSeconds = 3
    policy: str = "cheapest-fleet"
    fact_max_age_s: PositiveSeconds = 60
    minimum_window: PositiveCount = 20
    cooldown_s: Seconds = 0
    unavailable_s: Seconds = 900
    timeouts: Timeouts = Field(default_factory=Timeouts)
    decide: DecideOptions = Field(default_factory=DecideOptions)


class NodeSettings(_Section):
    """What Ansible is told of a node."""

    network_interface: str | None = None
    """Where the ranks listen; by default the interface of each node's default route."""
    root: str
    python: str
    fact_path: str


class TrainingSettings(_Section):
    """The trainer's own configuration, handed to it as it is."""

    config: Path


class Settings(_Section):
    """All settings of an environment."""

    aws: AwsSettings
    ssh: SshSettings
    fleet: FleetSettings
    limits: LimitSettings = Field(default_factory=LimitSettings)
    prices: PriceSettings = Field(default_factory=PriceSettings)
    controller: ControllerSettings = Field(default_factory=ControllerSettings)
    nodes: NodeSettings
    training: TrainingSettings


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
        return self.directory / "centavo.yml"

    @property
    def prices_file(self) -> Path:
        return self.directory / "prices.yml"

    @property
    def negotiated_prices_file(self) -> Path | None:
        """The file that prices.override names."""
        override = self.settings.prices.override
        return None if override is None else self.path(override)

    @property
    def capacity_file(self) -> Path:
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
    def runs_directory(self) -> Path:
        return self.root / "runs"

    @property
    def identity_file(self) -> Path:
        return self.path(self.settings.ssh.identity_file)

    @property
    def initial_fleet(self) -> Fleet:
        return Fleet(self.settings.fleet.initial)

    def path(self, path: Path) -> Path:
        """An absolute path; relative ones count from the root of the repository, `~` is the home directory."""
        return self.root / path.expanduser()

    def limits(self, excluded: Mapping[str, str] | None = None) -> Limits:
        """The fleet limits, with flavors that may not be used for now (name -> reason) added."""
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


def load_environment(root: Path, name: str) -> Environment:
    """Reads an environment's settings. Raises ConfigError naming file, key and what to do."""
    root = root.resolve()
    environments = root / "terraform" / "environments"
    file = environments / name / "centavo.yml"
    if not file.is_file():
        known = sorted(path.parent.name for path in environments.glob("*/centavo.yml"))
        raise ConfigError(
            f"There is no environment {name!r}: {file} does not exist.",
            f"Choose one of {', '.join(known)} with --env."
            if known
            else f"Run this in the root of the repository, or name it with --root (now {root}).",
        )
    return Environment(name, root, parse_settings(read_yaml(file), file))


def read_yaml(file: Path) -> Any:
    """The parsed YAML of a file. Raises ConfigError with the line when it is not YAML."""
    try:
        return yaml.safe_load(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"{file} can't be read: {error.strerror}.", "Make it readable.") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file} is not valid YAML: {error}", "Mend the line that is named.") from error


def parse_settings(document: Any, file: Path) -> Settings:
    """Validates a parsed centavo.yml. Raises ConfigError listing every key that is wrong."""
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        lines = [f"  {_key(item['loc'])}: {item['msg']}{_given(item)}" for item in error.errors()]
        raise ConfigError(
            f"{file} has settings that can't be used:\n" + "\n".join(lines),
            "Mend them there; the keys are explained in that file and in README.md.",
        ) from error


def check_limits(environment: Environment, prices: Mapping[str, float]) -> None:
    """Raises ConfigError when the limits admit no fleet, or not the one that the training starts on."""
    limits, file = environment.settings.limits, environment.settings_file
    if limits.max_nodes is not None and limits.max_nodes < limits.min_nodes:
        raise ConfigError(
            f"{file}: limits.max_nodes ({limits.max_nodes}) is below min_nodes ({limits.min_nodes}).",
            "No fleet can meet both: raise the one or lower the other.",
        )
    initial = environment.initial_fleet
    _check_some_fleet_fits(environment, prices)
    if initial.size == 0:
        raise ConfigError(f"{file}: fleet.initial has no nodes.", "A training needs at least one: add a flavor.")
    if limits.max_usd_per_hour is not None and initial.usd_per_hour(prices) > limits.max_usd_per_hour:
        raise ConfigError(
            f"{file}: fleet.initial costs {initial.usd_per_hour(prices):.4f} $/hour, above limits.max_usd_per_hour "
            f"({limits.max_usd_per_hour}).",
            "Start on a smaller or cheaper fleet, or raise the limit.",
        )
    for flavor, count in initial.present.items():
        most = limits.max_nodes_per_flavor.get(flavor)
        if most is not None and count > most:
            raise ConfigError(
                f"{file}: fleet.initial.{flavor} is {count}, above limits.max_nodes_per_flavor ({most}).",
                "Lower the one or raise the other.",
            )


def _check_some_fleet_fits(environment: Environment, prices: Mapping[str, float]) -> None:
    """The cheapest fleet of min_nodes nodes has to exist within the limits per flavor and of cost."""
    limits, file = environment.settings.limits, environment.settings_file
    known = {*environment.initial_fleet, *limits.max_nodes_per_flavor} - set(limits.exclude)
    usable = sorted((prices[flavor], flavor) for flavor in known if flavor in prices)
    left, cheapest = limits.min_nodes, 0.0
    for price, flavor in usable:
        taken = min(left, limits.max_nodes_per_flavor.get(flavor, left))
        left, cheapest = left - taken, cheapest + taken * price
    if left:
        raise ConfigError(
            f"{file}: the limits admit no fleet: the flavors that may be used give at most "
            f"{limits.min_nodes - left} nodes, and limits.min_nodes is {limits.min_nodes}.",
            "Raise limits.max_nodes_per_flavor, lower limits.min_nodes, or exclude fewer flavors.",
        )
    if limits.max_usd_per_hour is not None and cheapest > limits.max_usd_per_hour:
        raise ConfigError(
            f"{file}: the limits admit no fleet: {limits.min_nodes} nodes cost at least {cheapest:.4f} $/hour, and "
            f"limits.max_usd_per_hour is {limits.max_usd_per_hour}.",
            "Raise limits.max_usd_per_hour or lower limits.min_nodes.",
        )


def _key(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "(the whole file)"


def _given(item: Any) -> str:
    given = item.get("input")
    return f" (given: {given!r})" if isinstance(given, (str, int, float, bool)) else ""
