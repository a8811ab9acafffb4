"""The prices that hold now: from prices.yml or from AWS. Negotiated prices replace both. Nodes' volumes are added."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from controller.config.environment import Environment
from controller.config.settings import PriceSource
from controller.domain import Market, Price, on_demand_name
from controller.domain.errors import CentavoError
from controller.domain.prices.standing import EXTRAS, with_volumes
from controller.domain.prices.traffic import ZONES_GB
from controller.edges.terraform import Outputs
from controller.observe.prices.answers import overridden
from controller.observe.prices.asked import AskedPrices, PriceApi, PriceCache, Wanted
from controller.observe.prices.listed import read_prices
from controller.observe.prices.volumes import VolumeSizes
from controller.words.numbers import usd
from controller.words.once import Once

Load = Callable[[Wanted], dict[str, Price]]
Tell = Callable[[str], None]
Complete = Callable[[dict[str, Price], Wanted], dict[str, Price]]
NOTHING_WANTED = Wanted()


class PriceBook:
    """The latest prices by flavor. What can't be loaded anew, or is not listed any more, stays as it was.

    Args:
        load: Returns the prices as they are listed.
        tell: Gets notes for people.
        complete: Adds to the listed prices what else each node costs.
    """

    def __init__(
        self,
        load: Load,
        tell: Tell = lambda message: None,
        complete: Complete = lambda prices, wanted: prices,
    ) -> None:
        self._load, self._tell, self._complete = load, tell, complete
        self._listed: dict[str, Price] = {}
        self._prices: dict[str, Price] = {}
        self._usd_per_hour: dict[str, float] = {}

    def of(self, wanted: Wanted = NOTHING_WANTED) -> Mapping[str, Price]:
        """Returns all prices that are known, those wanted as fresh as can be had.

        Raises:
            ConfigError: A file of prices is wrong, and there are no earlier prices.
        """
        try:
            listed = self._load(wanted)
        except CentavoError as error:
            if not self._prices:
                raise
            self._tell(f"the prices stay as they were: {error.what}")
            return self._prices
        self._tell_changes(listed)
        self._listed, prices = listed, {**self._prices, **self._complete(listed, wanted)}
        self._prices = prices
        instances = (name for name in prices if name not in (*EXTRAS, ZONES_GB))
        self._usd_per_hour |= {name: prices[name].usd_per_hour for name in instances}
        return prices

    @property
    def usd_per_hour(self) -> Mapping[str, float]:
        """The latest prices as plain numbers, US dollars an hour. The mapping follows the book."""
        if not self._prices:
            self.of()
        return self._usd_per_hour

    def _tell_changes(self, prices: Mapping[str, Price]) -> None:
        if gone := [name for name in self._listed if name not in prices]:
            self._tell(f"no price is listed any more for {', '.join(gone)}: it stays as it was")
        changes = [
            f"{flavor} {usd(before.usd_per_hour)} -> {usd(price.usd_per_hour)}"
            for flavor, price in prices.items()
            if (before := self._listed.get(flavor)) is not None and before.usd_per_hour != price.usd_per_hour
        ]
        if changes:
            self._tell(f"hourly prices have changed: {', '.join(changes)}")


def open_book(environment: Environment, api: PriceApi, now: Callable[[], float], tell: Tell) -> PriceBook:
    """Returns the environment's prices. Nothing is read or asked for before it is wanted."""
    settings, tell = environment.settings.prices, Once(tell)
    cache = PriceCache(environment.state_directory / "prices.json")
    asked = AskedPrices(api, cache, settings.refresh_s, settings.interruptions_per_hour, now, tell)

    volumes = VolumeSizes(environment.state_directory / "volumes.json")

    def load(wanted: Wanted) -> dict[str, Price]:
        prices = asked.load(wanted) if settings.source is PriceSource.AWS else _listed(environment)
        file = environment.negotiated_prices_file
        return prices if file is None else _with_negotiated(prices, read_prices(file), now())

    def complete(prices: dict[str, Price], wanted: Wanted) -> dict[str, Price]:
        return with_volumes(prices, volumes.latest(wanted.volume_gb), wanted.heads, wanted.floors)

    return PriceBook(load, tell, complete)


def _listed(environment: Environment) -> dict[str, Price]:
    """Returns the prices in prices.yml."""
    rates = environment.settings.prices.interruptions_per_hour
    prices = read_prices(environment.prices_file)
    return {flavor: replace(price, interruptions_per_hour=rates.get(flavor, 0.0)) for flavor, price in prices.items()}


def _with_negotiated(prices: Mapping[str, Price], negotiated: Mapping[str, Price], at: float) -> dict[str, Price]:
    """Returns the prices with the negotiated ones in their places, for a head of the same type too."""
    usd_per_hour = {flavor: price.usd_per_hour for flavor, price in negotiated.items()}
    heads = {on_demand_name(flavor): usd for flavor, usd in usd_per_hour.items()}
    return overridden(prices, usd_per_hour | {name: usd for name, usd in heads.items() if name in prices}, at)


def wanted_by(outputs: Outputs | None) -> Wanted:
    """Returns which prices are needed of what Terraform has made."""
    if outputs is None:
        return NOTHING_WANTED
    return Wanted(
        markets={flavor: Market(made.market) for flavor, made in outputs.flavors.items()},
        groups={flavor: made.autoscaling_group for flavor, made in outputs.flavors.items()},
        heads=frozenset({outputs.head.instance_type}),
        extras=frozenset(EXTRAS),
        volume_gb={flavor: made.volume_gb for flavor, made in outputs.flavors.items()},
        floors=frozenset(outputs.floors),
    )
