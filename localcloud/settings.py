"""The configuration of a localcloud: one YAML file, checked before anything starts."""

from __future__ import annotations

import hashlib
import ipaddress
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field, PositiveFloat, ValidationError, field_validator, model_validator

API_ADDRESS = "127.0.0.1"
LOOPBACK = ipaddress.IPv4Network("127.0.0.0/8")

Port = Annotated[int, Field(ge=1, le=65535)]
Speed = Annotated[float, Field(gt=0, le=64, description="share of one core")]
Seconds = Annotated[float, Field(ge=0, le=86_400)]
Nodes = Annotated[int, Field(ge=0)]
FailureAtBoot = Literal["unreachable", "terminated"]


class SettingsError(Exception):
    """The configuration file cannot be used; the message says which entry and why."""


class Settings(BaseModel):
    """What a localcloud is made of. Speeds are shares of one core; flavors that are not listed run unbraked."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    port: Port = 5590
    ssh_port: Port = 2222
    metadata_port: Port = 1338
    region: str = "us-east-1"
    vpc_cidr: str = "127.20.0.0/16"
    speeds: dict[str, Speed] = {}
    default_speed: Speed | None = None
    boot_delay_s: Seconds = 1.0
    shutdown_grace_s: Seconds = 0.5
    scaling_retry_s: PositiveFloat = 5.0
    terminated_visible_s: Seconds = 60.0
    spot_notice_s: Seconds = 120.0
    capacity: dict[str, Nodes] = {}
    fail_boot: dict[str, FailureAtBoot] = {}
    vcpu_quotas: dict[str, Nodes] = {}
    prices: Path | None = None
    spot_prices: dict[str, PositiveFloat] = {}

    @field_validator("vpc_cidr")
    @classmethod
    def _is_a_slice_of_loopback(cls, value: str) -> str:
        try:
            network = ipaddress.IPv4Network(value)
        except ValueError as error:
            raise ValueError(f"not an IPv4 network: {error}") from None
        if not network.subnet_of(LOOPBACK) or network.prefixlen < 9:
            raise ValueError(f"must be a slice of {LOOPBACK}, /9 or smaller: those addresses work on this machine")
        return value

    @field_validator("prices", mode="before")
    @classmethod
    def _path(cls, value: object) -> object:
        return Path(value) if isinstance(value, str) else value

    @model_validator(mode="after")
    def _ports_differ(self) -> Settings:
        if self.ssh_port == self.metadata_port:
            raise ValueError(f"ssh_port and metadata_port are both {self.ssh_port}: they share each host's address")
        return self

    @property
    def endpoint(self) -> str:
        """The URL of the AWS API."""
        return f"http://{API_ADDRESS}:{self.port}"

    def speed_of(self, flavor: str) -> float | None:
        """The share of a core that a flavor's hosts compute at; None is unbraked."""
        return self.speeds.get(flavor, self.default_speed)

    def digest(self) -> str:
        """Tells one configuration from another."""
        return hashlib.sha256(self.model_dump_json().encode()).hexdigest()

    def differences(self, other: Settings) -> list[str]:
        """The names of the entries in which two configurations differ."""
        return [name for name in type(self).model_fields if getattr(self, name) != getattr(other, name)]


def load_settings(path: Path | None) -> Settings:
    """Read a configuration file; None gives the defaults. Relative paths in it are relative to it.

    Raises SettingsError that names the file, the entry and what is wrong with it.
    """
    if path is None:
        return Settings()
    try:
        document = yaml.safe_load(path.read_text())
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror}; give another file with --config") from None
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} is not YAML: {error}") from None
    if document is None:
        document = {}
    if not isinstance(document, dict):
        raise SettingsError(f"{path} must hold a mapping such as `port: 5590`, not a {type(document).__name__}")
    try:
        settings = Settings.model_validate(document)
    except ValidationError as error:
        raise SettingsError(_explain(path, error)) from None
    if settings.prices is not None and not settings.prices.is_absolute():
        settings = settings.model_copy(update={"prices": (path.parent / settings.prices).resolve()})
    return settings


def _explain(path: Path, error: ValidationError) -> str:
    lines = [f"{path}:"]
    for problem in error.errors():
        entry = ".".join(str(part) for part in problem["loc"]) or "the whole file"
        if problem["type"] == "extra_forbidden":
            known = ", ".join(Settings.model_fields)
            lines.append(f"  {entry}: unknown entry; known are {known}")
        else:
            lines.append(f"  {entry}: {problem['msg'].removeprefix('Value error, ')} (got {problem['input']!r})")
    return "\n".join(lines)
