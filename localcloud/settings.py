"""The configuration of a localcloud: one YAML file, which is checked before anything starts."""

from __future__ import annotations

import ipaddress
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, ValidationError, field_validator, model_validator

from localcloud.support.validation import explain

API_ADDRESS = "127.0.0.1"
LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")
PRIVATE = [ipaddress.IPv4Network(network) for network in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")]
DOCUMENTATION = [ipaddress.IPv4Network(network) for network in ("198.51.100.0/24", "203.0.113.0/24")]
"""Networks that no machine on the internet has (RFC 5737)."""

Kind = Literal["loopback", "machine"]

Port = Annotated[int, Field(ge=1, le=65535)]
Speed = Annotated[float, Field(gt=0, le=64, description="share of one core")]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Limit = Annotated[int, Field(ge=0, le=1_000_000)]
BootFailure = Literal["unreachable", "terminated"]


class SettingsError(Exception):
    """The configuration file cannot be used. The message names the file, the entry and what is wrong with it."""


class MachineSettings(BaseModel):
    """What the kind of host `machine` needs."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    private_cidr: str = "10.20.0.0/16"
    public_cidr: str = "198.51.100.0/24"
    image_dir: Annotated[Path, Field(strict=False)] | None = None

    @field_validator("private_cidr")
    @classmethod
    def _is_private(cls, value: str) -> str:
        return _within(value, PRIVATE, 28, "must lie in one of the private networks")

    @field_validator("public_cidr")
    @classmethod
    def _is_for_documentation(cls, value: str) -> str:
        return _within(value, DOCUMENTATION, 28, "must lie in one of the networks for documentation")


class CreditSettings(BaseModel):
    """The CPU credits of a burstable flavor's hosts. A credit is one vCPU at full speed for a minute."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    launch: Annotated[float, Field(ge=0, strict=False)] = 0.0
    per_hour: Annotated[float, Field(gt=0, strict=False)]
    unlimited: bool = False


class Settings(BaseModel):
    """The configuration of a localcloud. README.md explains each entry."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    port: Port = 5590
    ssh_port: Port = 2222
    metadata_port: Port = 1338
    region: str = "us-east-1"
    vpc_cidr: str = "127.20.0.0/16"
    speeds: dict[str, Speed] = {}
    default_speed: Speed | None = None
    core_tokens_per_s: PositiveFloat | None = None
    credits: dict[str, CreditSettings] = {}
    credit_metrics_s: PositiveFloat = 300.0
    least_charged_s: Seconds = 60.0
    boot_delay_s: Seconds = 1.0
    shutdown_grace_s: Seconds = 0.5
    scaling_retry_s: PositiveFloat = 5.0
    terminated_visible_s: Seconds = 60.0
    spot_notice_s: Seconds = 120.0
    capacity: dict[str, Limit] = {}
    fail_boot: dict[str, BootFailure] = {}
    vcpu_quotas: dict[str, Limit] = {}
    prices: Annotated[Path, Field(strict=False)] | None = None
    spot_prices: dict[str, PositiveFloat] = {}
    hosts: Kind = "loopback"
    machines: MachineSettings = MachineSettings()

    @field_validator("vpc_cidr")
    @classmethod
    def _is_a_slice_of_loopback(cls, value: str) -> str:
        network = _network(value)
        if not network.subnet_of(LOOPBACK) or network.prefixlen < 9:
            raise ValueError(f"must be a slice of {LOOPBACK}, /9 or smaller, because hosts listen on its addresses")
        return value

    @model_validator(mode="after")
    def _ports_differ(self) -> Settings:
        if self.ssh_port == self.metadata_port:
            raise ValueError(
                f"ssh_port and metadata_port are both {self.ssh_port}; set two different ports, "
                "because each host has both on one address"
            )
        return self

    @model_validator(mode="after")
    def _credits_are_emulated(self) -> Settings:
        if self.credits and self.hosts != "loopback":
            raise ValueError(f"credits are for hosts of the kind loopback; hosts are {self.hosts}")
        return self

    @property
    def endpoint(self) -> str:
        """The URL of the AWS API."""
        return f"http://{API_ADDRESS}:{self.port}"

    @property
    def host_range(self) -> ipaddress.IPv4Network:
        """The private addresses that hosts may have."""
        return LOOPBACK if self.hosts == "loopback" else ipaddress.IPv4Network(self.machines.private_cidr)

    def speed_of(self, flavor: str) -> float | None:
        """Returns how fast a flavor's hosts compute, as a share of one core; None if they run unbraked."""
        return self.speeds.get(flavor, self.default_speed)

    def brake_of(self, speed: float | None) -> dict[str, str]:
        """Returns the variables that tell a trainer how slow its host is; none for a host that runs unbraked."""
        if speed is None:
            return {}
        variables = {"CENTAVO_EMULATED_SPEED": f"{speed:g}"}
        if self.core_tokens_per_s is not None:
            variables["CENTAVO_EMULATED_CORE_TOKENS_PER_S"] = f"{self.core_tokens_per_s:g}"
        return variables

    def differences(self, other: Settings) -> list[str]:
        """Returns the names of the entries in which two configurations differ."""
        return [name for name in type(self).model_fields if getattr(self, name) != getattr(other, name)]


def load_settings(path: Path | None, hosts: Kind | None = None) -> Settings:
    """Reads a configuration file. Relative paths in the file are relative to its folder.

    Args:
        path: the file; None gives the defaults.
        hosts: the kind of host, in place of the one in the file.

    Raises:
        SettingsError: the file cannot be read, or an entry is wrong.
    """
    chosen = {} if hosts is None else {"hosts": hosts}
    if path is None:
        return Settings.model_validate(chosen)
    try:
        settings = Settings.model_validate({**_read_mapping(path), **chosen})
    except ValidationError as error:
        lines = [f"{path}: correct these entries:", *explain(error, Settings.model_fields)]
        raise SettingsError("\n  ".join(lines)) from None
    if settings.prices is not None and not settings.prices.is_absolute():
        settings = settings.model_copy(update={"prices": (path.parent / settings.prices).resolve()})
    return settings


def _network(text: str) -> ipaddress.IPv4Network:
    try:
        return ipaddress.IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"not an IPv4 network: {error}") from None


def _within(text: str, networks: list[ipaddress.IPv4Network], longest: int, demand: str) -> str:
    network = _network(text)
    if network.prefixlen > longest or not any(network.subnet_of(one) for one in networks):
        raise ValueError(f"{demand} {', '.join(map(str, networks))}, and be /{longest} or larger")
    return text


def _read_mapping(path: Path) -> dict[str, object]:
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}; give another file with --config") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} is not YAML: {error}") from None
    if document is None:
        return {}
    if not isinstance(document, dict):
        raise SettingsError(f"{path} must hold a mapping such as `port: 5590`, not a {type(document).__name__}")
    return document
