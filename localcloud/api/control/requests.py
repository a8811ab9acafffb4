"""The requests of the control API, and how they are checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Generic, TypeVar

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from localcloud.api.prices.price_file import Price
from localcloud.settings import BootFailure, Limit, Seconds
from localcloud.support.validation import explain

CHECKED = ConfigDict(strict=True, allow_inf_nan=False)

PositiveSeconds = Annotated[float, Field(gt=0, le=86_400)]

T = TypeVar("T")


class ControlError(Exception):
    """A request is refused. The message says how to correct it; `status` is the status of the HTTP answer."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


class InstanceRequest(BaseModel):
    """A request about one instance."""

    model_config = ConfigDict(**CHECKED, extra="forbid", frozen=True)

    instance_id: str


class InterruptRequest(InstanceRequest):
    """A request for a spot interruption in `in_s` seconds; None stands for the configured time of the notice."""

    in_s: Seconds | None = None


class FaultRequest(BaseModel):
    """A request for a fault. Which entries a kind of fault takes, `faults.py` says."""

    model_config = ConfigDict(**CHECKED, extra="forbid", frozen=True)

    kind: str
    target: str = ""
    for_s: PositiveSeconds | None = None
    other: str | None = None
    seconds: Seconds | None = None
    times: Annotated[int, Field(ge=1, le=1_000_000)] | None = None


class ClearRequest(BaseModel):
    """A request to end faults: all, or those that fit what is given."""

    model_config = ConfigDict(**CHECKED, extra="forbid", frozen=True)

    number: int | None = None
    kind: str | None = None
    target: str | None = None


Limits = dict[str, Limit | None]
BootFailures = dict[str, bool | BootFailure | None]
SpotPricesByFlavor = dict[str, Price]
Nothing = dict[str, object]


@dataclass(frozen=True)
class RequestForm(Generic[T]):
    """What a request has to look like. `usage` describes it to a person."""

    usage: str
    adapter: TypeAdapter[T]

    def parse(self, body: bytes) -> T:
        """Returns the request in a body; an empty body is an empty object.

        Raises:
            ControlError: the body is not such a request.
        """
        try:
            return self.adapter.validate_json(body or b"{}")
        except ValidationError as error:
            raise ControlError(f"{'; '.join(explain(error))}. Send {self.usage}") from None


CAPACITY = RequestForm(
    "{flavor: most instances at a time, a whole number from 0 up; or null for no limit}",
    TypeAdapter(Limits, config=CHECKED),
)
QUOTA = RequestForm(
    "{quota code: vCPUs, a whole number from 0 up; or null for the default}",
    TypeAdapter(Limits, config=CHECKED),
)
FAIL_BOOT = RequestForm(
    '{flavor: true or "unreachable" (hosts never answer), "terminated" (instances end at launch), or false}',
    TypeAdapter(BootFailures, config=CHECKED),
)
INTERRUPT = RequestForm(
    '{"instance_id": a spot instance, "in_s": seconds from now to its end}',
    TypeAdapter(InterruptRequest),
)
REBALANCE = RequestForm('{"instance_id": a spot instance}', TypeAdapter(InstanceRequest))
TERMINATE = RequestForm(
    '{"instance_id": an instance whose machine shall fail}',
    TypeAdapter(InstanceRequest),
)
REBOOT = RequestForm('{"instance_id": an instance that runs}', TypeAdapter(InstanceRequest))
REPLACE = RequestForm('{"instance_id": an instance of an Auto Scaling group}', TypeAdapter(InstanceRequest))
SPOT_PRICE = RequestForm(
    "{flavor: positive dollars per hour, from now on}",
    TypeAdapter(SpotPricesByFlavor, config=CHECKED),
)
FAULT = RequestForm(
    '{"kind": a fault, "target": an instance, a flavor or a service, "for_s": seconds until it ends by itself}',
    TypeAdapter(FaultRequest),
)
CLEAR = RequestForm(
    '{} for all faults, or {"number": one of GET faults}, or {"kind": a fault, "target": where it is}',
    TypeAdapter(ClearRequest),
)
SHUTDOWN = RequestForm("{}", TypeAdapter(Nothing))
