"""One rank from beginning to end: what it says in its fact and to its launcher, and the exit code it leaves with."""

from __future__ import annotations

import logging
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from trainer.checkpoint.storage import StorageError
from trainer.elastic.world import LauncherLostError, RemovedFromJobError, World, WorldLostError, has_nccl
from trainer.messages.lines import Link
from trainer.node.brake import emulated_speed
from trainer.node.fact import FactWriter, State
from trainer.node.interruption import watch
from trainer.node.metadata import Metadata
from trainer.node.requests import Orders
from trainer.settings.settings import Settings
from trainer.training.ending import finish
from trainer.training.state import ForeignRankError
from trainer.training.training import NodeTooSmallError, Training, TrainingFailedError, TrainingStopped

log = logging.getLogger(__name__)

EXIT_FAILED = 1


def exit_at_once(code: int) -> NoReturn:
    """End this process without taking Python, MXNet and Horovod down one by one, which takes seconds on a busy machine.

    Everything that is to be kept must have been written; the streams are flushed here.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


@dataclass
class Rank:
    """A prepared training together with the fact it writes."""

    settings: Settings
    facts: FactWriter
    orders: Orders
    speed: float | None

    @classmethod
    def of(cls, settings: Settings, fact_path: Path | None = None) -> Rank:
        """A rank of this node, which says in its fact that it starts. ValueError for an impossible emulated speed."""
        speed = emulated_speed()
        metadata = Metadata()
        facts = FactWriter(
            fact_path or Path(settings.facts.path),
            metadata.identity(),
            window=settings.facts.window,
            warmup_steps=settings.facts.warmup_steps,
            emulated_speed=speed,
        )
        facts.announce(State.STARTING, "loading the corpus and building the model")
        orders = Orders()
        if metadata.is_there:
            watch(metadata, orders)
        orders.on_deadline(lambda reason: facts.announce(State.INTERRUPTED, reason))
        return cls(settings, facts, orders, speed)

    def prepare(self, link: Link, resume: bool = True, is_elastic: bool = False) -> Training | None:
        """The training, warmed up; None when it cannot begin here, which fact and log then say."""
        refusal = self.settings.horovod.refusal(is_elastic, has_nccl())
        if refusal is not None:
            self._fail(refusal)
            return None
        try:
            training = Training(self.settings, self.facts, self.orders, link, self.speed, resume)
            training.warm_up()
        except NodeTooSmallError as error:
            self._fail(str(error))
            return None
        except MemoryError as error:
            self._fail(f"out of memory while preparing: {error}")
            return None
        except (ValueError, StorageError, TrainingFailedError) as error:
            self._fail(str(error))
            return None
        return training

    def train(self, training: Training, link: Link) -> int:
        """Train to the end. Returns the exit code: 0 for a finished training and for one that was left as planned."""
        world = World()
        wanted = self.settings.horovod.environment(world.is_elastic)
        os.environ.update({name: value for name, value in wanted.items() if name not in os.environ})
        try:
            training.run(world)
            scores = finish(training, world, self.settings)
        except RemovedFromJobError:
            training.checkpoints.finish()
            return self._leave(training)
        except TrainingStopped as error:
            world.leave()
            self.facts.announce(State.INTERRUPTED, str(error))
            link.send("stopped", reason=str(error))
            return 0
        except (TrainingFailedError, ForeignRankError, WorldLostError, LauncherLostError) as error:
            return self._end_failed(training, link, str(error))
        except Exception as error:
            log.exception("the training failed")
            return self._end_failed(training, link, f"{type(error).__name__}: {error}")
        self.facts.announce(State.FINISHED)
        if world.rank == 0:
            shown = ("steps", "tokens", "bleu", "signature", "exact_match", "replicas_identical")
            log.info("finished: %s", ", ".join(f"{key} {scores[key]}" for key in shown))
        link.send("finished", rank=world.rank)
        world.leave()
        return 0

    def _end_failed(self, training: Training, link: Link, reason: str) -> int:
        self._fail(reason)
        training.checkpoints.finish()
        link.send("failed", reason=reason)
        return EXIT_FAILED

    def _leave(self, training: Training) -> int:
        step = training.state.progress.step
        if self.orders.leave_reason is not None:
            self.facts.announce(State.INTERRUPTED, f"{self.orders.leave_reason}; left after step {step}")
        else:
            self.facts.announce(State.DRAINING, f"left the training as planned after step {step}")
        log.info("left after step %d", step)
        return 0

    def _fail(self, reason: str) -> None:
        log.error("%s", reason)
        self.facts.announce(State.FAILED, reason)
