"""The training: prepare once, then train in one world after another until the work is done."""

from __future__ import annotations

import logging
import math
import time
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, NoReturn

import mxnet as mx
import numpy as np
from mxnet import autograd

from trainer.checkpoint.checkpoints import Checkpoints, Origin
from trainer.checkpoint.storage import open_storage
from trainer.data import corpus as corpora
from trainer.data.batch_stream import Feed
from trainer.data.batches import Batch, Encoded, collate, encode_pairs
from trainer.data.bpe_dropout import Resampler
from trainer.data.corpus.common import Pair
from trainer.data.vocabulary import Vocabulary
from trainer.elastic.balance import Balancer
from trainer.elastic.world import (
    MembershipChanged,
    World,
    WorldLostError,
    broadcast_object,
    sum_gradients,
    sum_vector,
    translating_failures,
)
from trainer.messages.lines import Link
from trainer.model.allocation import give_back, reuse_memory
from trainer.model.transformer import build
from trainer.node.brake import Brake
from trainer.node.fact import FactWriter, Iteration, MembershipChange, State, timestamp
from trainer.node.requests import Orders
from trainer.optim.adam import Adam, global_norm
from trainer.optim.gradient_buckets import Buckets
from trainer.optim.learning_rate import learning_rate
from trainer.settings.settings import Settings, fingerprint
from trainer.training import memory_preflight as memory
from trainer.training.digest import identity
from trainer.training.state import Hello, TrainingState
from trainer.training.steps import LogWindow, StepResult, validation_line
from trainer.training.tensorboard import Scalars

log = logging.getLogger(__name__)

LOG_EVERY_STEPS = 5


class TrainingFailedError(RuntimeError):
    """The training cannot go on; the message says why and what there is to go on from."""


class TrainingStopped(Exception):  # noqa: N818 - no error, what was asked for
    """The training was told to stop, has left a checkpoint, and can be resumed."""


class NodeTooSmallError(RuntimeError):
    """This node's memory does not suffice; the message has both numbers."""


class Training:
    """One rank's training, from its preparation to its last step."""

    def __init__(
        self,
        settings: Settings,
        facts: FactWriter,
        orders: Orders,
        link: Link,
        speed: float | None,
        resume: bool = True,
    ) -> None:
        self._settings, self._facts, self._orders, self._link, self._speed = settings, facts, orders, link, speed
        self._resume = resume
        reuse_memory()
        self.corpus = corpora.load(settings.corpus)
        cache = Path(settings.cache).expanduser()
        texts = (text for pair in self.corpus.train for text in pair)
        self.vocabulary = Vocabulary.learn_or_load(texts, settings.vocabulary, cache)
        encoded = self._encoded(self.corpus.train, "pairs")
        if not encoded.samples:
            raise TrainingFailedError(f"no training pair is within batch.max_tokens ({settings.batch.max_tokens})")
        self._feed = Feed(encoded, settings.batch, settings.seed, self.vocabulary.pad_id, self._resampler())
        self._validation = self._encoded(self.corpus.validation, "validation pairs").samples
        if settings.stop.validate_every_steps and not self._validation:
            raise TrainingFailedError(
                f"stop.validate_every_steps is {settings.stop.validate_every_steps}, and no validation pair is within "
                f"batch.max_tokens ({settings.batch.max_tokens})"
            )
        self._share_limit = self._check_memory(self._feed.longest, self._feed.batch_tokens)
        self.model = build(settings.model, len(self.vocabulary))
        self._parameters: dict[str, Any] = dict(sorted(self.model.parameters().items()))
        optimizer = settings.optimizer
        self._adam = Adam(list(self._parameters.values()), optimizer.beta1, optimizer.beta2, optimizer.epsilon)
        self._gradients = Buckets(list(self._parameters.values()), settings.horovod.bucket_mb)
        self.state = TrainingState(self._parameters, self._adam, self._gradients)
        self._balancer = Balancer(settings.balance.every_steps, settings.balance.max_change, settings.balance.enabled)
        self.storage = open_storage(settings.storage)
        origin = Origin(fingerprint(settings), self.vocabulary.digest, self.corpus.digest)
        self.identity = identity(settings, origin)
        self._checkpoints = Checkpoints(self.storage, origin, settings.checkpoint.keep)
        self._measured_speed: float | None = None
        self._world_size: int | None = None
        self._own = (0.0, 0, 0)
        self._lost_steps = 0
        self._went_back = True
        self._step_ended = time.perf_counter()
        self._checkpointed_at = time.monotonic()
        self._window = LogWindow()
        self.scalars = Scalars(settings.tensorboard)

    def _encoded(self, pairs: list[Pair], what: str) -> Encoded:
        """The pairs within batch.max_tokens; it is told how many are left out."""
        limit = self._settings.batch.max_tokens
        encoded = encode_pairs(self.vocabulary, pairs, limit)
        if encoded.too_long:
            log.warning("%d of %d %s are longer than %d tokens and are left out",
                        encoded.too_long, len(pairs), what, limit)  # fmt: skip
        return encoded

    def _resampler(self) -> Resampler | None:
        dropout, limit = self._settings.vocabulary.dropout, self._settings.batch.max_tokens
        return Resampler(self.vocabulary, dropout, self._settings.seed, limit) if dropout else None

    @property
    def checkpoints(self) -> Checkpoints:
        """The training's checkpoints."""
        return self._checkpoints

    def warm_up(self, rounds: int = 2) -> None:
        """Compute a part of the first batches and throw it away: the first time is slow, the last one measures."""
        samples = self._feed.samples_at(0)
        batch = collate(samples[: max(1, len(samples) // 6)], self.vocabulary.pad_id)
        for _ in range(rounds):
            with Brake(self._speed) as brake:
                self._compute([batch])
            self._measured_speed = batch.target_tokens / brake.compute_time_s

    def run(self, world: World) -> None:
        """Train until the work is done, through every change of the world.

        Raises RemovedFromJobError when this rank is to leave, TrainingStopped, TrainingFailedError, and WorldLostError
        when a rank is lost in a training that is not elastic.
        """
        world.join()
        self.run_worlds(world)

    def run_worlds(self, world: World) -> None:
        """`run` for a rank that has joined a world already."""
        while True:
            try:
                with translating_failures():
                    self._enter(world)
                    self._train(world)
                return
            except MembershipChanged:
                log.info("the fleet changes after step %d", self.state.progress.step)
            except WorldLostError as error:
                self._go_back()
                log.warning("a rank is lost (%s); back to step %d", error, self.state.progress.step)
            self._feed.close()
            world.reset()

    def run_again(self, world: World) -> None:
        """After a rank was lost when all steps were done: go back to the last commit and train from there."""
        self._go_back()
        world.reset()
        self.run_worlds(world)

    def _go_back(self) -> None:
        self._lost_steps += self.state.restore()
        self._went_back = True

    # -- a world begins

    def _enter(self, world: World) -> None:
        """Make the replicas equal, share out the batch, and note the change."""
        if world.rank == 0 and not self.state.is_shared:
            self._resume_from_checkpoint()
        speed = self._balancer.speed(self._facts.rank) if self._facts.rank is not None else None
        hello = Hello(
            has_state=self.state.is_shared,
            step=self.state.progress.step,
            lost_steps=self._lost_steps,
            last_size=self._world_size,
            speed_tokens_per_s=speed or self._measured_speed,
            largest_share=self._share_limit,
            identity=self.identity,
        )
        hellos, source = self.state.share(hello)
        self._discard_undone(world)
        self._note_change(world, hellos, source)
        self._lost_steps = 0
        self._balancer.begin([h.speed_tokens_per_s for h in hellos], [h.largest_share for h in hellos])
        self._world_size = world.size
        self._facts.rank, self._facts.world_size = world.rank, world.size
        self._facts.begin_window()
        self._seek(world)
        world.listen()
        self.state.commit()
        self._link.send("joined", rank=world.rank, size=world.size, step=self.state.progress.step)
        self._announce_training()
        log.info("rank %d of %d trains from step %d", world.rank, world.size, self.state.progress.step)

    def _resume_from_checkpoint(self) -> None:
        """Rank 0 of the first world: other ranks take the state over from it.

        Raises TrainingFailedError when there are checkpoints and none can be used.
        """
        checkpoint = self._checkpoints.latest() if self._resume else None
        if self._resume and checkpoint is None and self._checkpoints.are_there:
            raise TrainingFailedError(
                f"none of the checkpoints in {self.storage.location} can be used (the log says why): take the settings "
                "and the version that made them, or begin in another storage"
            )
        if checkpoint is not None:
            self.state.load(checkpoint)
            self.state.progress.resume(checkpoint.stopped, self._settings.stop.patience)
            log.info("resumed from the checkpoint of step %d", checkpoint.step)

    def _discard_undone(self, world: World) -> None:
        """Where a training begins, or goes back, remove the checkpoints of later steps: nothing continues them, and
        they would be taken for its own."""
        if world.rank == 0 and self._went_back:
            self._checkpoints.finish()
            self._checkpoints.discard_from(self.state.progress.step + 1)
        self._went_back = False

    def _note_change(self, world: World, hellos: list[Hello], source: int) -> None:
        """Record who came or went, as the rank that the state came from has seen it; the same on every rank."""
        before = hellos[source].last_size
        progress = self.state.progress
        lost = max(hello.lost_steps for hello in hellos)
        progress.lose(lost)
        if before is None:
            return
        at, pause_s = broadcast_object((time.time(), time.perf_counter() - self._step_ended), source, "pause")
        change = MembershipChange(timestamp(at), before, world.size, round(pause_s, 3), lost)
        progress.changes.append(asdict(change))
        self._facts.last_change = change
        if world.rank == 0:
            log.info("from %d to %d ranks: paused %.2f s, %d steps lost", before, world.size, pause_s, lost)

    def _announce_training(self) -> None:
        self._facts.step, self._facts.total_tokens = self.state.progress.step, self.state.progress.tokens
        self._facts.total_steps = self._total_steps()
        self._facts.announce(State.TRAINING)

    def _seek(self, world: World) -> None:
        self._feed.seek(self.state.progress.cursor, world.rank, self._balancer.shares)
        self._facts.share = round(self._balancer.shares[world.rank], 6)

    def _total_steps(self) -> int | None:
        settings = self._settings
        return self.state.progress.total_steps(settings.stop, self._feed.batches_per_epoch, settings.batch.accumulate)

    # -- steps

    def _train(self, world: World) -> None:
        settings, progress = self._settings, self.state.progress
        self._step_ended = time.perf_counter()
        self._window = LogWindow()
        self._validate_if_due(world)  # of the step at which the world before ended
        while not progress.is_done(settings.stop, self._feed.batches_per_epoch):
            began = time.perf_counter()
            self._ask_to_leave()
            result = self._step(world)
            self._step_ended = time.perf_counter()
            self._account(world, result, self._step_ended - began)
            self._keep_if_due(world)
            if result.is_stop_due:
                self._stop(world)
            if result.is_change_due:
                raise MembershipChanged
            if self._balancer.observe(result.tokens_by_rank, result.compute_time_s_by_rank):
                self._seek(world)
            self._validate_if_due(world)
            self._give_back_if_scarce()

    def _step(self, world: World) -> StepResult:
        """Compute, exchange, update. The update is the exact mean over all ranks' target tokens."""
        asked = time.perf_counter()
        parts = [part for part in self._feed.next() if part is not None]
        data_wait_s = time.perf_counter() - asked
        mx.random.seed(_seed_of_step(self._settings.seed, self.state.progress.step, world.rank))
        with Brake(self._speed) as brake:
            loss_sum, tokens = self._compute(parts)
        sum_gradients(self._gradients.arrays, self._settings.horovod.compression)
        ids, padding = sum(part.ids for part in parts), sum(part.padding_share * part.ids for part in parts)
        result = self._exchange(world, [loss_sum, tokens, ids, padding, data_wait_s], tokens, brake.compute_time_s)
        self._check_loss(world, result.loss_sum / result.tokens)
        scale = 1.0 / result.tokens
        clip = self._settings.optimizer.clip_norm
        if clip is not None:
            norm = global_norm(self._gradients.arrays) * scale
            scale *= min(1.0, clip / norm) if math.isfinite(norm) and norm > 0 else 1.0
        optimizer = self._settings.optimizer
        rate = learning_rate(self._adam.updates + 1, optimizer.learning_rate, optimizer.warmup_steps)
        self._adam.update(rate, scale)
        mx.nd.waitall()
        samples = sum(len(part.src) for part in parts)
        self._own = (brake.compute_time_s, samples, tokens)
        return result

    def _compute(self, parts: list[Batch]) -> tuple[float, int]:
        """Forward and backward of this rank's parts; waits for the gradients. Returns summed loss and target tokens."""
        if not parts:
            self._gradients.clear()
        loss_sum, tokens = 0.0, 0
        for part in parts:
            arrays = _on_device(part)
            with autograd.record():
                loss, _ = self.model.loss(*arrays)
            loss.backward()
            if len(parts) > 1:
                self._gradients.set_aside()
            loss_sum += float(loss.asscalar())
            tokens += part.target_tokens
        if len(parts) > 1:
            self._gradients.take_back()
        mx.nd.waitall()
        return loss_sum, tokens

    def _exchange(self, world: World, sums: list[float], tokens: int, compute_time_s: float) -> StepResult:
        """`sums`: this rank's part of the first five fields of StepResult, in their order."""
        size, rank = world.size, world.rank
        values = np.zeros(7 + 2 * size, dtype=np.float64)
        values[:7] = *sums, world.is_change_pending, self._orders.stop_reason is not None
        values[7 + rank], values[7 + size + rank] = tokens, compute_time_s
        total = sum_vector(values, "step")
        return StepResult(
            loss_sum=float(total[0]),
            tokens=round(float(total[1])),
            ids=round(float(total[2])),
            padding=float(total[3]),
            data_wait_s=float(total[4]) / size,
            is_change_due=total[5] > 0,
            is_stop_due=total[6] > 0,
            tokens_by_rank=total[7 : 7 + size].tolist(),
            compute_time_s_by_rank=total[7 + size :].tolist(),
        )

    def _check_loss(self, world: World, loss: float) -> None:
        """Raises TrainingFailedError when the loss is no number."""
        if not math.isfinite(loss):
            self._fail_diverged(world, f"the loss became {loss} at step {self.state.progress.step + 1}")

    def check_parameters(self, world: World) -> None:
        """Raises TrainingFailedError when the last update has made parameters that are no numbers: no loss shows it."""
        if not all(np.isfinite(parameter.data().asnumpy()).all() for parameter in self._parameters.values()):
            self._fail_diverged(world, f"parameters are no numbers any more after step {self.state.progress.step}")

    def _fail_diverged(self, world: World, what: str) -> NoReturn:
        """Raises TrainingFailedError, which names the last checkpoint that is good.

        A checkpoint of the very parameters that failed is not: going on from it would end here again.
        """
        step = self.state.progress.step
        self._checkpoints.finish()
        if world.rank == 0:
            self._checkpoints.discard_from(step)
        good = self._checkpoints.latest_before(step)
        advice = "start again" if good is None else f"go on (--resume) from the last good checkpoint, {good}"
        raise TrainingFailedError(
            f"{what}: lower optimizer.learning_rate ({self._settings.optimizer.learning_rate}) or set clip_norm, "
            f"and {advice}"
        )

    def _account(self, world: World, result: StepResult, iteration_time_s: float) -> None:
        progress, facts = self.state.progress, self._facts
        progress.step += 1
        progress.cursor += self._settings.batch.accumulate
        progress.tokens += result.tokens
        progress.loss = result.loss_sum / result.tokens
        self._window.add(result)
        compute_time_s, samples, tokens = self._own
        facts.record(Iteration(iteration_time_s, compute_time_s, samples, tokens))
        facts.step, facts.total_tokens, facts.total_steps = progress.step, progress.tokens, self._total_steps()
        facts.loss = round(progress.loss, 6)
        facts.publish(urgent=False)
        if progress.step % LOG_EVERY_STEPS == 0 or progress.step == 1:
            self._log_line(world)

    def _log_line(self, world: World) -> None:
        """A line of train.log: the loss of this step, and speed, padding and waiting since the line before."""
        progress = self.state.progress
        line = self._window.line(progress.step, progress.loss or 0.0, world.size)
        self._window = LogWindow()
        self._keep_line(world, line)
        if world.rank == 0 and progress.step % (10 * LOG_EVERY_STEPS) == 0:
            log.info(
                "step %d loss %.4f, %.0f tokens/s on %d ranks, padding %.1f%%, waiting for data %.1f%%",
                *(line[name] for name in ("step", "loss", "tokens_per_s", "world_size")),
                *(100 * line[name] for name in ("padding_share", "data_wait_share")),
            )

    def _keep_line(self, world: World, line: dict[str, Any]) -> None:
        self.state.progress.log.append(line)
        if world.rank == 0:
            self.scalars.write(self.state.progress.log)

    def _ask_to_leave(self) -> None:
        if self._orders.leave_reason is not None:
            self._link.send("leaving", reason=self._orders.leave_reason)

    # -- what happens every now and then

    def _stop(self, world: World) -> None:
        if world.rank == 0:
            self._checkpoints.finish()
            self._checkpoints.save(replace(self.state.snapshot(), stopped=True))
        raise TrainingStopped(self._orders.stop_reason or "told to stop")

    def _validate_if_due(self, world: World) -> None:
        every = self._settings.stop.validate_every_steps
        progress = self.state.progress
        if not every or not progress.step or progress.step % every or progress.is_validated:
            return
        loss = self.validation_loss(world)
        progress.judge(loss, self._settings.stop.patience)
        self._keep_line(world, validation_line(progress.step, loss))
        if world.rank == 0:
            log.info("step %d validation loss %.4f, best %.4f", progress.step, loss, progress.best_validation)

    def validation_loss(self, world: World, per_batch: int = 64) -> float:
        """Mean loss of the validation split in nats per target token. Collective: each rank takes a part."""
        mine = sorted(self._validation[world.rank :: world.size], key=lambda sample: len(sample[1]))
        total = np.zeros(2)
        for start in range(0, len(mine), per_batch):
            batch = collate(mine[start : start + per_batch], self.vocabulary.pad_id)
            total += float(self.model.loss(*_on_device(batch))[0].asscalar()), batch.target_tokens
        total = sum_vector(total, "validation")
        return float(total[0] / total[1])

    def _keep_if_due(self, world: World) -> None:
        step = self.state.progress.step
        every, minutes = self._settings.checkpoint.every_steps, self._settings.checkpoint.every_minutes
        by_steps = every is not None and step % every == 0
        by_time = minutes is not None and time.monotonic() - self._checkpointed_at >= minutes * 60
        if step % self._settings.elastic.commit_every_steps == 0 or by_steps:
            self.state.commit()
        if world.rank == 0 and (by_steps or by_time):
            self._checkpointed_at = time.monotonic()
            self._checkpoints.save_in_background(self.state.snapshot())

    def _give_back_if_scarce(self) -> None:
        if self.state.progress.step % LOG_EVERY_STEPS == 0:
            resident = memory.resident_bytes()
            if memory.is_scarce(resident, memory.available_bytes(resident)):
                give_back()

    def _check_memory(self, longest: int, tokens: int) -> float | None:
        """The largest share of the global batch that fits. Raises NodeTooSmallError when not even a sentence does."""
        model, accumulates = self._settings.model, self._settings.batch.accumulate > 1
        sizes = model.architecture()
        requirement = memory.estimate(sizes, len(self.vocabulary), longest, model.precision, accumulates)
        available = memory.available_bytes(memory.resident_bytes())
        reason = memory.shortage(requirement.total(min(tokens, 4 * longest)), available)
        if reason is not None:
            raise NodeTooSmallError(reason)
        return memory.largest_share(requirement, available, tokens)


def _on_device(batch: Batch) -> tuple[Any, Any, Any, Any]:
    ids = (mx.nd.array(array, dtype="int32") for array in (batch.src, batch.tgt))
    src, tgt = ids
    return src, mx.nd.array(batch.src_len), tgt, mx.nd.array(batch.tgt_len)


def _seed_of_step(seed: int, step: int, rank: int) -> int:
    """Dropout depends on seed, step and rank alone, so that a resumed training goes on with the very same numbers."""
    return (seed * 1_000_003 + step * 8_191 + rank) % 2**31
