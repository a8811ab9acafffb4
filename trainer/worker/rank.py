"""One rank from beginning to end: what it tells its fact and its launcher, and its exit code."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from trainer.checkpoint.storage import StorageError
from trainer.elastic.errors import LauncherLostError, RemovedFromJobError, WorldLostError
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
from trainer.settings.training import Settings
from trainer.training.ending import finish
from trainer.training.errors import NodeTooSmallError, TrainingFailedError, TrainingStopped
from trainer.training.loop import Training
from trainer.training.prepare import prepare

log = logging.getLogger(__name__)

EXIT_FAILED = 1


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
        speed = emulated_speed()
        metadata = Metadata()
        facts = FactWriter(fact_path or Path(settings.facts.path), metadata.instance(), emulated_speed=speed)
        facts.announce(State.STARTING, "loading the corpus and building the model")
        requests = Requests()
        if metadata.is_there:
            watch(metadata, requests)
        requests.on_deadline(lambda reason: facts.announce(State.INTERRUPTED, reason))
        return cls(settings, facts, requests, speed)

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
        except (NodeTooSmallError, ValueError, StorageError, TrainingFailedError) as error:
            self._fail(str(error))
            return None
        return training

    def train(self, training: Training, messenger: Messenger) -> int:
        """Trains to the end. Returns the exit code: 0 where the training has finished, or was left as planned."""
        world = World()
        wanted = self.settings.horovod.environment(world.is_elastic)
        os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
        try:
            training.run(world)
            scores = finish(training, world)
        except RemovedFromJobError:
            training.prepared.checkpoints.finish()
            return self._leave(training)
        except TrainingStopped as error:
            world.leave()
            self.facts.announce(State.INTERRUPTED, str(error))
            messenger.send("stopped", reason=str(error))
            return 0
        except (TrainingFailedError, ForeignRankError, WorldLostError, LauncherLostError) as error:
            return self._end_failed(training, messenger, str(error))
        except Exception as error:
            log.exception("the training failed")
            return self._end_failed(training, messenger, f"{type(error).__name__}: {error}")
        self.facts.announce(State.FINISHED)
        if world.rank == 0:
            shown = ("steps", "tokens", "bleu", "signature", "exact_match", "replicas_identical")
            log.info("finished: %s", ", ".join(f"{key} {scores[key]}" for key in shown))
        messenger.send("finished", rank=world.rank)
        world.leave()
        return 0

    def _end_failed(self, training: Training, messenger: Messenger, reason: str) -> int:
        self._fail(reason)
        training.prepared.checkpoints.finish()
        messenger.send("failed", reason=reason)
        return EXIT_FAILED

    def _leave(self, training: Training) -> int:
        step = training.state.progress.step
        if self.requests.leave_reason is not None:
            self.facts.announce(State.INTERRUPTED, f"{self.requests.leave_reason}; left after step {step}")
        else:
            self.facts.announce(State.DRAINING, f"left the training as planned after step {step}")
        log.info("left after step %d", step)
        return 0

    def _fail(self, reason: str) -> None:
        log.error("%s", reason)
        self.facts.announce(State.FAILED, reason)
