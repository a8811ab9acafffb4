"""What all replicas of a training have in common: parameters, optimizer and progress."""

from __future__ import annotations

import hashlib
import zlib
from collections.abc import Iterable
from typing import Any

import mxnet as mx
import numpy as np
from numpy.typing import NDArray

from trainer.checkpoint.checkpoint import Checkpoint, CheckpointError
from trainer.elastic.exchange import broadcast_arrays, broadcast_object
from trainer.elastic.failures import drain_engine
from trainer.elastic.rank_report import RankReport, exchange_reports
from trainer.optim.adam import Adam
from trainer.optim.gradient_buckets import GradientBuckets
from trainer.record.progress import Progress


class TrainingState:
    """The state of one replica: it is committed, restored, and copied to new ranks.

    `parameters` are Gluon Parameters by name, in the optimizer's order. `gradients` are theirs. They are no part of
    the state, but a failed operation destroys them too.
    """

    def __init__(self, parameters: dict[str, Any], adam: Adam, gradients: GradientBuckets) -> None:
        self._parameters, self._adam, self._gradients = parameters, adam, gradients
        self.progress = Progress()
        self.is_shared = False
        """Whether this rank has the common state. A new rank takes it over before it trains."""
        self._committed: Checkpoint | None = None

    def snapshot(self) -> Checkpoint:
        """Returns a copy in host memory."""
        arrays = {name: array.asnumpy() for name, array in self._named_arrays().items()}
        arrays["adam.updates"] = np.array(self._adam.updates, dtype=np.int64)
        best_steps = tuple(step for step, _ in self.progress.best)
        return Checkpoint(self.progress.step, arrays, self.progress.as_dict(), best_steps=best_steps)

    def commit(self) -> None:
        """Takes a snapshot, to which `restore` goes back."""
        self._committed = self.snapshot()

    @property
    def committed(self) -> Checkpoint:
        """The last commit. It is never changed, only replaced."""
        assert self._committed is not None, "a world begins with a commit"
        return self._committed

    def load(self, checkpoint: Checkpoint) -> None:
        """Takes the state over from `checkpoint`. Raises CheckpointError if it is of another model."""
        targets = self._named_arrays()
        for name, array in targets.items():
            if name not in checkpoint.arrays or checkpoint.arrays[name].shape != array.shape:
                raise CheckpointError(f"it is of another model: {name} is missing or of another shape")
        for name, array in targets.items():
            array[:] = checkpoint.arrays[name]
        self._adam.updates = int(checkpoint.arrays["adam.updates"])
        self.progress = Progress.from_dict(checkpoint.progress)
        mx.nd.waitall()

    def restore(self) -> int:
        """Goes back to the last commit. Returns the number of steps that this undoes; 0 where there is no commit."""
        drain_engine()
        self._gradients.renew()
        if self._committed is None:
            self.is_shared = False
            return 0
        undone = self.progress.step - self._committed.step
        self._renew_arrays()
        self.load(self._committed)
        return undone

    def share(self, report: RankReport) -> tuple[list[RankReport], int]:
        """Makes all replicas equal to the most advanced one.

        Collective: it is the first thing that the ranks of a new world do together. Nothing is sent where every rank
        has the same state already, as after a rank has left.

        Returns:
            The reports of all ranks, and the rank whose state all have now.

        Raises:
            ForeignRankError: Some ranks are of another training. It is raised on every rank.
        """
        reports, source = exchange_reports(report)
        theirs = {(other.has_state, other.step, other.checksum) for other in reports}
        if theirs != {(True, reports[source].step, reports[source].checksum)}:
            self.take_over(source)
        self.is_shared = True
        return reports, source

    def take_over(self, source: int) -> None:
        """Replaces the state of all ranks by that of rank `source`. Collective."""
        values = (self._adam.updates, self.progress.as_dict())
        self._adam.updates, progress = broadcast_object(values, source, "progress")
        self.progress = Progress.from_dict(progress)
        broadcast_arrays(list(self._named_arrays().values()), source, "state")

    def checksum(self) -> str:
        """Returns a checksum of all that decides the next steps: parameters, optimizer and position.

        CRC-32 runs at the speed of memory. It finds every change of a single word, and misses one change in four
        billion of all others.
        """
        crc = 0
        for array in self._named_arrays().values():
            crc = zlib.crc32(array.asnumpy().data, crc)
        progress = self.progress
        decisive = (
            *(self._adam.updates, progress.step, progress.cursor, progress.tokens, progress.skipped_in_a_row),
            *(progress.measure, progress.best_validation, progress.poor_validations, progress.stopped),
            *progress.best,
        )
        return hashlib.sha256(f"{crc} {decisive}".encode()).hexdigest()

    @property
    def is_finite(self) -> bool:
        """Whether parameters and optimizer hold finite numbers alone."""
        return all(np.isfinite(array.asnumpy()).all() for array in self._named_arrays().values())

    def digest(self) -> str:
        """Returns the SHA-256, in hex, of all parameters in the order of their names."""
        digest = hashlib.sha256()
        for name, parameter in sorted(self._parameters.items()):
            digest.update(name.encode())
            digest.update(parameter.data().asnumpy().tobytes())
        return digest.hexdigest()

    def take_parameters(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Replaces the parameters, and nothing else, by the arrays of a snapshot."""
        for name, parameter in self._parameters.items():
            parameter.data()[:] = arrays[f"parameter.{name}"]
        mx.nd.waitall()

    def share_parameters(self, root: int) -> None:
        """Copies the parameters of rank `root` to all ranks. Collective."""
        broadcast_arrays([parameter.data() for parameter in self._parameters.values()], root, "parameters")

    def _renew_arrays(self) -> None:
        """Gives every array a new buffer. An array that a failed operation has touched raises whenever it is used."""
        for parameter in self._parameters.values():
            parameter.set_data(mx.nd.zeros(parameter.shape))
        for moments in (self._adam.means, self._adam.variances):
            moments[:] = [mx.nd.zeros(array.shape) for array in moments]

    def _named_arrays(self) -> dict[str, Any]:
        arrays = {f"parameter.{name}": parameter.data() for name, parameter in self._parameters.items()}
        for kind, moments in (("mean", self._adam.means), ("variance", self._adam.variances)):
            arrays |= {f"{kind}.{name}": array for name, array in zip(self._parameters, moments, strict=True)}
        return arrays


def average(checkpoints: Iterable[Checkpoint]) -> tuple[list[int], dict[str, NDArray[Any]]]:
    """Returns the steps of the checkpoints, and the mean of their parameters. Only one is in memory at a time."""
    sums: dict[str, NDArray[np.float64]] = {}
    steps: list[int] = []
    for checkpoint in checkpoints:
        steps.append(checkpoint.step)
        for name, array in checkpoint.arrays.items():
            if name.startswith("parameter."):
                sums.setdefault(name, np.zeros(array.shape, dtype=np.float64))
                sums[name] += array
    return steps, {name: (total / len(steps)).astype(np.float32) for name, total in sums.items()}
