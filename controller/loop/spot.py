"""What the spot market takes is replaced at once, and waited for where there is no capacity.

The nodes themselves say what the spot service says of them: each rank asks its metadata service, and its notice comes
with its fact, over the connection to the head that is there anyway. So a notice costs no call of AWS's API, needs no
queue and no permission, and reaches the controller within one look. A node without a rank says nothing: it holds
nothing that could be lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from controller.act.doing import Doer
from controller.act.reconcile.actions import LetGo, SetCapacity
from controller.act.reconcile.next_actions import next_actions
from controller.act.reconcile.seeing import see
from controller.domain import Fleet, LauncherState, Market, Move, NoticeKind, Observation, TrainingState
from controller.domain.goal import Goal
from controller.domain.reasons.spot import NodesTakenBack, OnDemandInstead, ReplacementUnaffordable, WaitsForCapacity
from controller.domain.spot import Noticed, Shortage
from controller.loop.job import Job
from controller.loop.pools import Pools
from controller.words.once import Once
from controller.words.reasons import reason_in_words

LOOK_S = 20.0
"""The longest time between two looks at spot nodes: their last two minutes have to suffice for a replacement."""
REBALANCE_PAUSE_S = 600.0
"""The least time between two moves that are made for recommendations alone."""


class Spot:
    """Keeps the fleet of one run as large as it was, whatever the spot market takes back."""

    def __init__(self, job: Job) -> None:
        self._job, self._settings = job, job.environment.settings.spot.settings
        self._pools, self._note_once = Pools(job, self._settings), Once(job.note)
        self._note_without_effect = Once(job.note)
        self._lacking_since: float | None = None

    # what is known

    def noticed(self) -> Mapping[str, NoticeKind]:
        """Returns the nodes (instance ids) that EC2 takes back, or may soon."""
        known = {one.instance_id: one.kind for one in self._job.journal.noticed()}
        living = {worker.instance_id for worker in self._job.cluster.last_workers()}
        return {node: kind for node, kind in known.items() if node in living and self._counts(kind)}

    @property
    def has_shortage(self) -> bool:
        """Whether the run has fewer nodes that last than it wants."""
        return self._job.journal.shortage() is not None

    def is_short(self, observation: Observation) -> bool:
        """Returns whether nothing trains since EC2 has taken nodes back."""
        trains = any(fact.state is TrainingState.TRAINING for fact in observation.facts)
        return self.has_shortage and not trains

    def take_notices(self, observation: Observation) -> None:
        """Keeps and tells what the nodes have learned of the spot service."""
        kept = {one.instance_id: one.kind for one in self._job.journal.noticed()}
        workers = {worker.instance_id: worker for worker in self._job.cluster.last_workers()}
        for fact in observation.facts:
            worker, notice = workers.get(fact.instance_id), fact.notice
            if worker is None or notice is None or kept.get(fact.instance_id) in (notice.kind, NoticeKind.INTERRUPTION):
                continue
            noticed = Noticed(
                worker.instance_id, worker.flavor, notice.kind, self._job.clock.now(), notice.ends_at, worker.zone
            )
            self._job.journal.add_noticed(noticed)
            self._job.note(_told(noticed, observation.at))

    def _counts(self, kind: NoticeKind) -> bool:
        return kind is NoticeKind.INTERRUPTION or self._settings.rebalance

    # what is done

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
        lasting = self._lasting()
        count = short.wanted.size - lasting.size
        if count <= 0:
            self._end(short, lasting, observation)
            return None
        replacements = self._pools.affordable(count, short)
        if replacements.size:
            return self._replace(lasting, replacements, short)
        if self._pools.available(count, short).size:
            self._tell_unaffordable(short, lasting)
        else:
            self._wait(short, lasting, observation)
        return None

    def _lasting(self) -> Fleet:
        """Returns the nodes that EC2 does not take back."""
        noticed = self.noticed()
        return Fleet.counted(w.flavor for w in self._job.cluster.last_workers() if w.instance_id not in noticed)

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
        kinds = {*self.noticed().values()}
        if NoticeKind.INTERRUPTION in kinds:
            return True
        last = max((move.at for move in self._job.journal.moves() if move.taken.size), default=0.0)
        return bool(kinds) and self._job.clock.now() >= last + REBALANCE_PAUSE_S

    def _is_refused(self, wanted: Fleet) -> bool:
        """Returns whether EC2 does not launch spot nodes that are wanted."""
        job, cluster = self._job, self._job.cluster
        lacking = wanted.beyond(Fleet.counted(worker.flavor for worker in cluster.last_workers()))
        flavors = [flavor for flavor in lacking.present if self._pools.market(flavor) is Market.SPOT]
        if not flavors:
            self._lacking_since = None
            return False
        if self._lacking_since is None:
            self._lacking_since = job.clock.now()
        return bool(cluster.launch_failures(flavors, self._lacking_since))

    def _replace(self, lasting: Fleet, replacements: Fleet, short: Shortage) -> Move:
        """Returns the move that begins now, kept in the journal."""
        job, now = self._job, self._job.clock.now()
        taken = _some(short.wanted.beyond(lasting), short.wanted.size - lasting.size)
        if any(self._pools.market(flavor) is Market.ON_DEMAND for flavor in replacements.present):
            self._note_once(reason_in_words(OnDemandInstead(now - (short.waiting_since or now))))
        losses = job.journal.all_losses()
        before = sum(losses[flavor].lost for flavor in replacements.present if flavor in losses)
        reason = NodesTakenBack(taken, replacements, before)
        job.note(reason_in_words(reason))
        source = lasting.plus(taken)
        move = Move(job.journal.next_move_id(), now, source, lasting.plus(replacements), reason)
        job.cluster.capacity.refuse_if_changed()
        job.journal.save_move(move)
        return move

    def _tell_unaffordable(self, short: Shortage, lasting: Fleet) -> None:
        limit = self._job.environment.settings.limits.max_usd_per_hour or 0.0
        lacking = _some(short.wanted.beyond(lasting), short.wanted.size - lasting.size)
        self._note_once(reason_in_words(ReplacementUnaffordable(lacking, limit)))

    def _end(self, short: Shortage, lasting: Fleet, observation: Observation) -> None:
        """Ends a shortage once the launcher runs and no node is about to be taken any more."""
        head = observation.head
        if NoticeKind.INTERRUPTION in self.noticed().values():
            self._ask(short, lasting, observation)
            return
        if short.is_stopped and (head is None or head.launcher is not LauncherState.RUNNING):
            return
        self._settle()
        self._job.journal.set_shortage(None)
        self._lacking_since = None
        if short.waiting_since is not None:
            waited_s = self._job.clock.now() - short.waiting_since
            self._job.journal.end_waiting(waited_s)
            self._job.note(f"there is capacity again after {waited_s:.0f} s")

    def _settle(self) -> None:
        """Lets the groups ask for the nodes that there are, where a move was given up that asked for more."""
        cluster = self._job.cluster
        present = Fleet.counted(worker.flavor for worker in cluster.last_workers())
        if cluster.capacity.last != present:
            cluster.set_capacity(present)

    # waiting

    def _wait(self, short: Shortage, lasting: Fleet, observation: Observation) -> None:
        """Waits for capacity, with the groups asking for it."""
        job, now = self._job, self._job.clock.now()
        if not self._is_lacking():
            self._settle()  # all nodes are there, and were only recommended to be replaced
            job.journal.set_shortage(None)
            return
        is_stopped = short.is_stopped or self._stop_launcher(observation)
        short = replace(short, waiting_since=short.waiting_since or now, is_stopped=is_stopped)
        if short != job.journal.shortage():
            job.journal.set_shortage(short)
        reason = self._waits(short, lasting)
        if reason != job.journal.waiting():
            job.journal.set_waiting(reason)
        self._note_once(reason_in_words(reason))
        self._ask(short, lasting, observation)

    def _is_lacking(self) -> bool:
        workers = {worker.instance_id for worker in self._job.cluster.last_workers()}
        taken = {node for node, kind in self.noticed().items() if kind is NoticeKind.INTERRUPTION}
        short = self._job.journal.shortage()
        return short is None or len(workers - taken) < short.wanted.size

    def _waits(self, short: Shortage, lasting: Fleet) -> WaitsForCapacity:
        lacking = _some(short.wanted.beyond(lasting), short.wanted.size - lasting.size)
        since = short.waiting_since or short.since
        falls_back = self._settings.on_demand_fallback and self._pools.has_on_demand
        on_demand_at = since + self._settings.wait_s if falls_back else None
        return WaitsForCapacity(lacking, lasting.size, since, on_demand_at)

    def _stop_launcher(self, observation: Observation) -> bool:
        """Stops the launcher where no node is left: it would give up after a while. Returns whether it is stopped."""
        head = observation.head
        if self._job.cluster.last_workers() or head is None:
            return False
        if head.launcher is LauncherState.RUNNING:
            self._job.note("no node is left: stopping the launcher until there is capacity")
            self._job.cluster.stop_training()
        return head.launcher is not LauncherState.ENDED

    def _ask(self, short: Shortage, lasting: Fleet, observation: Observation) -> None:
        """Lets the groups ask EC2 for what is lacking, in the pools that they ask already or in the best ones."""
        cluster, timeouts = self._job.cluster, self._job.settings.timeouts
        count = short.wanted.size - lasting.size
        present = Fleet.counted(worker.flavor for worker in cluster.last_workers())
        taken = _some(short.wanted.beyond(lasting), count) if count > 0 else present.beyond(lasting)
        best = self._pools.best(lasting, max(0, count))
        target = lasting.plus(best if best.size >= count else taken)
        seen = see(
            cluster.last_workers(),
            observation,
            capacity=cluster.desired(),
            drain_s=timeouts.drain_s,
            noticed=self.noticed(),
        )
        actions = next_actions(Goal(target, lasting.plus(taken), way_back=True, taken=taken), seen)
        capacity = [action for action in actions if isinstance(action, (LetGo, SetCapacity))]
        Doer(cluster, timeouts.configure_s, self._job.clock.now, self._job.note).do(capacity)


def _some(fleet: Fleet, count: int) -> Fleet:
    """Returns at most so many nodes of a fleet."""
    nodes = [flavor for flavor, number in fleet.present.items() for _ in range(number)]
    return Fleet.counted(nodes[:count])


def _told(noticed: Noticed, now: float) -> str:
    """Returns a notice for people."""
    node = f"{noticed.instance_id} ({noticed.flavor})"
    if noticed.kind is NoticeKind.REBALANCE:
        return f"EC2 recommends to replace {node}: it may be taken back soon"
    left = "" if noticed.ends_at is None else f" in {max(0.0, noticed.ends_at - now):.0f} s"
    return f"EC2 takes {node} back{left}"
