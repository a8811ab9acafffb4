"""The main job: continue or start a run, then observe, decide, act and record until the training ends.

The journal says where the run is, so that each of these steps may be the first one of a process.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from controller.act.backoff import backoff_s, failures_to_grow, retry_at
from controller.act.move import MoveLimits, MoveRunner
from controller.cluster import LiveCluster
from controller.config.environment import Environment, read_yaml
from controller.decide.given import DecisionInput
from controller.decide.model.situation import KEPT_OBSERVATIONS
from controller.domain import (
    Decision,
    Fleet,
    History,
    Instance,
    Limits,
    Move,
    MovePhase,
    Observation,
    Price,
    Verdict,
)
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityFileError,
    CentavoError,
    ConfigError,
    GuardError,
    MoveStuckError,
    NodesError,
    TerraformError,
    TrainingFailedError,
)
from controller.domain.reasons import Said
from controller.domain.times import iso
from controller.edges.clock import Clock
from controller.observe.changes import membership_changes
from controller.observe.progress import read_progress
from controller.record import known_speeds as speeds
from controller.record.journal import Journal, Stage
from controller.record.live.reporter import Reporter
from controller.record.report.report import write_report

Approval = Callable[[Decision], "Fleet | None"]
"""Which fleet a decision may be carried out with now; None: stay."""


def at_once(decision: Decision) -> Fleet | None:
    """The approval of a controller that may move by itself."""
    return decision.target if decision.verdict is Verdict.MOVE else None


Decider = Callable[[DecisionInput], Decision]
"""How to decide on what is given; the settings of deciding are its own."""


RELEASE_TRIES = 10
_PASSING_TROUBLES = (
    MoveStuckError,
    AwsError,
    AnsibleError,
    NodesError,
    TerraformError,
    CapacityFileError,
    ConfigError,
)
"""What gives a pass up and not the run: the training goes on, and the next pass may do better."""


class Optimizer:
    """One run of the main job, from wherever its journal says it is."""

    def __init__(
        self,
        environment: Environment,
        cluster: LiveCluster,
        journal: Journal,
        clock: Clock,
        reporter: Reporter,
        decider: Decider,
        bring_up: Callable[[], None],
        approval: Approval = at_once,
    ) -> None:
        self._environment, self._cluster = environment, cluster
        self._journal, self._clock, self._reporter = journal, clock, reporter
        self._decide, self._bring_up, self._approval = decider, bring_up, approval
        self._settings = environment.settings.controller
        self._began_at, self._noted_once = clock.now(), ""

    def run(self) -> dict[str, Any]:
        """Runs until the training has ended and the fleet is released; the report. Raises StoppedError when a person
        stops it, TrainingFailedError when the training did not succeed; the journal then holds the state."""
        try:
            self._cluster.capacity.read()
            if self._journal.stage() is Stage.STARTING:
                self._start()
            if self._journal.stage() is Stage.TRAINING:
                self._train()
            if self._journal.stage() is Stage.ENDING:
                self._finish()
        finally:
            report = write_report(self._journal, self._usd_per_hour(), self._clock.now())
        if report["status"] != "finished":
            raise TrainingFailedError(
                f"The training failed: {report['status_reason'] or 'no reason was given'}.",
                f"Its logs are in {self._journal.directory}/results; the workers were given back, the head runs on.",
            )
        return report

    def _start(self) -> None:
        self._note("bringing the fleet up")
        self._bring_up()
        started_at = self._clock.now()
        fleet = self._cluster.capacity.read()
        workers = self._cluster.wait_until_running(fleet, started_at)
        self._cluster.note_cost()
        self._note(f"{fleet} run and answer; preparing them")
        outcome = self._cluster.configure_all()
        self._note(f"the nodes are prepared ({outcome.changed} changes); starting the training")
        self._cluster.set_hosts(workers)
        self._cluster.start_training()
        self._journal.set_stage(Stage.TRAINING)

    def _train(self) -> None:
        """Pass after pass, until the training has ended."""
        self._check_capacity_file()
        while not self._cluster.training_has_ended():
            began = self._clock.now()
            try:
                self._pass()
            except _PASSING_TROUBLES as error:
                self._note(f"this pass was given up: {error.what} {error.next_step}".strip())
            if not self._cluster.training_has_ended():
                self._clock.sleep(self._settings.interval_s - (self._clock.now() - began))
        end = self._cluster.end
        assert end is not None
        self._journal.end("finished" if end.finished else "failed", end.reason, self._clock.now())
        keep_speeds(self._environment, self._journal)
        self._note("the training has " + ("finished" if end.finished else f"failed: {end.reason}"))
        self._journal.set_stage(Stage.ENDING)

    def _check_capacity_file(self) -> None:
        """A file that a person changed meanwhile is not the controller's to overwrite."""
        move = self._journal.move_under_way()
        if move is None:
            self._cluster.check_file_is_applied()
        elif (fleet := self._cluster.capacity.read()) not in (move.source, move.source.union(move.target), move.target):
            raise CapacityFileError(
                f"{self._cluster.capacity.path} asks for {fleet}, which is no step of the unfinished move from "
                f"{move.source} to {move.target}: someone else has changed it.",
                "Set it to one of these two fleets and start `centavo optimize` again.",
            )

    def _pass(self) -> None:
        """Observes, and then does one thing: goes on with a move, mends the membership, or decides."""
        self._recall()
        observation = self._cluster.observe()
        if self._cluster.training_has_ended():
            return
        under_way = self._journal.move_under_way()
        if under_way is not None:
            self._run_move(under_way)
        elif not self._mend():
            self._decide_and_move(observation)

    def _recall(self) -> None:
        """Takes up, once in a run, what earlier ones have measured in the same circumstances."""
        if self._journal.recalled() is not None:
            return
        environment, known = self._environment, {}
        training = read_yaml(environment.path(environment.settings.training.config))
        name = speeds.circumstances(training, self._cluster.head().image_id or "")
        try:
            known = speeds.recall(environment.speeds_file, name, self._clock.now())
        except speeds.SpeedsError as error:
            self._note(f"no speeds of earlier runs are known: {error}; the file will be written anew")
        self._journal.set_recalled(name, known)
        if known:
            told = ", ".join(f"{flavor} {tokens_per_s:,.0f}" for flavor, tokens_per_s in sorted(known.items()))
            self._note(f"known from earlier runs, tokens/s: {told}")

    def _mend(self) -> bool:
        """Lets nodes in that EC2 replaced, and takes out those that are gone. Whether anything was to be done."""
        workers, members = self._cluster.workers(), self._cluster.members()
        gone = members - {i.instance_id for i in workers}
        strangers = [i for i in workers if i.is_running and i.instance_id not in members]
        newcomers = self._answering(strangers)
        if not gone and not newcomers:
            return False
        if gone:
            self._note(f"{', '.join(sorted(gone))} are gone; the training goes on without them")
        if newcomers:
            self._note(f"preparing {', '.join(i.instance_id for i in newcomers)}, which run and take no part yet")
            self._cluster.configure(newcomers, self._settings.timeouts.configure_s)
        joining = {i.instance_id for i in newcomers} | members
        self._cluster.set_hosts([i for i in workers if i.is_running and i.instance_id in joining])
        return True

    def _answering(self, instances: list[Instance]) -> list[Instance]:
        silent = self._cluster.silent(instances) if instances else {}
        return [i for i in instances if i.instance_id not in silent]

    def _decide_and_move(self, observation: Observation) -> None:
        decision = self._held_back(self._decision(observation))
        self._journal.add_decision(decision)
        self._reporter.decided(decision)
        target = self._approval(decision)
        if target is None:
            return
        if (reason := self._why_later(decision.current, target)) is not None:
            self._note_once(reason)
            return
        self._take_up_merge(target)
        self._cluster.capacity.refuse_if_changed()
        is_own = target == decision.target
        self._run_move(
            Move(
                self._journal.next_move_id(),
                self._clock.now(),
                decision.current,
                target,
                decision.reason if is_own else Said("people have merged this fleet"),
                is_probe=is_own and decision.is_probe,
            )
        )

    def _held_back(self, decision: Decision) -> Decision:
        """The decision, or a refusal of its move, which has failed too short a while ago."""
        later = self._why_later(decision.current, decision.target) if decision.verdict is Verdict.MOVE else None
        if later is None:
            return decision
        return replace(decision, verdict=Verdict.REFUSE, target=decision.current, reason=Said(later), is_probe=False)

    def _why_later(self, current: Fleet, target: Fleet) -> str | None:
        """Why a fleet can't be moved to yet: a flavor that it has more of can't be had for now, or moves to it have
        failed since this controller began."""
        now = self._clock.now()
        since_start = [move for move in self._journal.moves() if move.at >= self._began_at]
        until = retry_at(target, since_start, self._settings.unavailable_s) or now
        for flavor, (unavailable_until, _) in self._journal.unavailable(now).items():
            if target.count(flavor) > current.count(flavor):
                until = max(until, unavailable_until)
        return f"a move to {target} has failed before and waits until {iso(until)}" if until > now else None

    def _take_up_merge(self, target: Fleet) -> None:
        """The capacity file may already ask for the fleet that was merged, where people have pulled it into this
        checkout; that is no foreign change."""
        if self._cluster.capacity.peek() == target:
            self._cluster.capacity.read()

    def _decision(self, observation: Observation) -> Decision:
        return decide_on(observation, self._journal, self._cluster.prices(), self._environment.limits(), self._decide)

    def _run_move(self, move: Move) -> None:
        self._journal.save_move(move)
        timeouts = self._settings.timeouts
        runner = MoveRunner(
            self._cluster,
            self._clock,
            MoveLimits(timeouts.boot_s, timeouts.configure_s, timeouts.join_s, timeouts.drain_s, self._settings.poll_s),
            save=self._journal.save_move,
            tell=self._tell,
            unavailable=self._remember_unavailable,
        )
        ended = runner.run(move)
        self._journal.save_move(with_pauses(ended, self._journal.observations(since=ended.at)))

    def _finish(self) -> None:
        """Fetches the results, gives the workers back, and ends the run."""
        self._note("fetching the results")
        trouble = self._try_to_fetch()
        if self._journal.status() != "finished":
            self._stop_launcher()
        self._close_move()
        self._note("giving the workers back")
        self._release()
        if trouble is not None:
            raise trouble
        self._journal.set_stage(Stage.ENDED)

    def _close_move(self) -> None:
        """A move that was under way has nothing left to do: the fleet goes as a whole."""
        move = self._journal.move_under_way()
        if move is not None:
            self._journal.save_move(
                replace(
                    move,
                    phase=MovePhase.ROLLED_BACK,
                    ended_at=self._clock.now(),
                    outcome_reason=move.outcome_reason or Said("the training ended before the move was done"),
                )
            )

    def _try_to_fetch(self) -> CentavoError | None:
        """Fetches; a failure waits until the costly workers are gone, for the results stay on the head."""
        try:
            self._cluster.fetch_results()
        except AnsibleError as error:
            if self._journal.status() == "finished":
                return error
            self._note(f"a failed training left no results: {error.what}")
        return None

    def _stop_launcher(self) -> None:
        """Nothing of a failed training is left to start anew on the head. The costly workers go in any case."""
        try:
            self._cluster.stop_training()
        except AnsibleError as error:
            self._note(f"the launcher on the head could not be stopped: {error.what}")

    def _release(self) -> None:
        """Gives the workers back, which cost money and do nothing any more: what fails is tried again."""
        for _ in range(RELEASE_TRIES - 1):
            try:
                self._try_to_release()
                return
            except _PASSING_TROUBLES as error:
                self._note(f"the workers are not all given back yet: {error.what}")
                self._clock.sleep(self._settings.interval_s)
        self._try_to_release()

    def _try_to_release(self) -> None:
        """Capacity to zero, and wait until no worker runs."""
        self._cluster.capacity.read()
        self._cluster.lift_protection(self._cluster.workers())
        try:
            self._cluster.set_capacity(Fleet({}))
        except (GuardError, TerraformError) as error:
            self._note(f"Terraform did not give the workers back, so their groups are told to: {error.what}")
            self._cluster.empty_groups()
        deadline = self._clock.now() + self._settings.timeouts.boot_s
        while left := self._cluster.workers():
            if self._clock.now() >= deadline:
                raise NodesError(f"EC2 has not ended {', '.join(i.instance_id for i in left)} yet.")
            self._cluster.lift_protection(left)
            self._clock.sleep(self._settings.poll_s)

    def _remember_unavailable(self, flavors: Collection[str], reason: str) -> None:
        now, moves = self._clock.now(), self._journal.moves()
        for flavor in flavors:
            failures = failures_to_grow(flavor, moves) + 1
            self._journal.set_unavailable(flavor, now + backoff_s(self._settings.unavailable_s, failures), reason)

    def _tell(self, move: Move, note: str) -> None:
        now = self._clock.now()
        self._journal.add_event(now, move.phase.value, note, move.move_id)
        self._reporter.moved(now, move, note)

    def _note(self, message: str) -> None:
        now = self._clock.now()
        self._journal.add_event(now, "note", message)
        self._reporter.note(now, message)

    def _note_once(self, message: str) -> None:
        """Each pass finds the same again; a person is told once."""
        if message != self._noted_once:
            self._noted_once = message
            self._note(message)

    def _usd_per_hour(self) -> dict[str, float]:
        return {flavor: price.usd_per_hour for flavor, price in self._cluster.prices().items()}


def decide_on(
    observation: Observation,
    journal: Journal,
    prices: Mapping[str, Price],
    limits: Limits,
    decide: Decider,
) -> Decision:
    """What to do now, on the present observation and on what the journal remembers; `limits` are those of centavo.yml,
    and what was promised of the run comes over them."""
    info = journal.info()
    earlier = journal.recent(KEPT_OBSERVATIONS)
    history = History(
        moves=journal.moves(),
        spent_usd=journal.spent_usd(),
        unavailable={f: until for f, (until, _) in journal.unavailable(observation.at).items()},
        known_tokens_per_s=_known(journal, observation.fleet),
    )
    present = () if earlier and earlier[-1].at >= observation.at else (observation,)
    progress = read_progress(observation, info.started_at)
    return decide(DecisionInput((*earlier, *present), prices, info.promises.onto(limits), progress, history))


def _known(journal: Journal, fleet: Fleet) -> dict[str, float]:
    """Speeds from earlier runs of the flavors that do not run: those that do are measured, which takes moments."""
    _, tokens_per_s = journal.recalled() or ("", {})
    return {flavor: speed for flavor, speed in tokens_per_s.items() if not fleet.count(flavor)}


def keep_speeds(environment: Environment, journal: Journal) -> None:
    """Keeps what a run that ends has measured for later ones."""
    recalled, decision = journal.recalled(), journal.last_decision()
    if recalled is not None and decision is not None:
        speeds.keep(environment.speeds_file, recalled[0], decision.flavors, decision.at)


def with_pauses(move: Move, observations: Sequence[Observation]) -> Move:
    """The move with the pauses and lost steps of the joins and leaves that its observations tell of."""
    changes = membership_changes(observations, move.at)
    return replace(
        move, pause_s=sum(change.pause_s for change in changes), steps_lost=sum(change.steps_lost for change in changes)
    )
