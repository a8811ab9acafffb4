"""What Centavo reasons about, as frozen values with their units in their names. Imports nothing of ours.

Times of day are seconds since the Unix epoch (UTC). Durations are seconds. Money is US dollars. A rate names both of
its units. `None` always means *unknown*: never zero, never dead.
"""

from controller.domain.decision import Decision, FlavorEstimate, FleetEstimate, Risk, Verdict
from controller.domain.flavor import Flavor, Market
from controller.domain.fleet import NO_NODES, Fleet
from controller.domain.history import EarlierSpeed, History
from controller.domain.limits import Limits
from controller.domain.move import Move, MovePhase
from controller.domain.observed.credits import Credits
from controller.domain.observed.fact import Fact, MembershipChange, Notice, NoticeKind, TrainingState
from controller.domain.observed.instance import Instance
from controller.domain.observed.nodes import HeadSeen, LauncherState, NodeSeen, WorkerState
from controller.domain.observed.observation import Observation, UnknownNode
from controller.domain.observed.progress import Progress
from controller.domain.prices.price import Price, head_price, on_demand_name
from controller.domain.units import SECONDS_PER_HOUR

__all__ = [
    "NO_NODES",
    "SECONDS_PER_HOUR",
    "Credits",
    "Decision",
    "EarlierSpeed",
    "Fact",
    "Flavor",
    "FlavorEstimate",
    "Fleet",
    "FleetEstimate",
    "HeadSeen",
    "History",
    "Instance",
    "LauncherState",
    "Limits",
    "Market",
    "MembershipChange",
    "Move",
    "MovePhase",
    "NodeSeen",
    "Notice",
    "NoticeKind",
    "Observation",
    "Price",
    "Progress",
    "Risk",
    "TrainingState",
    "UnknownNode",
    "Verdict",
    "WorkerState",
    "head_price",
    "on_demand_name",
]
