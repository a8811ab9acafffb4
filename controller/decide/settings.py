"""The settings of deciding, with defaults that suit a training of hours on EC2."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from controller.domain import Flavor
from controller.domain.batches import Batches
from controller.domain.memory import RESERVED_MIB
from controller.domain.objective import Objective


@dataclass(frozen=True)
class SwitchingAssumptions:
    """How long the parts of a move are expected to take, in seconds, until they were measured."""

    boot_s: float = 90.0
    """From the request to a node that answers SSH."""
    configure_s: float = 120.0
    """From answering SSH to a warm worker that may join."""
    pause_s: float = 5.0
    """How long the training stands still for one membership change; a move has a join and a leave."""
    drain_s: float = 60.0
    """How long a drained node is still paid for."""
    terraform_s: float = 0.0
    """How long Terraform plans and applies, before there are new nodes. At 0 it is unknown until it was measured."""

    @property
    def grow_s(self) -> float:
        """How long it takes until a new node works. Nearly all the time it is paid for."""
        return self.terraform_s + self.boot_s + self.configure_s


@dataclass(frozen=True)
class SpeedSpread:
    """How far the speeds of flavors are expected to spread before any was measured, as deviations of logarithms."""

    shared: float = 0.33
    """Of speed per vCPU over families and sizes: like processors share it."""
    own: float = 0.12
    """Of speed per vCPU from flavor to flavor within a family."""
    flavors: float = 4.0
    """How many measured flavors these expectations are worth."""


@dataclass(frozen=True)
class Truth:
    """The real speeds and the real communication, which only the policy `oracle` may look at."""

    tokens_per_s: Mapping[str, float]
    communication_s: Callable[[int], float]
    """Seconds of communication in a step for a world size."""
    tokens_per_step: float


@dataclass(frozen=True)
class DecideSettings:
    """The settings of one decision. Shares are of 1: a margin of 0.03 asks for a saving of 3% of what remains."""

    policy: str = "cheapest-fleet"
    objective: Objective = Objective.COST
    batches: Batches = Batches.BALANCED
    flavors: Mapping[str, Flavor] = field(default_factory=dict)
    """The flavors that exist. If empty: those that run or have a price."""
    head_usd_per_hour: float = 0.0
    zones: int = 1
    """Over how many availability zones new nodes spread."""
    usd_per_zones_gb: float = 0.0
    """What each GB of gradients costs that crosses from one zone to another."""
    minimum_window: int = 20
    """Facts over fewer steps than this are not trusted yet."""
    minimum_steps: int = 20
    """A flavor counts as measured from this many steps on."""
    saving_margin: float = 0.01
    """A move must save this share of what the remaining work costs, beyond the cost of switching."""
    switching_margin: float = 0.5
    """A saving must exceed the cost of switching by this share of it."""
    mixed_margin: float = 0.01
    """A mixed fleet is chosen over one of a single flavor only when it is better by more than this share."""
    count_communication: bool = True
    """Whether a step's communication counts. Without it, fleets are compared by compute time alone."""
    confidence_z: float = 1.64
    """How many standard errors two costs per token must be apart."""
    cooldown_s: float = 300.0
    end_guard_share: float = 0.03
    """When less than this share of all steps remains, nothing moves."""
    end_guard_s: float = 0.0
    """When the work ends sooner than this, nothing moves."""
    confidence: float = 0.99
    """The chance with which a fleet must be expected to keep the deadline, or the budget, 0.5 to 1."""
    ending_s: float = 0.0
    """How long before the budget is used up the training is stopped, so that everything can be given back."""
    switching: SwitchingAssumptions = field(default_factory=SwitchingAssumptions)
    look_s: float = 60.0
    """How long it takes until the next decision."""
    attempt_s: float = 600.0
    """How long a move may take at most until it is given up."""
    probe_share: float = 0.05
    """The share of the cost of the work that may be spent on measuring new flavors."""
    probe_steps: int = 30
    """How many steps a probe is expected to need before its flavor is measured: `minimum_steps`, those of the warm-up
    that facts leave out, and what goes by until facts are read."""
    hints_tokens_per_s: Mapping[str, float] = field(default_factory=dict)
    """Guesses of speeds, for flavors never measured; better than the guess from the number of vCPUs."""
    spread: SpeedSpread = field(default_factory=SpeedSpread)
    measure_timeout_s: float = 900.0
    """How long the policy waits at least for the facts of nodes that run. After that, it guesses their speed."""
    detailed: bool = True
    """Whether decisions carry the tables that people read. Simulations do without."""
    runners_up: int = 5
    """How many other fleets a decision lists for comparison."""
    price_max_age_s: float | None = None
    """Prices fetched longer ago than this are stale; None: prices do not age."""
    max_usd_per_node_hour: float = 500.0
    """A higher price counts as a mistake, and is not used."""
    reserved_memory_mib: int = RESERVED_MIB
    """The memory of a node, in MiB, that its operating system and everything but the training needs. A flavor is too
    small where less is left than a worker that trains has needed."""
    clock_skew_s: float = 5.0
    """A fact that is dated later than this after its observation is from the future, and is left out."""
    truth: Truth | None = None
    """For the policy `oracle` in simulations only."""
