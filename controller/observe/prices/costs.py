"""What the cluster costs an hour."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping

from controller.config.environment import Environment
from controller.domain import Instance, Observation, Price, TrainingState, head_price
from controller.domain.prices.standing import Standing, extras_usd_per_hour
from controller.edges.terraform import Outputs
from controller.observe.credits.burstable import surplus_usd_per_hour
from controller.observe.made import Made
from controller.observe.prices.listed import no_price, require_prices


class Costs:
    """The costs of one environment's cluster, at the prices that hold now."""

    def __init__(
        self, environment: Environment, made: Made, prices: Callable[[Outputs | None], Mapping[str, Price]]
    ) -> None:
        self._environment, self._made, self._prices = environment, made, prices

    def prices(self) -> Mapping[str, Price]:
        """Returns what flavors, head and `EXTRAS` cost now; before the first apply, whatever is known."""
        return self._prices(self._made.known)

    @property
    def head_usd_per_hour(self) -> float:
        """US dollars an hour of the head, and of what else runs whatever the fleet is: its volume, NAT, addresses.

        Raises:
            ConfigError: The head's type has no price.
        """
        return self._head_usd_per_hour(self.prices())

    def usd_per_hour(self, workers: Collection[Instance]) -> float:
        """Returns the US dollars an hour of these workers, and of what runs beside them.

        Raises:
            ConfigError: An instance type has no price.
        """
        prices = self.prices_of(workers)
        return self._head_usd_per_hour(prices) + sum(prices[i.flavor].usd_per_hour for i in workers)

    @property
    def standing(self) -> Standing:
        """What there is beside the workers."""
        return self._made.outputs.standing

    def prices_of(self, workers: Collection[Instance]) -> Mapping[str, Price]:
        """Returns all prices that are known, those of these workers among them.

        Raises:
            ConfigError: An instance type has no price.
        """
        prices = self.prices()
        require_prices(prices, (i.flavor for i in workers), self._environment)
        return prices

    def head_instance_usd_per_hour(self, prices: Mapping[str, Price]) -> float:
        """Returns the US dollars an hour of the head alone. Raises ConfigError where its type has no price."""
        price = head_price(prices, str(self.standing.head))
        if price is None:
            raise no_price([str(self.standing.head)], self._environment)
        return price.usd_per_hour

    def surplus_usd_per_hour(self, observation: Observation) -> float:
        """Returns the US dollars an hour of surplus CPU credits: of the nodes that train and have none of their own."""
        made = self._made.outputs.flavors
        return sum(
            surplus_usd_per_hour(fact.flavor, made[fact.flavor].cpu_credits, observation.credits.get(fact.instance_id))
            for fact in observation.facts
            if fact.state is TrainingState.TRAINING and fact.flavor in made
        )

    def _head_usd_per_hour(self, prices: Mapping[str, Price]) -> float:
        return self.head_instance_usd_per_hour(prices) + extras_usd_per_hour(self.standing, prices)
