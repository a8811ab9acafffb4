"""The bytes that CloudWatch tells of the cluster's NAT gateways, from the beginning of a run on.

CloudWatch tells a minute's bytes some minutes later. They are asked for again every five minutes, in one call for all
gateways. The period of five minutes in which the run began counts as a whole. The last minutes of a run are missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from controller.domain.errors import AwsError
from controller.words.once import Once

REFRESH_S = 300.0
"""How often CloudWatch is asked. AWS charges a cent for a thousand metrics, and a gateway has two."""
SETTLED_S = 3600.0
"""So long after its time CloudWatch may still tell more of what has passed. Older figures are not asked for again."""


class GatewaysPort(Protocol):
    """The part of `edges.account.gateways.AwsGateways` that is used here."""

    def bytes_by_time(self, gateway_ids: Sequence[str], since: float, until: float) -> Mapping[float, float]: ...


class AskedGateways:
    """The bytes that have passed the NAT gateways of one cluster in one run.

    Args:
        api: Asks CloudWatch.
        started_at: When the run began, seconds since the epoch.
        now: Seconds since the epoch.
        tell: Gets notes for people.
    """

    def __init__(
        self, api: GatewaysPort, started_at: float, now: Callable[[], float], tell: Callable[[str], None]
    ) -> None:
        self._api, self._now, self._tell_once = api, now, Once(tell)
        self._asked_at: float | None = None
        self._since = started_at
        self._passed: dict[float, float] = {}

    def bytes_of(self, gateway_ids: Sequence[str]) -> float:
        """Returns how many bytes have passed the gateways in this run, as far as CloudWatch has told.

        Nothing is asked where there is no gateway. Where CloudWatch can't be asked, what is known stays.
        """
        now = self._now()
        if gateway_ids and (self._asked_at is None or now - self._asked_at >= REFRESH_S):
            self._asked_at = now
            self._ask(gateway_ids, now)
        return sum(self._passed.values())

    def _ask(self, gateway_ids: Sequence[str], now: float) -> None:
        try:
            self._passed |= self._api.bytes_by_time(gateway_ids, self._since, now)
        except AwsError as error:
            self._tell_once(f"what has passed the NAT gateways is not counted for now: {error.what}")
            return
        self._since = max(self._since, now - SETTLED_S)
