"""One rank from beginning to end: what it tells its fact and its launcher, and its exit code."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import NoReturn

from trainer.elastic.errors import LauncherLostError, LostItsPlaceError, RemovedFromJobError, WorldLostError
from trainer.elastic.exchange import has_nccl
from trainer.elastic.rank_report import ForeignRankError
from trainer.elastic.world import World
from trainer.messages.lines import Messenger
from trainer.node.brake import emulated_speed
from trainer.node.fact import State
from trainer.node.fact_writer import FactWriter
from trainer.node.interruption import watch
from trainer.node.metadata import Metadata
from trainer.node.requests import Requests
from trainer.node.start import announce_start
from trainer.settings.training import Settings
from trainer.storage.storage import StorageError
from trainer.training.ending import finish
from trainer.training.errors import NodeTooSmallError, TrainingFailedError, TrainingStopped
from trainer.training.loop import Training
from trainer.training.prepare import prepare

log = logging.getLogger(__name__)


class Outcome(Enum):
    """How a rank's part in a training ended."""

    FINISHED = "finished"
    LEFT = "left"
    """It was let go as planned."""
    INTERRUPTED = "interrupted"
    """Its node is about to go."""
    STOPPED = "stopped"
    """The training was told to stop, and continues from its last checkpoint when it is launched again."""
    CUT_OFF = "cut off"
    """It lost its launcher, or its place: a worker that begins anew may be a rank again."""
    FAILED = "failed"

    @property
    def is_for_good(self) -> bool:
        """Whether this node has no more part in the training, also after a reboot."""
        return self in (Outcome.FINISHED, Outcome.LEFT)


EXIT_FAILED = 1
EXIT_AGAIN = 3
"""The exit code of a worker that its supervisor is to start again, to wait for the next launch."""
_FINAL_ERRORS = (TrainingFailedError, ForeignRankError)


def exit_at_once(code: int) -> NoReturn:
    """Ends this process without shutting Python, MXNet and Horovod down, which takes seconds on a busy machine.

    Everything that is to be kept has been written before. Only the streams are flushed here.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@dataclass
class Rank:
    """The settings of a training, together with this node's part in it.

    Attributes:
        settings: The training.
        facts: What the rank says about itself.
        requests: What the rank was asked to do from outside.
        speed: The share of a core that it is slowed down to; None: it is not slowed down.
    """

    settings: Settings
    facts: FactWriter
    requests: Requests
    speed: float | None

    @classmethod
    def of(cls, settings: Settings, fact_path: Path | None = None) -> Rank:
        """Returns a rank on this node, and writes a fact that it starts.

        Args:
            settings: The training.
            fact_path: The folder of the fact; None: as the settings say.

        Raises:
            ValueError: The environment asks for an impossible emulated speed.
        """
        return cls.begun(settings, *announce_start(settings, fact_path))

    @classmethod
    def begun(cls, settings: Settings, facts: FactWriter, metadata: Metadata) -> Rank:
        """Returns a rank on this node, whose fact says already that it starts."""
        requests = Requests()
        if metadata.is_there:
            watch(metadata, facts.take_notice, requests)
        requests.on_deadline(lambda reason: facts.announce(State.INTERRUPTED, reason))
        return cls(settings, facts, requests, emulated_speed())

    def prepare(self, messenger: Messenger, resume: bool = True, is_elastic: bool = False) -> Training | None:
        """Returns the training, warmed up; None where it cannot begin here. Then fact and log say why."""
        refusal = self.settings.horovod.refusal(is_elastic, has_nccl())
        if refusal is not None:
            self._fail(refusal)
            return None
        try:
            prepared = prepare(self.settings)
            training = Training(prepared, self.facts, self.requests, messenger, self.speed, resume)
            training.warm_up()
        except MemoryError as error:
            self._fail(f"out of memory while preparing: {error}")
            return None
        except (NodeTooSmallError, ValueError, OSError, StorageError, TrainingFailedError) as error:
            self._fail(str(error))
            return None
        return training

    def train(self, training: Training, messenger: Messenger) -> Outcome:
        """Trains to the end. Returns how it ended."""
        world = World()
        wanted = self.settings.horovod.environment(world.is_elastic)
        os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
        try:
            training.run(world)
            scores = finish(training, world)
        except (RemovedFromJobError, LostItsPlaceError) as error:
            training.prepared.checkpoints.finish()
            return self._leave(training, is_cut_off=isinstance(error, LostItsPlaceError))
        except TrainingStopped as error:
            world.leave()
            return self._stop(messenger, str(error))
        except Exception as error:
            return self._end_failed(training, messenger, error)
        self.facts.announce(State.FINISHED)
        if world.rank == 0:
            shown = ("steps", "tokens", "bleu", "signature", "exact_match", "replicas_identical")
            log.info("finished: %s", ", ".join(f"{key} {scores[key]}" for key in shown))
        messenger.send("finished", rank=world.rank)
        world.leave()
        return Outcome.FINISHED

    def _end_failed(self, training: Training, messenger: Messenger, error: Exception) -> Outcome:
        """Tells why the training cannot go on here: "failed" where a new attempt would fail too, else "broken"."""
        is_known = isinstance(error, (*_FINAL_ERRORS, WorldLostError, LauncherLostError))
        if not is_known:
            log.error("the training broke off", exc_info=error)
        reason = str(error) if is_known else f"{type(error).__name__}: {error}"
        self._fail(reason)
        training.prepared.checkpoints.finish()
        messenger.send("failed" if isinstance(error, _FINAL_ERRORS) else "broken", reason=reason)
        return Outcome.FAILED

    def _stop(self, messenger: Messenger, reason: str) -> Outcome:
        if self.requests.is_cut_off:
            return self._be_cut_off(reason)
        self.facts.announce(State.INTERRUPTED, reason)
        messenger.send("stopped", reason=reason)
        return Outcome.STOPPED

    def _leave(self, training: Training, is_cut_off: bool) -> Outcome:
        step = training.state.progress.step
        log.info("left after step %d", step)
        if is_cut_off or self.requests.is_cut_off:
            return self._be_cut_off(self.requests.leave_reason or "the other ranks went on without this one")
        if self.requests.leave_reason is not None:
            self.facts.announce(State.INTERRUPTED, f"{self.requests.leave_reason}; left after step {step}")
            return Outcome.INTERRUPTED
        self.facts.announce(State.DRAINING, f"left the training as planned after step {step}")
        return Outcome.LEFT

    def _be_cut_off(self, reason: str) -> Outcome:
        log.warning("%s: the worker begins anew", reason)
        self.facts.announce(State.STARTING, f"begins anew: {reason}")
        return Outcome.CUT_OFF

    def _fail(self, reason: str) -> None:
        log.error("%s", reason)
        self.facts.announce(State.FAILED, reason)
