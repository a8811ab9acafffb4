"""How the nodes of a flavor stand with their CPU credits: who runs at full speed, for how long, and what comes then.

What is known comes from three sources. CloudWatch tells the balance of a node. The table of instance types tells the
baseline, and with how many credits a node is launched. Without either, a node whose speed has fallen to a steady lower
level (`levels.last_fall`) tells how long its flavor runs at full speed and what is left then: the others are expected
to follow it, unless so many of them have worked as long that it must have fallen for a reason of its own.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field
from statistics import NormalDist

from controller.decide.samples.levels import RECENT_SAMPLES, Fall, common_falls, last_fall, since_last_shift
from controller.decide.samples.windows import Sample, median
from controller.domain import Credits, Flavor, Observation
from controller.domain.reasons import Reason
from controller.domain.reasons.flavors import (
    CreditsLast,
    CreditsSpent,
    FellForGood,
    JudgedByBaseline,
    KeepsItsSpeed,
    PaysForSurplus,
)

NO_CREDITS_S = 60.0
"""A balance that lasts no longer than this is as good as spent: a node at its baseline may have it for a moment."""
FOLLOWS_WITHIN = 1.25
"""A node that has worked longer than this share of the time after which another one fell, and did not, won't follow."""
FALLS_LOG_SD = 0.1
"""How far the logarithm of the time after which nodes have spent equal credits spreads."""
FALLS_ALONE, FALLS_ALONE_ELSEWHERE = 0.005, 0.13
"""How likely a node falls for a reason of its own, beside that it spends credits: for types with credits, and for types
that are not known to have any. Of these, a node is believed to tell of others where two of them at most worked on as
long: nobody would have told of their credits, and noisy neighbours are common."""
STEALS = 0.8
"""A node without credits is not given this share of what it wants beyond its baseline, at least."""
OUTLASTS = 3.0
"""A node that works so many times as long as its credits should last, and still keeps its speed, needs none. They last
longer than reckoned where its vCPUs wait for the network."""


@dataclass(frozen=True)
class Burst:
    """For how long the nodes of a flavor run faster than they can for ever.

    Attributes:
        tokens_per_s: The speed of a node that has credits, target tokens per second of compute.
        fresh_s: How long a new node runs at that speed.
        left_s: By instance that runs: how long it still does.
    """

    tokens_per_s: float
    fresh_s: float = 0.0
    left_s: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Accounts:
    """What is known of credits when the speeds are worked out.

    Attributes:
        now: Seconds since the epoch.
        credits: By instance what CloudWatch told last.
        began_at: By instance when it began to train.
        seen_at: By instance when it was seen last; a node that is missing was seen now.
        full_tokens_per_s: By flavor the speed at full credits that was measured before.
        since: Nodes that were not seen since then have ended.
        told: By instance all that CloudWatch told, in order; also of those that have ended.
    """

    now: float = 0.0
    credits: Mapping[str, Credits] = field(default_factory=dict)
    began_at: Mapping[str, float] = field(default_factory=dict)
    seen_at: Mapping[str, float] = field(default_factory=dict)
    full_tokens_per_s: Mapping[str, float] = field(default_factory=dict)
    since: float = -math.inf
    told: Mapping[str, Sequence[Credits]] = field(default_factory=dict)

    def runs(self, instance: str) -> bool:
        """Tells whether a node was seen lately."""
        return self.seen_at.get(instance, self.now) >= self.since

    def worked_s(self, instance: str) -> float:
        """Returns how long a node was seen to train; 0 where that is unknown. One that has ended works no longer."""
        until = self.seen_at.get(instance, self.now)
        return max(0.0, until - self.began_at.get(instance, until))


@dataclass(frozen=True)
class Pace:
    """How the nodes of a flavor stand.

    Attributes:
        spent: The nodes that run without credits, or are slow for good for another reason.
        lasting_share: The share of full speed that is left without credits; 1 where nothing is expected to slow down.
        spent_level: The logarithm of the speed of the nodes in `spent`; None where there is none.
        fresh_s: How long a new node runs at full speed.
        left_s: By instance how long it still does.
        notes: How that is known.
        windows: By instance the windows at its present level, where those since its last shift hold others, too.
        full_level: The logarithm of the speed at full credits that was measured before; None where none was.
    """

    spent: frozenset[str] = frozenset()
    lasting_share: float = 1.0
    spent_level: float | None = None
    fresh_s: float = 0.0
    left_s: Mapping[str, float] = field(default_factory=dict)
    notes: tuple[Reason, ...] = ()
    windows: Mapping[str, Sequence[Sample]] = field(default_factory=dict)
    full_level: float | None = None


def told_of(observations: Iterable[Observation]) -> dict[str, list[Credits]]:
    """Returns by instance all that CloudWatch told of its credits, in order."""
    found: dict[str, list[Credits]] = {}
    for observation in observations:
        for node, credits in observation.credits.items():
            told = found.setdefault(node, [])
            if not told or told[-1].at != credits.at:
                told.append(credits)
    return found


def pace_of(name: str, flavor: Flavor | None, nodes: Mapping[str, Sequence[Sample]], accounts: Accounts) -> Pace:
    """Returns how the nodes of a flavor stand.

    Args:
        name: The flavor.
        flavor: What is known of it.
        nodes: By instance its windows.
        accounts: What is known of credits.
    """
    single = {node: fall for node, samples in nodes.items() if (fall := last_fall(samples)) is not None}
    falls = {**common_falls(nodes), **single}
    if flavor is not None and flavor.slows_down:
        return _declared(name, flavor, nodes, falls, accounts)
    if flavor is not None and flavor.is_unlimited:
        return Pace(notes=(PaysForSurplus(flavor.surplus_usd_per_hour),) if flavor.surplus_usd_per_hour else ())
    return _fallen(nodes, falls, accounts, is_burstable=flavor is not None and flavor.burstable)


def _declared(
    name: str, flavor: Flavor, nodes: Mapping[str, Sequence[Sample]], falls: Mapping[str, Fall], accounts: Accounts
) -> Pace:
    """Returns how the nodes stand of a flavor whose baseline is known.

    A node's windows are slow where they are nearer to its baseline than to its full speed. While its credits run out it
    has some of both, so that a median over all of them is neither speed: only the slow ones tell the speed without
    credits, and only the others tell the speed with them.
    """
    share = flavor.sustained_share
    known = accounts.full_tokens_per_s.get(name)
    full = math.log(known) if known else None
    spent, windows = set(), {}
    for node, samples in nodes.items():
        halfway = _fastest(samples, full, falls.get(node)) + math.log((1 + share) / 2)
        if share < 1 and not _has_credits(node, flavor, accounts) and _is_spent(samples, share, halfway):
            spent.add(node)
        windows[node] = _present(samples, halfway, is_slow=node in spent)
    launch_s = _launch_s(flavor)
    fresh_s = _fresh_s(flavor, nodes, spent, falls, accounts)
    if not spent and _outlast(nodes, fresh_s, accounts):
        return Pace(notes=(KeepsItsSpeed(),))
    left_s = {}
    for node in filter(accounts.runs, nodes):
        begins_with_s = launch_s if _outlives(node, fresh_s, accounts) else fresh_s
        left_s[node] = 0.0 if node in spent else _left_s(node, flavor, begins_with_s, accounts)
    level = median([median([sample.log_speed for sample in windows[node]]) for node in spent]) if spent else None
    longest_s = max(left_s.values(), default=0.0)
    note: Reason = JudgedByBaseline(share)
    if len(spent) == len(nodes):
        note = CreditsSpent()
    elif longest_s > 0:
        note = CreditsLast(longest_s, share)
    return Pace(frozenset(spent), share, level, fresh_s, left_s, (note,), windows, full)


def _launch_s(flavor: Flavor) -> float:
    """Returns how long the launch credits of a flavor last at full speed, as the table of instance types tells."""
    return flavor.burst_s(flavor.launch_credits or 0.0) or 0.0


def _fresh_s(
    flavor: Flavor, nodes: Iterable[str], spent: Set[str], falls: Mapping[str, Fall], accounts: Accounts
) -> float:
    """Returns how long a new node runs at full speed.

    It does as long as its launch credits last, but no longer than those of nodes that are known, unless as many nodes
    have outlasted them. EC2 gives launch credits to so many launches of an account a day only.
    """
    launch_s = _launch_s(flavor)
    known = {node: _begun_with_s(node, flavor, falls.get(node) if node in spent else None, accounts) for node in nodes}
    known_s = [seconds for seconds in known.values() if not math.isinf(seconds)]
    if not known_s or median(known_s) >= launch_s:
        return launch_s
    stayed = [node for node in known if math.isinf(known[node]) and _outlives(node, median(known_s), accounts)]
    return launch_s if len(stayed) >= len(known_s) else median(known_s)


def _begun_with_s(node: str, flavor: Flavor, fall: Fall | None, accounts: Accounts) -> float:
    """Returns how long the credits of a node last from its beginning, at most; infinite where nothing is known.

    Each balance tells that, with what had gone by: what a node spends shortens the one and lengthens the other.
    """
    began_at = accounts.began_at.get(node)
    if began_at is None:
        return math.inf
    fell = [] if fall is None else [fall.at - began_at]
    told = [
        lasts_s + told.at - began_at
        for told in accounts.told.get(node, ())
        if (lasts_s := flavor.burst_s(told.balance)) is not None
    ]
    return max(0.0, min([*fell, *told], default=math.inf))


def _outlives(node: str, lasted_s: float, accounts: Accounts) -> bool:
    """Tells whether a node has worked clearly longer than it took others to spend their credits."""
    return accounts.worked_s(node) > FOLLOWS_WITHIN * lasted_s


def _fastest(samples: Sequence[Sample], full: float | None, fall: Fall | None) -> float:
    """Returns the logarithm of a node's full speed: as it was measured before, or before its fall, or at first."""
    began = median([sample.log_speed for sample in samples[:RECENT_SAMPLES]])
    return max([began, *([] if full is None else [full]), *([] if fall is None else [fall.before])])


def _has_credits(node: str, flavor: Flavor, accounts: Accounts) -> bool:
    """Tells whether CloudWatch told a balance of a node that lasts for a while from now on."""
    told = accounts.credits.get(node)
    if told is None:
        return False
    lasts_s = flavor.burst_s(told.balance)
    return told.balance > 0 if lasts_s is None else lasts_s - (accounts.now - told.at) > NO_CREDITS_S


def _is_spent(samples: Sequence[Sample], share: float, halfway: float) -> bool:
    """Tells whether a node of which no balance is known runs without credits.

    It does where its present level is slow, or where nearly all that it wants beyond its baseline is stolen.
    """
    steal_share = samples[-1].steal_share
    if steal_share is not None and steal_share >= STEALS * (1 - share):
        return True
    return median([sample.log_speed for sample in since_last_shift(samples)]) <= halfway


def _present(samples: Sequence[Sample], halfway: float, *, is_slow: bool) -> Sequence[Sample]:
    """Returns the slow windows since a node's last shift, or the others; all where there are none of the kind.

    The first slow window after a fast one holds steps of both kinds, and is left out where there are later ones.
    """
    since = since_last_shift(samples)
    wanted = [sample for sample in since if (sample.log_speed <= halfway) is is_slow]
    if is_slow and len(wanted) > 1 and any(sample.log_speed > halfway for sample in samples):
        return wanted[1:]
    return wanted or since


def _left_s(node: str, flavor: Flavor, fresh_s: float, accounts: Accounts) -> float:
    """Returns how long a node's credits last from now on, at full speed."""
    told = accounts.credits.get(node)
    if told is not None:
        return max(0.0, (flavor.burst_s(told.balance) or 0.0) - (accounts.now - told.at))
    return max(0.0, fresh_s - accounts.worked_s(node))


def _outlast(nodes: Mapping[str, Sequence[Sample]], fresh_s: float, accounts: Accounts) -> bool:
    """Tells whether a node was seen at full speed, and still is long after its credits should have been spent."""
    return fresh_s > 0 and any(
        node not in accounts.credits
        and accounts.worked_s(node) > OUTLASTS * fresh_s
        and samples[0].at < accounts.began_at[node] + fresh_s
        for node, samples in nodes.items()
        if node in accounts.began_at
    )


def _contradicts(node: str, fell_after_s: float, accounts: Accounts, alone: float) -> float:
    """Returns how many falls a node speaks against, 0 to 1, that has worked on while others fell after so long.

    If nodes have equal credits and spend them after a time that is log-normal, this one would still have some with the
    chance p = 1 - Phi(ln(worked / fell_after) / FALLS_LOG_SD). k nodes fall each for a reason of its own with the
    chance `alone`^k. That is more likely once the sum of ln p over the nodes that stayed is below k ln(alone) (a
    likelihood ratio; Jeffreys, "Theory of Probability", 3rd edition, chapter 5).
    """
    worked_s = accounts.worked_s(node)
    if _outlives(node, fell_after_s, accounts):
        return 1.0
    if worked_s <= 0 or fell_after_s <= 0:
        return 0.0
    chance = 1 - NormalDist().cdf(math.log(worked_s / fell_after_s) / FALLS_LOG_SD)
    return math.log(chance) / math.log(alone)


def _fallen(
    nodes: Mapping[str, Sequence[Sample]], falls: Mapping[str, Fall], accounts: Accounts, *, is_burstable: bool
) -> Pace:
    """Returns how the nodes stand of a flavor of whose baseline nothing is known: by those that have fallen.

    New nodes are expected to begin at full speed only where the flavor has credits. Elsewhere, what has slowed some
    nodes down may slow down new ones, too.
    """
    if not falls:
        return Pace()
    after_s = median([max(0.0, fall.at - accounts.began_at.get(node, fall.at)) for node, fall in falls.items()])
    others = [node for node in nodes if node not in falls]
    alone = FALLS_ALONE if is_burstable else FALLS_ALONE_ELSEWHERE
    if sum(_contradicts(node, after_s, accounts, alone) for node in others) >= len(falls):
        return Pace()
    share = math.exp(-median([fall.drop for fall in falls.values()]))
    level = median([fall.after for fall in falls.values()])
    running = [node for node in nodes if accounts.runs(node)]
    left_s = {node: 0.0 if node in falls else max(0.0, after_s - accounts.worked_s(node)) for node in running}
    note = FellForGood(tuple(sorted(falls)), share, len(others))
    return Pace(frozenset(falls), share, level, after_s if is_burstable else 0.0, left_s, (note,))
