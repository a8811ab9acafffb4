"""Replacing what the spot market takes."""

from __future__ import annotations

from controller.domain import (
    NO_NODES,
    Decision,
    Fleet,
    LauncherState,
    Market,
    Move,
    MovePhase,
    NoticeKind,
    Observation,
)
from controller.domain.observed.spot import Shortage
from controller.domain.reasons import Reason
from controller.domain.reasons.spot import (
    NodesTakenBack,
    OnDemandForDeadline,
    OnDemandInstead,
    ReplacementUnaffordable,
    WaitsForSpot,
)
from controller.loop.decide_settings import LOOK_S
from controller.loop.job import Job
from controller.loop.spot.deadline import Deadline
from controller.loop.spot.notices import Notices
from controller.loop.spot.pools import Pools
from controller.loop.spot.waiting import Waiting, lacking_of
from controller.words.once import Once
from controller.words.reasons import reason_in_words

REBALANCE_PAUSE_S = 600.0
"""The least time between two moves that are made for recommendations alone."""


class Spot:
    """Keeps the fleet of one run as large as it was, whatever the spot market takes back."""

    def __init__(self, job: Job) -> None:
        self._job, self._settings = job, job.environment.settings.spot.settings
        self._pools, self._note_once = Pools(job, self._settings), Once(job.note)
        self.notices = Notices(job, self._settings)
        """What the nodes have learned of the spot service."""
        self._waiting = Waiting(job, self._settings, self._pools, self.notices)
        self._deadline = Deadline(job)
        self._note_without_effect = Once(job.note)
        self._lacking_since: float | None = None

    @property
    def has_shortage(self) -> bool:
        """Whether the run has fewer nodes that last than it wants."""
        return self._job.journal.shortage() is not None

    def is_short(self, observation: Observation) -> bool:
        """Returns whether no node is left that could train, since EC2 has taken them back."""
        if observation.head is None:
            return False
        living = {worker.private_ip for worker in self._job.cluster.last_workers()}
        return self.has_shortage and not living & (observation.head.hosts or frozenset())

    def pause_s(self, interval_s: float) -> float:
        """Returns how long to wait until the next look: with spot nodes, a notice has to be seen soon."""
        return min(interval_s, LOOK_S) if self._pools.has_spot else interval_s

    def next_move(self, observation: Observation) -> Move | None:
        """Returns the move that replaces what EC2 takes back; None where nothing is to replace, or no capacity is."""
        if observation.head is None or not self._pools.has_spot:
            return None
        if self._settings.on_demand_fallback and not self._pools.has_on_demand:
            self._note_without_effect("spot.on_demand_fallback has no effect: no flavor is declared on demand")
        short = self._shortage()
        if short is None:
            return None
        lasting = self.notices.lasting()
        count = short.wanted.size - lasting.size
        if count <= 0 or self._is_replaced(lasting):
            self._end(short, lasting, observation)
            return None
        asked = self._deadline.asked(observation, lasting)
        if asked is not None and isinstance(asked.reason, OnDemandForDeadline):
            return self._buy_on_demand(asked, short, lasting)
        if asked is not None and isinstance(asked.reason, WaitsForSpot):
            self._waiting.wait(short, lasting, observation, asked.reason.until)
            return None
        return self._replace_or_wait(asked, short, lasting, observation)

    def _is_replaced(self, lasting: Fleet) -> bool:
        """Returns whether another fleet has taken the place of the one that was wanted."""
        last = next(reversed(self._job.journal.moves()), None)
        if last is None or last.phase is not MovePhase.DONE or not last.taken.size:
            return False
        return lasting.size > 0 and not last.target.beyond(lasting).size

    def _buy_on_demand(self, asked: Decision, short: Shortage, lasting: Fleet) -> Move | None:
        """Returns the move to on-demand that the deadline asks for, as far as the limits allow it at once."""
        bought = self._pools.fitting(asked.target.beyond(lasting), short)
        if not bought.size:
            self._tell_unaffordable(short, lasting)
            return None
        is_whole = bought == asked.target.beyond(lasting)
        return self._replace(lasting, bought, short, asked.target if is_whole else lasting.plus(bought), asked.reason)

    def _replace_or_wait(
        self, asked: Decision | None, short: Shortage, lasting: Fleet, observation: Observation
    ) -> Move | None:
        """Returns the move to other nodes of the spot market; None while none can be had."""
        count = short.wanted.size - lasting.size
        replacements = self._pools.affordable(count, short, NO_NODES if asked is None else asked.target)
        if replacements.size:
            because = None if asked is None else asked.reason
            return self._replace(lasting, replacements, short, lasting.plus(replacements), because)
        if self._pools.available(count, short).size:
            self._tell_unaffordable(short, lasting)
        else:
            self._waiting.wait(short, lasting, observation)
        return None

    def _shortage(self) -> Shortage | None:
        """Returns the shortage that goes on. One begins with a notice, or where EC2 refuses to replace a spot node."""
        job = self._job
        short, wanted = job.journal.shortage(), job.cluster.capacity.last
        if short is not None:
            return short
        if not wanted.size or not (self._is_taken() or self._is_refused(wanted)):
            return None
        short = Shortage(wanted, job.clock.now())
        job.journal.set_shortage(short)
        return short

    def _is_taken(self) -> bool:
        """Returns whether a node is taken back, or is to be replaced for a recommendation now."""
        kinds = {*self.notices.noticed().values()}
        if NoticeKind.INTERRUPTION in kinds:
            return True
        last = max((move.at for move in self._job.journal.moves() if move.taken.size), default=0.0)
        return bool(kinds) and self._job.clock.now() >= last + REBALANCE_PAUSE_S

    def _is_refused(self, wanted: Fleet) -> bool:
        """Returns whether EC2 does not launch spot nodes that are wanted."""
        job, cluster = self._job, self._job.cluster
        lacking = wanted.beyond(Fleet.counted(worker.flavor for worker in cluster.last_workers()))
        flavors = [flavor for flavor in lacking.present if self._job.market(flavor) is Market.SPOT]
        if not flavors:
            self._lacking_since = None
            return False
        if self._lacking_since is None:
            self._lacking_since = job.clock.now()
        return bool(cluster.launch_failures(flavors, self._lacking_since))

    def _replace(
        self, lasting: Fleet, replacements: Fleet, short: Shortage, target: Fleet, because: Reason | None
    ) -> Move:
        """Returns the move that begins now, kept in the journal."""
        job, now = self._job, self._job.clock.now()
        taken = lacking_of(short, lasting)
        is_on_demand = any(self._job.market(flavor) is Market.ON_DEMAND for flavor in replacements.present)
        if is_on_demand and because is None:
            self._note_once(reason_in_words(OnDemandInstead(now - (short.waiting_since or now))))
        losses = job.journal.all_losses()
        before = sum(losses[flavor].lost for flavor in replacements.present if flavor in losses)
        reason = NodesTakenBack(taken, replacements, before, because)
        job.note(reason_in_words(reason))
        source = lasting.plus(taken)
        move = Move(job.journal.next_move_id(), now, source, target, reason)
        job.cluster.capacity.refuse_if_changed()
        job.journal.save_move(move)
        return move

    def _tell_unaffordable(self, short: Shortage, lasting: Fleet) -> None:
        limit = self._job.environment.settings.limits.max_usd_per_hour or 0.0
        lacking = lacking_of(short, lasting)
        self._note_once(reason_in_words(ReplacementUnaffordable(lacking, limit)))

    def _end(self, short: Shortage, lasting: Fleet, observation: Observation) -> None:
        """Ends a shortage once the launcher runs and no node is about to be taken any more."""
        head = observation.head
        if self.notices.interrupted():
            self._waiting.ask(short, lasting, observation)
            return
        if short.is_stopped and (head is None or head.launcher is not LauncherState.RUNNING):
            return
        self._waiting.settle()
        self._job.journal.set_shortage(None)
        self._lacking_since = None
        if short.waiting_since is not None:
            waited_s = self._job.clock.now() - short.waiting_since
            self._job.journal.end_waiting(waited_s)
            self._job.note(f"there is capacity again after {waited_s:.0f} s")
