"""What the API side tells the hosts side about an instance, and what it hears back: values that travel as JSON."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

BOOTING = "booting"
READY = "ready"
FAILED = "failed"
STOPPING = "stopping"
GONE = "gone"


@dataclass(frozen=True)
class SpotNotice:
    """A spot interruption as the metadata service announces it. `time` is ISO 8601, UTC."""

    action: str
    time: str


@dataclass(frozen=True)
class HostSpec:
    """A host that shall run: an instance as its operating system would see it.

    `boot` counts the instance's starts; a host whose number changes is restarted. `speed` is a share of one core, None
    is unbraked. An `unreachable` host runs but never answers.
    """

    instance_id: str
    flavor: str
    address: str
    availability_zone: str
    region: str
    account: str
    image_id: str
    hostname: str
    public_address: str | None = None
    key_name: str | None = None
    public_key: str | None = None
    user_data: str | None = None
    tags: dict[str, str] = field(default_factory=dict)
    role: str | None = None
    tokens_required: bool = True
    tags_in_metadata: bool = False
    spot: bool = False
    spot_notice: SpotNotice | None = None
    speed: float | None = None
    unreachable: bool = False
    boot: int = 1

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, document: dict[str, Any]) -> HostSpec:
        """The inverse of `to_json`."""
        notice = document.get("spot_notice")
        return cls(**{**document, "spot_notice": SpotNotice(**notice) if notice else None})


@dataclass(frozen=True)
class HostReport:
    """What became of a host: its state, why (when it failed), and how far its user data has come."""

    instance_id: str
    state: str
    detail: str = ""
    user_data: str = "none"
    boot: int = 1

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return dataclasses.asdict(self)
