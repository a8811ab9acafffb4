"""AWS's prices: asked for again when they have aged, and cached in a file with the time of each fetch."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from controller.domain import Market, Price, on_demand_name
from controller.domain.errors import AwsError, DiskError
from controller.edges.files import write_whole
from controller.observe.prices.answers import SPOT_SOURCE, parse_on_demand, parse_spot

RETRY_S = 60.0
"""After this time AWS is asked again for a price that it did not tell."""

Key = tuple[str, Market]
"""An instance type, and how it is bought."""


@dataclass(frozen=True)
class Wanted:
    """Which prices are needed."""

    markets: Mapping[str, Market | None] = field(default_factory=dict)
    """By flavor how it is bought; None where that is not known yet."""
    groups: Mapping[str, str] = field(default_factory=dict)
    """By flavor its Auto Scaling group. Spot prices count in the group's zones only."""
    heads: frozenset[str] = frozenset()
    """The instance types of heads, which are always bought on demand."""
    extras: frozenset[str] = frozenset()
    """Those of `EXTRAS` that are needed."""
    volume_gb: Mapping[str, float] = field(default_factory=dict)
    """By flavor the size of a node's volume, whose costs are a part of the flavor's price."""
    floors: frozenset[str] = frozenset()
    """The spot flavors some of whose nodes are bought on demand."""


class PriceApi(Protocol):
    """The part of `edges.prices.AwsPrices` that is used here. Raises AwsError."""

    def on_demand(self, flavors: Iterable[str]) -> list[str]:
        """Returns entries of the price list, each a JSON text."""

    def spot(self, groups: Mapping[str, str | None]) -> list[dict[str, Any]]:
        """Returns entries of the spot price history, of each flavor in the zones of its Auto Scaling group."""


@dataclass(frozen=True)
class PriceCache:
    """Prices in a file."""

    path: Path

    def read(self) -> dict[Key, Price]:
        """Returns what is cached; nothing where the file is missing or torn, which only costs another fetch."""
        try:
            prices = [Price(**values) for values in json.loads(self.path.read_text(encoding="utf-8"))]
            return {(price.flavor, _market(price)): price for price in prices}
        except (OSError, ValueError, TypeError):
            return {}

    def write(self, prices: Mapping[Key, Price]) -> None:
        """Replaces the prices in the file. Raises DiskError."""
        ordered = [asdict(prices[key]) for key in sorted(prices)]
        write_whole(self.path, json.dumps(ordered, indent=1) + "\n")


@dataclass
class AskedPrices:
    """AWS's prices, from the cache while they are fresh.

    A price that AWS does not tell keeps its old value and its age, so that the policy can take it for stale.
    """

    api: PriceApi
    cache: PriceCache
    refresh_s: float
    interruptions_per_hour: Mapping[str, float]
    """Of spot nodes, by flavor."""
    now: Callable[[], float]
    tell: Callable[[str], None]
    """Tells people which prices AWS did not tell."""
    _tried: dict[Key, float] = field(default_factory=dict)

    def load(self, wanted: Wanted) -> dict[str, Price]:
        """Returns one price of each flavor that is wanted or cached, those wanted as fresh as can be had."""
        known = self.cache.read()
        due = [key for key in _keys(wanted, known) if self._is_due(key, known.get(key))]
        self._tried |= dict.fromkeys(due, self.now())
        fetched = {**self._on_demand(due), **self._spot(due, wanted.groups)}
        if fetched:
            known |= fetched
            with suppress(DiskError):  # without the cache AWS is asked again
                self.cache.write(known)
        return select(known, wanted)

    def _is_due(self, key: Key, price: Price | None) -> bool:
        now = self.now()
        if key in self._tried and now - self._tried[key] < min(RETRY_S, self.refresh_s):
            return False
        return price is None or price.fetched_at is None or now - price.fetched_at >= self.refresh_s

    def _on_demand(self, due: Iterable[Key]) -> dict[Key, Price]:
        flavors = [flavor for flavor, market in due if market is Market.ON_DEMAND]
        return self._asked(flavors, Market.ON_DEMAND, lambda: parse_on_demand(self.api.on_demand(flavors), self.now()))

    def _spot(self, due: Iterable[Key], groups: Mapping[str, str]) -> dict[Key, Price]:
        flavors = {flavor: groups.get(flavor) for flavor, market in due if market is Market.SPOT}
        rates = self.interruptions_per_hour
        return self._asked(flavors, Market.SPOT, lambda: parse_spot(self.api.spot(flavors), self.now(), rates))

    def _asked(
        self, flavors: Iterable[str], market: Market, ask: Callable[[], Mapping[str, Price]]
    ) -> dict[Key, Price]:
        names = ", ".join(flavors)
        try:
            return {(flavor, market): price for flavor, price in ask().items()} if names else {}
        except AwsError as error:
            self.tell(f"the {market.value} prices of {names} could not be asked for; the older ones stay: {error.what}")
            return {}


def select(known: Mapping[Key, Price], wanted: Wanted) -> dict[str, Price]:
    """Returns one price of each flavor, as it is bought.

    A head whose type is also a flavor on spot has a second price, of its own. So has a spot flavor some of whose nodes
    are bought on demand.
    """
    prices: dict[str, Price] = {}
    for flavor in sorted({flavor for flavor, _ in known}):
        market = wanted.markets.get(flavor) or _last_market(flavor, known)
        if (flavor, market) in known:
            prices[flavor] = known[flavor, market]
        if flavor in wanted.heads | wanted.floors and market is Market.SPOT and (flavor, Market.ON_DEMAND) in known:
            prices[on_demand_name(flavor)] = known[flavor, Market.ON_DEMAND]
    return prices


def _keys(wanted: Wanted, known: Mapping[Key, Price]) -> list[Key]:
    """Returns the keys of the prices that are to be fresh."""
    keys = {(flavor, market or _last_market(flavor, known)) for flavor, market in wanted.markets.items()}
    return sorted(keys | {(name, Market.ON_DEMAND) for name in wanted.heads | wanted.floors | wanted.extras})


def _last_market(flavor: str, known: Mapping[Key, Price]) -> Market:
    """Returns how a flavor was bought when its price was last fetched; on demand where it never was."""
    fetched = [(known[flavor, market].fetched_at or 0.0, market) for market in Market if (flavor, market) in known]
    return max(fetched)[1] if fetched else Market.ON_DEMAND


def _market(price: Price) -> Market:
    return Market.SPOT if price.source == SPOT_SOURCE else Market.ON_DEMAND
