"""A host that shall run, as the API describes it to the hosts' process."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class SpotNotice:
    """A spot interruption as the metadata service announces it. `time` is ISO 8601, UTC."""

    action: str
    time: str


@dataclass(frozen=True)
class CreditSpec:
    """The CPU credits of a host: those from its launch, and those that it earns in an hour.

    A host in `unlimited` mode spends surplus credits where it has none of its own. Any other slows down.
    """

    launch: float
    per_hour: float
    unlimited: bool


@dataclass(frozen=True)
class RoleSession:
    """The credentials of an instance's role: a key of its own for each instance. Times are ISO 8601, UTC."""

    name: str
    last_updated: str
    expiration: str
    access_key_id: str
    secret_access_key: str = field(repr=False)
    session_token: str = field(repr=False)


@dataclass(frozen=True)
class HostFault:
    """A fault of a host: `hang-ssh`, `freeze`, `fill-disk` or `partition`.

    A partition from one other instance names it, with its address. Otherwise it is one from all.
    """

    kind: str
    other: str | None = None
    other_address: str | None = None


@dataclass(frozen=True)
class HostSpec:
    """An instance as its operating system would see it.

    `boot` counts the starts of the instance; a host is restarted when its number changes. `speed` is a share of one
    core; None means unbraked. An `unreachable` host runs but never answers. `vcpus`, `memory_mib` and
    `volume_gb` are what the instance type and the launch give. Of these, loopback uses only the vCPUs: they spend the
    `credits` of a burstable type.
    `rebalance_at` is when EC2 recommended to replace the instance (ISO 8601, UTC).
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
    role: RoleSession | None = None
    tokens_required: bool = True
    tags_in_metadata: bool = False
    spot: bool = False
    spot_notice: SpotNotice | None = None
    rebalance_at: str | None = None
    speed: float | None = None
    unreachable: bool = False
    boot: int = 1
    faults: tuple[HostFault, ...] = ()
    subnet_id: str | None = None
    security_groups: tuple[str, ...] = ()
    vcpus: int = 1
    memory_mib: int = 1024
    volume_gb: int = 8
    credits: CreditSpec | None = None
