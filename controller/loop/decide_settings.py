"""How to decide in one environment: its settings, what Terraform has made, and the prices that count."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.cluster import LiveCluster
from controller.config.environment import Environment
from controller.config.settings import PriceSource
from controller.decide import POLICIES, DecideSettings, DecisionInput, SwitchingAssumptions, decide
from controller.domain import Decision, Flavor, Fleet, Market, Price, Verdict
from controller.domain.errors import ConfigError
from controller.domain.prices.price import floor_name
from controller.domain.reasons.limits import TooExpensiveAnHour
from controller.edges.terraform import FlavorOutput
from controller.loop.deciding import Decider
from controller.observe.credits.burstable import with_credits
from controller.observe.prices.costs import Costs
from controller.observe.prices.zones import usd_per_zones_gb

LOOK_S = 20.0
"""The longest time between two looks at spot nodes: their last two minutes have to suffice for a replacement."""


def make_decider(environment: Environment, cluster: LiveCluster, policy: str) -> Decider:
    """Returns how to decide in this environment with this policy."""

    def decider(given: DecisionInput) -> Decision:
        declared = cluster.made.outputs.flavors
        costs, fleet = cluster.costs, given.observations[-1].fleet
        settings = decide_settings(environment, policy, declared, costs.head_usd_per_hour)
        settings = with_zones(settings, cluster.made.outputs.zones, costs.prices())
        priced = replace(given, prices=with_floors(given.prices, cluster.made.outputs.floors, fleet))
        decision = decide(with_settings(priced, settings, declared))
        return with_new_floors(decision, given.limits.max_usd_per_hour, costs)

    return decider


def with_floors(prices: Mapping[str, Price], floors: Mapping[str, int], fleet: Fleet) -> dict[str, Price]:
    """Returns the prices, those of spot flavors as the mean of their nodes, of which some are bought on demand.

    That is exact for the nodes that run. Of a flavor that does not run, it is the mean of as many nodes as run now.

    Args:
        prices: By flavor, and under `floor_name` what a node costs on demand.
        floors: How many nodes of a spot flavor are bought on demand.
        fleet: The nodes that run.
    """
    found = dict(prices)
    for flavor, base in floors.items():
        on_demand, spot = prices.get(floor_name(flavor)), prices.get(flavor)
        if on_demand is not None and spot is not None:
            share = min(1.0, base / max(1, fleet.count(flavor) or fleet.size))
            usd = spot.usd_per_hour + share * (on_demand.usd_per_hour - spot.usd_per_hour)
            found[flavor] = replace(spot, usd_per_hour=usd)
    return found


def with_new_floors(decision: Decision, most: float | None, costs: Costs) -> Decision:
    """Returns the decision, or a refusal of its move where the move's own on-demand nodes break the hourly limit.

    Deciding takes a flavor's nodes to cost what its present ones cost on average, or would.
    """
    during = decision.current.union(decision.target)
    more = costs.floors_usd_per_hour(during) - costs.floors_usd_per_hour(decision.current)
    if decision.verdict is not Verdict.MOVE or most is None or more <= 0:
        return decision
    prices = {flavor: price.usd_per_hour for flavor, price in costs.prices().items()}
    on_spot = sum(count * prices.get(flavor, 0.0) for flavor, count in during.present.items())
    usd_per_hour = costs.head_usd_per_hour + costs.floors_usd_per_hour(during) + on_spot
    if usd_per_hour <= most:
        return decision
    reason = TooExpensiveAnHour(usd_per_hour, most)
    return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=reason, is_probe=False)


def with_settings(
    given: DecisionInput, settings: DecideSettings, declared: Mapping[str, FlavorOutput]
) -> DecisionInput:
    """Returns what is known, with the settings of deciding and with the prices of the flavors that are declared."""
    usable = {flavor: price for flavor, price in given.prices.items() if flavor in declared}
    return replace(given, prices=ageless(usable, given.observations[-1].fleet), settings=settings)


def with_zones(settings: DecideSettings, zones: int, prices: Mapping[str, Price]) -> DecideSettings:
    """Returns the settings with the number of zones that workers spread over, and what traffic between them costs."""
    return replace(settings, zones=zones, usd_per_zones_gb=usd_per_zones_gb(prices))


def ageless(prices: Mapping[str, Price], fleet: Fleet) -> dict[str, Price]:
    """Returns the prices, without their age for the flavors that run.

    An old price is a reason not to move to a flavor. It is no reason to leave one.
    """
    return {f: replace(price, fetched_at=None) if fleet.count(f) else price for f, price in prices.items()}


def check_policy(policy: str) -> None:
    """Raises ConfigError when there is no policy of this name."""
    if policy not in POLICIES:
        raise ConfigError(f"There is no policy {policy!r}.", f"Choose one of {', '.join(sorted(POLICIES))}.")


def decide_settings(
    environment: Environment,
    policy: str,
    declared: Mapping[str, FlavorOutput],
    head_usd_per_hour: float,
) -> DecideSettings:
    """Returns the settings of deciding: what the controller knows by itself, and `controller.decide` of centavo.yml.

    Args:
        environment: The environment, with its settings.
        policy: The name of the policy.
        declared: By flavor what Terraform has made; empty before the first apply.
        head_usd_per_hour: What the head costs.
    """
    controller, prices = environment.settings.controller, environment.settings.prices
    options = controller.decide.given()
    switching = SwitchingAssumptions(**options.pop("switching", {}))
    flavors = {name: _flavor(name, output) for name, output in declared.items()}
    return DecideSettings(
        **{
            "minimum_window": controller.minimum_window,
            "cooldown_s": controller.cooldown_s,
            "ending_s": controller.stop_ahead_s,
            "look_s": min(controller.interval_s, LOOK_S),
            "attempt_s": controller.timeouts.boot_s + controller.timeouts.configure_s + controller.timeouts.join_s,
            **options,
            "switching": switching,
            "policy": policy,
            "flavors": flavors,
            "head_usd_per_hour": head_usd_per_hour,
            "price_max_age_s": prices.max_age_s if prices.source is PriceSource.AWS else None,
        }
    )


def _flavor(name: str, output: FlavorOutput) -> Flavor:
    flavor = Flavor(name, Market(output.market), output.max_nodes, output.vcpus, output.memory_bytes)
    return with_credits(flavor, output.cpu_credits)
