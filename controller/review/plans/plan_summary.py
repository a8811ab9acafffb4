"""What a plan comes to in money and time, before and after. What is not known is None, and never zero."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain import FlavorEstimate, Fleet, FleetEstimate, Price, head_price
from controller.domain.memory import MemoryNeed
from controller.domain.prices.price import floor_name, floors_usd_per_hour
from controller.domain.prices.standing import NAT_GB, Standing, StandingCost, standing_costs, unpriced_extras
from controller.domain.reasons.flavors import MemoryTooSmall
from controller.edges.terraform_plan import Action, Plan
from controller.observe.prices.zones import usd_per_zones_gb
from controller.review.plans.dangers import Danger
from controller.review.plans.plan_guard import NOTHING_TOO_SMALL, GuardVerdict, HourlyLimit, judge
from controller.review.plans.plan_standing import floors, standing_of
from controller.words import numbers as words


@dataclass(frozen=True)
class Evidence:
    """What the training's measurements say. Everything is None or empty while there are none."""

    flavors: Mapping[str, FlavorEstimate] = field(default_factory=dict)
    fleets: Mapping[Fleet, FleetEstimate] = field(default_factory=dict)
    run: str | None = None
    """The run that measured."""
    step: int | None = None
    total_steps: int | None = None
    memory_need: MemoryNeed | None = None
    """What a worker process of the run has needed."""
    has_ended: bool = False
    """Whether the run is over. Times and costs are then those of a whole training like it."""


@dataclass(frozen=True)
class Quantity:
    """A number before and after; None if it is not known."""

    before: float | None
    after: float | None

    @property
    def difference(self) -> float | None:
        """The number after minus the number before."""
        return None if self.before is None or self.after is None else self.after - self.before

    @property
    def share(self) -> float | None:
        """The difference as a share of the number before; None if that is not known or zero."""
        return self.difference / self.before if self.difference is not None and self.before else None


@dataclass(frozen=True)
class FlavorRow:
    """One flavor's line. A number of nodes is None if there is no group of that flavor.

    Attributes:
        floor: How many nodes of a spot flavor are bought on demand before any is bought on spot.
        floor_price: The price of such a node; None where it is unknown.
    """

    flavor: str
    nodes_before: int | None
    nodes_after: int | None
    price: Price | None
    estimate: FlavorEstimate | None
    floor: int = 0
    floor_price: Price | None = None

    @property
    def price_from(self) -> str:
        """Where the price is from, and what the nodes that are bought on demand cost."""
        source = self.price.source if self.price else words.NO_PRICE
        if not self.floor:
            return source
        each = words.usd(self.floor_price.usd_per_hour if self.floor_price else None, words.NO_PRICE)
        return f"{source}; on demand: {self.floor}, {each} each"

    @property
    def changes(self) -> bool:
        """Whether the number of nodes changes."""
        return self.nodes_before != self.nodes_after

    @property
    def is_in_use(self) -> bool:
        """Whether there are nodes of the flavor, before or after."""
        return bool(self.nodes_before or self.nodes_after)


@dataclass(frozen=True)
class PlanSummary:
    """Everything that a review shows."""

    environment: str
    plan: Plan
    usd_per_million_tokens: Quantity
    time_to_finish_s: Quantity
    usd_per_hour: Quantity
    """Everything together: workers with their volumes, traffic between zones as far as it is known, and what costs the
    same whatever the fleet is."""
    standing: tuple[StandingCost, ...]
    """What costs the same whatever the fleet is, after the plan."""
    usd_per_nat_gb: float | None
    """US dollars for each GB through a NAT gateway; None if there is none, or it has no price."""
    traffic_usd_per_hour: Quantity
    """What `usd_per_hour` has for traffic between zones; None where no step was measured."""
    usd_per_zones_gb: float | None
    """US dollars for each GB that crosses from one zone to another; None if workers are in one zone only."""
    flavors: tuple[FlavorRow, ...]
    """Those that change first, then those in use, then the others."""
    verdict: GuardVerdict
    evidence: Evidence
    unpriced: tuple[str, ...] = ()
    """Instance types in use that have no price."""
    uncounted: tuple[str, ...] = ()
    """Names of prices of other things than instances that are missing, so that these things are not counted."""
    too_small: Mapping[str, MemoryTooSmall] = field(default_factory=dict)
    """The flavors that can't hold the training, each with the reason."""

    @property
    def acknowledging(self) -> str:
        """The command that reviews this again with all of its dangers acknowledged."""
        return f"centavo --env {self.environment} review {self.verdict.options}"

    @property
    def unpriced_flavors(self) -> tuple[str, ...]:
        """Flavors that have no price, in use or not."""
        return tuple(row.flavor for row in self.flavors if row.price is None)

    @property
    def counts(self) -> dict[Action, int]:
        """How many resources are changed in which way."""
        counted = Counter(change.action for change in self.plan.changed)
        return {action: counted[action] for action in Action if counted[action]}


def summarize(
    environment: str,
    plan: Plan,
    prices: Mapping[str, Price],
    evidence: Evidence,
    max_usd_per_hour: float | None = None,
    acknowledged: frozenset[Danger] = frozenset(),
    too_small: Mapping[str, MemoryTooSmall] = NOTHING_TOO_SMALL,
) -> PlanSummary:
    """Returns what a plan comes to. `max_usd_per_hour` is the limit on the workers, as centavo.yml has it."""
    before, after = plan.fleet_before, plan.fleet_after
    estimates = (evidence.fleets.get(before), evidence.fleets.get(after))
    standing, bought = standing_of(plan, after=True), floors(plan, after=True)
    limit = HourlyLimit(max_usd_per_hour, _usd_per_hour(after, Standing(), prices, bought))
    traffic = Quantity(*(e.traffic_usd_per_hour if e else None for e in estimates))
    usd_per_hour = Quantity(
        _plus(_usd_per_hour(before, standing_of(plan, after=False), prices, floors(plan, after=False)), traffic.before),
        _plus(_usd_per_hour(after, standing, prices, bought), traffic.after),
    )
    nat_gb = prices.get(NAT_GB) if standing.nat_gateways else None
    return PlanSummary(
        environment=environment,
        plan=plan,
        usd_per_million_tokens=_where_priced(
            usd_per_hour, Quantity(*(e.usd_per_million_tokens if e else None for e in estimates))
        ),
        time_to_finish_s=Quantity(*(e.remaining_s if e else None for e in estimates)),
        usd_per_hour=usd_per_hour,
        standing=standing_costs(standing, prices),
        usd_per_nat_gb=nat_gb.usd_per_hour if nat_gb is not None else None,
        traffic_usd_per_hour=traffic,
        usd_per_zones_gb=usd_per_zones_gb(prices) if plan.worker_zones > 1 else None,
        flavors=_rows(plan, prices, evidence, bought),
        verdict=judge(plan, limit, acknowledged, too_small),
        evidence=evidence,
        unpriced=_unpriced(plan, prices),
        uncounted=unpriced_extras(standing, prices),
        too_small=too_small,
    )


def _plus(usd_per_hour: float | None, traffic: float | None) -> float | None:
    return None if usd_per_hour is None else usd_per_hour + (traffic or 0.0)


def _where_priced(usd_per_hour: Quantity, cost: Quantity) -> Quantity:
    """Returns a cost, unknown on a side where a node or the head has no price: the model takes such a head as free."""
    return Quantity(
        None if usd_per_hour.before is None else cost.before, None if usd_per_hour.after is None else cost.after
    )


def _types_in_use(plan: Plan) -> set[str]:
    heads = {plan.head_type(after=False), plan.head_type(after=True)} - {None}
    return {*plan.fleet_before.present, *plan.fleet_after.present, *(str(head) for head in heads)}


def _unpriced(plan: Plan, prices: Mapping[str, Price]) -> tuple[str, ...]:
    return tuple(sorted(kind for kind in _types_in_use(plan) if head_price(prices, kind) is None))


def _usd_per_hour(
    fleet: Fleet, standing: Standing, prices: Mapping[str, Price], floors: Mapping[str, int]
) -> float | None:
    """Returns dollars an hour of a fleet and of what stands beside it; None if an instance has no price.

    `floors` are the nodes of spot flavors that are bought on demand.
    """
    if any(flavor not in prices for flavor in fleet.present):
        return None
    if standing.head is not None and head_price(prices, standing.head) is None:
        return None
    usd_per_hour = fleet.usd_per_hour({flavor: prices[flavor].usd_per_hour for flavor in fleet.present})
    usd_per_hour += floors_usd_per_hour(fleet, floors, prices)
    return usd_per_hour + sum(cost.usd_per_hour or 0.0 for cost in standing_costs(standing, prices))


def _rows(
    plan: Plan, prices: Mapping[str, Price], evidence: Evidence, floors: Mapping[str, int]
) -> tuple[FlavorRow, ...]:
    before, after = plan.fleet_before, plan.fleet_after
    rows = [
        FlavorRow(
            flavor,
            before.get(flavor),
            after.get(flavor),
            prices.get(flavor),
            evidence.flavors.get(flavor),
            floors.get(flavor, 0),
            prices.get(floor_name(flavor)),
        )
        for flavor in sorted({*before, *after})
    ]
    return tuple(sorted(rows, key=lambda row: (not row.changes, not row.is_in_use, row.flavor)))


def sides(quantity: Quantity, unit: words.Unit, unknown: str = words.NOT_MEASURED) -> tuple[str, str, str]:
    """Returns before, after and difference in words.

    The difference is that of the numbers as they are written: a reader who subtracts finds the same.
    """
    before, after = (unknown if value is None else unit.write(value) for value in (quantity.before, quantity.after))
    if quantity.before is None or quantity.after is None:
        return before, after, "unknown"
    change = round(unit.rounded(quantity.after) - unit.rounded(quantity.before), 9)
    if change == 0:
        return before, after, "none"
    share = f" ({words.percent(quantity.share)})" if quantity.share is not None else ""
    return before, after, words.signed(unit.write(abs(change)), change) + share
