"""The settings of one environment, as `centavo.yml` gives them: typed, checked and frozen."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from enum import Enum
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError, model_validator
from pydantic_core import PydanticCustomError

from controller.config.deciding import DecideOptions
from controller.domain.errors import ConfigError
from controller.domain.health import HealthLimits
from controller.domain.lease import HeadEnding, SwitchSettings
from controller.domain.observed.spot import SpotSettings
from controller.domain.times import parse_time

Count = Annotated[int, Field(ge=0, le=100_000, strict=True)]
PositiveCount = Annotated[int, Field(ge=1, le=100_000, strict=True)]
Seconds = Annotated[float, Field(ge=0)]
PositiveSeconds = Annotated[float, Field(gt=0)]
Port = Annotated[int, Field(ge=1, le=65535, strict=True)]
LEAST_GAP_S = 60.0
GAP_INTERVALS = 4
"""Of the time between two looks, so many intervals count as watched at most."""
PositiveUsd = Annotated[float, Field(gt=0)]


class _Section(BaseModel):
    """A part of the settings. Unknown keys are errors, and values don't change."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class AwsSettings(_Section):
    """Where the cloud is."""

    region: str
    environment: Mapping[str, str] = Field(default_factory=dict)
    """Exported to boto3, Terraform and Ansible."""
    credentials_file: Path | None = None
    """The only file that boto3 and Terraform take credentials from. None: they look where AWS's tools always look."""


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
    """Returns a time as seconds since the epoch. YAML gives a time, or text where it stands in quotes.

    Raises:
        ValueError: The time has no zone.
    """
    if isinstance(value, datetime):
        value = value.isoformat()
    return parse_time(value) if isinstance(value, str) else value


class LimitSettings(_Section):
    """What a fleet may be, and what a run may cost. What is left out is not limited."""

    min_nodes: PositiveCount = 1
    max_nodes: PositiveCount | None = None
    max_nodes_per_flavor: Mapping[str, Count] = Field(default_factory=dict)
    max_vcpus_per_flavor: Mapping[str, Count] = Field(default_factory=dict)
    max_usd_per_hour: PositiveUsd | None = None
    budget_usd: PositiveUsd | None = None
    """For the whole run. When it is reached, the training is stopped and everything is given back."""
    ceiling_usd: PositiveUsd | None = None
    """The largest budget of a run, whatever a person asks for; the budget of a run that has none."""
    deadline_at: Annotated[float | None, BeforeValidator(_seconds_since_epoch)] = None
    """Seconds since the epoch. The file may give an ISO 8601 time with its zone."""
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
    """No move is decided on a price of AWS that is older than this."""
    override: Path | None = None
    """A file of negotiated prices, written as prices.yml is. They replace the prices of either source."""
    interruptions_per_hour: Mapping[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    """Expected spot interruptions of one node in an hour, by flavor."""


class TerraformTimeouts(_Section):
    """How long Terraform may take, in seconds. It is asked to stop then, and killed `grace_s` later."""

    init_s: PositiveSeconds = 600
    plan_s: PositiveSeconds = 600
    apply_s: PositiveSeconds = 3600
    read_s: PositiveSeconds = 120
    grace_s: PositiveSeconds = 60


class Timeouts(_Section):
    """How long each step of a move may take, in seconds, and how long Terraform may."""

    boot_s: PositiveSeconds = 600
    configure_s: PositiveSeconds = 900
    join_s: PositiveSeconds = 300
    drain_s: PositiveSeconds = 180
    terraform: TerraformTimeouts = Field(default_factory=TerraformTimeouts)


class HealthSettings(_Section):
    """How long each state of a training may last before it counts as a fault, in seconds.

    What is left out follows from the time limits of a move, so that nothing which a move waits for counts as a fault.
    `controller.domain.health.HealthLimits` explains each limit.
    """

    stall_s: PositiveSeconds | None = None
    """By default three times `timeouts.join_s`."""
    finish_s: PositiveSeconds = 3600
    rank_s: PositiveSeconds | None = None
    """By default twice `timeouts.join_s`."""
    silent_s: PositiveSeconds = 300
    head_s: PositiveSeconds | None = None
    """By default `timeouts.boot_s`: a head that was rebooted needs so long."""
    service_s: PositiveSeconds = 60
    remedy_s: PositiveSeconds | None = None
    """By default `timeouts.join_s`."""
    tries: PositiveCount = 2


class SwitchSection(_Section):
    """The dead man's switch, in seconds. `controller.domain.lease.SwitchSettings` explains each limit."""

    lease_s: Annotated[float, Field(ge=20)] = 900
    ended_s: PositiveSeconds = 1800
    stalled_s: PositiveSeconds = 7200
    worker_s: PositiveSeconds = 3600
    reaper_s: PositiveSeconds = 7200
    head: HeadEnding = HeadEnding.STOP

    @model_validator(mode="after")
    def _in_order(self) -> SwitchSection:
        """Checks that who stands closer to the training acts first."""
        if not self.lease_s < self.worker_s:
            raise PydanticCustomError(
                "too_early", "worker_s must be above lease_s: a worker waits until the lease has run out"
            )
        if not self.worker_s <= self.reaper_s:
            raise PydanticCustomError(
                "too_early", "reaper_s must not be below worker_s: the reaper ends what the workers have not ended"
            )
        return self

    @property
    def settings(self) -> SwitchSettings:
        """The same values, as the lease carries them."""
        return SwitchSettings(**self.model_dump())


class ControllerSettings(_Section):
    """The rhythm of the loop, and how careful the policy is."""

    interval_s: PositiveSeconds = 60
    poll_s: PositiveSeconds = 3
    policy: str = "cheapest-fleet"
    detach: bool = False
    """Whether `centavo optimize` hands its runs to a controller on the head."""
    fact_max_age_s: PositiveSeconds = 60
    minimum_window: PositiveCount = 20
    cooldown_s: Seconds = 0
    unavailable_s: Seconds = 900
    ending_s: Seconds = 60
    """How long everything is still paid for after a training was told to stop: its checkpoint, and giving back."""
    timeouts: Timeouts = Field(default_factory=Timeouts)
    health: HealthSettings = Field(default_factory=HealthSettings)
    decide: DecideOptions = Field(default_factory=DecideOptions)
    switch: SwitchSection = Field(default_factory=SwitchSection)

    @property
    def longest_pass_s(self) -> float:
        """How long one pass may take at most: a controller that has been at one for longer hangs."""
        times, terraform = self.timeouts, self.timeouts.terraform
        moving_s = times.boot_s + times.configure_s + times.join_s + times.drain_s
        return moving_s + terraform.init_s + terraform.plan_s + terraform.apply_s + terraform.grace_s

    @property
    def stop_ahead_s(self) -> float:
        """How long before the budget is used up a training has to stop: until the next look, and for the ending."""
        return self.interval_s + self.ending_s

    @property
    def health_limits(self) -> HealthLimits:
        """How long each state of a training may last."""
        health, join_s, boot_s = self.health, self.timeouts.join_s, self.timeouts.boot_s
        return HealthLimits(
            stall_s=3 * join_s if health.stall_s is None else health.stall_s,
            finish_s=health.finish_s,
            rank_s=2 * join_s if health.rank_s is None else health.rank_s,
            silent_s=health.silent_s,
            boot_s=boot_s,
            head_s=boot_s if health.head_s is None else health.head_s,
            service_s=health.service_s,
            remedy_s=join_s if health.remedy_s is None else health.remedy_s,
            tries=health.tries,
            gap_s=max(LEAST_GAP_S, GAP_INTERVALS * self.interval_s),
        )


class WheelhouseSettings(_Section):
    """For which nodes packages are built: what their image has."""

    python: Annotated[str, Field(pattern=r"^3\.\d+$")]
    glibc: Annotated[str, Field(pattern=r"^\d+\.\d+$")]


class NodesPrepare(str, Enum):
    """When a node that boots prepares itself, with the run's bundle from the bucket."""

    ALWAYS = "always"
    """At each boot. The controller's Ansible then finds nothing to change."""
    UNOWNED = "unowned"
    """Where no controller holds the cluster's lease. Otherwise the controller prepares it."""


class SpotSection(_Section):
    """What is done where the spot market has no capacity. `controller.domain.observed.spot` explains each value."""

    on_demand_fallback: bool = False
    wait_s: Seconds = 900
    rebalance: bool = True

    @property
    def settings(self) -> SpotSettings:
        """The same values, as the loop takes them."""
        return SpotSettings(**self.model_dump())


class NodeSettings(_Section):
    """What Ansible needs to know of the nodes."""

    network_interface: str | None = None
    """Where the ranks listen. By default this is the interface of each node's default route."""
    root: str
    python: str
    fact_path: str
    wheelhouse: WheelhouseSettings | None = None
    """Where the nodes' packages come from. None: their Python has all packages already, and nothing is installed."""
    prepare: NodesPrepare = NodesPrepare.ALWAYS
    """When a node prepares itself."""


class TrainingSettings(_Section):
    """The trainer's own configuration, and what the speeds that it reaches depend on."""

    config: Path
    """Handed to the trainer as it is."""
    speeds_depend_on: tuple[Path, ...] = ()
    """Files whose content decides how fast the flavors are: when one changes, speeds of earlier runs don't count."""


class MetricsSettings(_Section):
    """Where the metrics of a run go, beside `/metrics`."""

    cloudwatch: bool = False
    """Whether CloudWatch gets them (namespace Centavo), which charges for each. The alarms watch them."""


class Settings(_Section):
    """All settings of an environment."""

    cluster: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]{1,23}[a-z0-9]$")]
    """The cluster's name, which main.tf reads from here, too: the value of the tag centavo:cluster."""
    aws: AwsSettings
    ssh: SshSettings
    fleet: FleetSettings
    limits: LimitSettings = Field(default_factory=LimitSettings)
    prices: PriceSettings = Field(default_factory=PriceSettings)
    controller: ControllerSettings = Field(default_factory=ControllerSettings)
    nodes: NodeSettings
    training: TrainingSettings
    metrics: MetricsSettings = Field(default_factory=MetricsSettings)
    spot: SpotSection = Field(default_factory=SpotSection)


def parse_settings(document: Any, origin: str) -> Settings:
    """Returns the settings in the parsed content of `centavo.yml`. Raises ConfigError listing every wrong key.

    Args:
        document: The parsed content.
        origin: Where the settings come from, for errors: the file, and environment variables.
    """
    try:
        return Settings.model_validate(document)
    except ValidationError as error:
        lines = [f"  {_key(item['loc'])}: {item['msg']}{_given(item)}" for item in error.errors()]
        raise ConfigError(
            f"{origin} has settings that can't be used:\n" + "\n".join(lines),
            "Correct them there. The keys are explained in centavo.yml and in README.md.",
        ) from error


def _key(location: tuple[int | str, ...]) -> str:
    return ".".join(str(part) for part in location) or "(the whole file)"


def _given(item: Any) -> str:
    given = item.get("input")
    return f" (given: {given!r})" if isinstance(given, (str, int, float, bool)) else ""
