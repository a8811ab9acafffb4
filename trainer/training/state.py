"""What all replicas have in common (parameters, optimizer, progress): committed, restored, and copied to new ranks."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import mxnet as mx
import numpy as np
from numpy.typing import NDArray

from trainer.checkpoint.checkpoints import Checkpoint, CheckpointError
from trainer.elastic.world import broadcast_arrays, broadcast_object, drain_engine, gather_objects
from trainer.optim.adam import Adam
from trainer.optim.gradient_buckets import Buckets
from trainer.training.digest import STRANGER
from trainer.training.progress import Progress


@dataclass(frozen=True)
class Hello:
    """What each rank says of itself when a world begins: whether it has the state, and of which step."""

    has_state: bool
    step: int
    lost_steps: int
    last_size: int | None
    speed_tokens_per_s: float | None
    largest_share: float | None
    identity: str


class ForeignRankError(RuntimeError):
    """Ranks that cannot train together; says which, and why."""


class TrainingState:
    """The state of one replica. `parameters` are Gluon Parameters by name, in the optimizer's order.

    `gradients` are theirs: not part of the state, but lost with a failed operation.
    """

    def __init__(self, parameters: dict[str, Any], adam: Adam, gradients: Buckets) -> None:
        self._parameters, self._adam, self._gradients = parameters, adam, gradients
        self.progress = Progress()
        self.is_shared = False
        """Whether this rank has the common state: a new one must take it over before it trains."""
        self._committed: Checkpoint | None = None

    def snapshot(self) -> Checkpoint:
        """A copy in host memory."""
        arrays = {name: array.asnumpy() for name, array in self._named_arrays().items()}
        arrays["adam.updates"] = np.array(self._adam.updates, dtype=np.int64)
        return Checkpoint(self.progress.step, arrays, self.progress.as_dict())

    def commit(self) -> Checkpoint:
        """Take a snapshot to which `restore` goes back."""
        self._committed = self.snapshot()
        return self._committed

    def load(self, checkpoint: Checkpoint) -> None:
        """Become what `checkpoint` holds. Raises CheckpointError when it is of another model."""
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
        """Go back to the last commit. Returns how many steps that undoes; 0 where there is none to go back to."""
        drain_engine()
        self._gradients.renew()
        if self._committed is None:
            self.is_shared = False
            return 0
        undone = self.progress.step - self._committed.step
        self._renew_arrays()
        self.load(self._committed)
        return undone

    def share(self, hello: Hello) -> tuple[list[Hello], int]:
        """Make all replicas equal to the most advanced one. Returns what the ranks said, and whose state it was.

        Collective: the first thing that ranks do together in a new world. When every rank has the state of the same
        step already (nobody has joined), nothing is sent. Raises ForeignRankError on every rank where one is another
        training's.
        """
        hellos: list[Hello] = gather_objects(hello, "hello")
        root = source_of(hellos)
        if foreign := [rank for rank, other in enumerate(hellos) if other.identity != hellos[root].identity]:
            ranks = ", ".join(map(str, foreign))
            raise ForeignRankError(f"rank {ranks} cannot train with rank {root}: {STRANGER}")
        if not all(other.has_state and other.step == hellos[root].step for other in hellos):
            values = (self._adam.updates, self.progress.as_dict())
            self._adam.updates, progress = broadcast_object(values, root, "progress")
            self.progress = Progress.from_dict(progress)
            broadcast_arrays(list(self._named_arrays().values()), root, "state")
        self.is_shared = True
        return hellos, root

    def digest(self) -> str:
        """SHA-256 of all parameters, by name and in hex."""
        digest = hashlib.sha256()
        for name, parameter in sorted(self._parameters.items()):
            digest.update(name.encode())
            digest.update(parameter.data().asnumpy().tobytes())
        return digest.hexdigest()

    def take_parameters(self, arrays: dict[str, NDArray[Any]]) -> None:
        """Replace the parameters alone, by the arrays of a snapshot."""
        for name, parameter in self._parameters.items():
            parameter.data()[:] = arrays[f"parameter.{name}"]
        mx.nd.waitall()

    def share_parameters(self, root: int) -> None:
        """Copy the parameters of rank `root` to all. Collective."""
        broadcast_arrays([parameter.data() for parameter in self._parameters.values()], root, "parameters")

    def _renew_arrays(self) -> None:
        """Give every array a new buffer: one that a failed operation has touched raises for ever."""
        for parameter in self._parameters.values():
            parameter.set_data(mx.nd.zeros(parameter.shape))
        for moments in (self._adam.means, self._adam.variances):
            moments[:] = [mx.nd.zeros(array.shape) for array in moments]

    def _named_arrays(self) -> dict[str, Any]:
        arrays = {f"parameter.{name}": parameter.data() for name, parameter in self._parameters.items()}
        for kind, moments in (("mean", self._adam.means), ("variance", self._adam.variances)):
            arrays |= {f"{kind}.{name}": array for name, array in zip(self._parameters, moments, strict=True)}
        return arrays


def source_of(hellos: list[Hello]) -> int:
    """The rank whose state all take over: the first of those that are furthest; rank 0 when nobody has any yet."""
    holders = [rank for rank, hello in enumerate(hellos) if hello.has_state]
    return max(holders, key=lambda rank: (hellos[rank].step, -rank), default=0)


def average(checkpoints: list[Checkpoint]) -> dict[str, NDArray[Any]]:
    """The mean of the parameters of several checkpoints."""
    names = [name for name in checkpoints[0].arrays if name.startswith("parameter.")]
    return {
        name: np.mean([checkpoint.arrays[name] for checkpoint in checkpoints], axis=0, dtype=np.float64).astype(
            np.float32
        )
        for name in names
    }
