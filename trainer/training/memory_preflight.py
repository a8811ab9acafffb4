"""What a training needs of a node's memory, estimated before it begins, against what the node has."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from trainer.model.transformer import Architecture

LIMIT_VARIABLE = "CENTAVO_EMULATED_MEMORY_BYTES"
FLOAT_BYTES = 4
SCARCE_ABOVE = 0.75
PROCESS_BYTES = 450 * 1024**2
"""Python with MXNet, GluonNLP, Horovod and a corpus loaded, before any model."""


@dataclass(frozen=True)
class Estimate:
    """Bytes: `fixed` whatever the batch, and `per_token` for each padded token of this rank's batch."""

    fixed: int
    per_token: int

    def total(self, tokens: float) -> int:
        """Bytes for a batch of `tokens`."""
        return round(self.fixed + self.per_token * tokens)


def parameter_count(model: Architecture, vocab_size: int) -> int:
    """Numbers in the model: one shared embedding with the output's bias, 4 matrices an attention, 2 a feed-forward."""
    units, hidden = model.units, model.hidden
    feed_forward = 2 * units * hidden + hidden + units
    encoder = 4 * units**2 + feed_forward + 4 * units
    decoder = 8 * units**2 + feed_forward + 6 * units
    return vocab_size * (units + 1) + model.layers * (encoder + decoder) + 4 * units


def estimate(
    model: Architecture, vocab_size: int, longest: int, precision: str = "float32", accumulates: bool = False
) -> Estimate:
    """What training takes. `longest`: tokens of the longest sentence; `accumulates`: several batches an update.

    Fixed: parameters, gradients (twice when they are added up over several batches), Adam's two moments and the
    commit's copy of three of them. A token keeps, for the backward pass, the activations of every layer (about 14 of
    `units`, 2 of `hidden`, in encoder and decoder, and attention's `heads` rows of `longest`), and the output's
    scores, their softmax, the smoothed labels and their gradients: 5 rows of the vocabulary, and 9 more in bfloat16,
    where oneDNN keeps float32 copies of its results (see `trainer.model.allocation`). Measured for tiny at 64 x 64 and base
    at 32 x 32 tokens, in KiB per token: 65 and 480 with the fused kernels, 175 and 900 without; estimated: 123 and 740.
    """
    copies = 8 if accumulates else 7
    fixed = PROCESS_BYTES + parameter_count(model, vocab_size) * FLOAT_BYTES * copies
    attention = 3 * 3 * model.heads * longest
    layer = 2 * (14 * model.units + 2 * model.hidden) + attention
    rows = 5 if precision == "float32" else 14
    return Estimate(fixed, FLOAT_BYTES * (model.layers * layer + rows * vocab_size))


def available_bytes(
    resident: int,
    environment: Mapping[str, str] | None = None,
    meminfo: Path = Path("/proc/meminfo"),
    cgroup: Path = Path("/sys/fs/cgroup"),
) -> int:
    """What this process may have in all: its `resident` bytes and what is free, within the control group's limit.

    CENTAVO_EMULATED_MEMORY_BYTES lowers it, for a node that stands for a smaller one.
    """
    free = [_meminfo_available(meminfo), _cgroup_available(cgroup)]
    known = [resident + room for room in free if room is not None]
    emulated = (os.environ if environment is None else environment).get(LIMIT_VARIABLE, "")
    if emulated.isdigit():
        known.append(int(emulated))
    return min(known) if known else 2**62


def resident_bytes() -> int:
    """What this process holds at the moment."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def shortage(needed: int, available: int) -> str | None:
    """Why a node is too small, with both numbers; None when it is not."""
    if needed <= available:
        return None
    return f"out of memory: the training needs about {_mib(needed)} MiB here and the node has {_mib(available)} MiB"


def is_scarce(resident: int, available: int) -> bool:
    """Whether a process nears what it may have, so that memory which it could use again is better given back."""
    return resident > SCARCE_ABOVE * available


def largest_share(requirement: Estimate, available: int, global_tokens: int) -> float | None:
    """The largest share of a global batch of `global_tokens` that fits, None when all of it does."""
    room = (available - requirement.fixed) / (requirement.per_token * global_tokens)
    return None if room >= 1 else max(0.0, room)


def _mib(amount: int) -> str:
    return f"{amount / 1024**2:,.0f}"


def _meminfo_available(path: Path) -> int | None:
    try:
        fields = dict(line.split(":", 1) for line in path.read_text().splitlines() if ":" in line)
        return int(fields["MemAvailable"].split()[0]) * 1024
    except (OSError, KeyError, ValueError, IndexError):
        return None


def _cgroup_available(directory: Path) -> int | None:
    try:
        limit = (directory / "memory.max").read_text().strip()
        return None if limit == "max" else int(limit) - int((directory / "memory.current").read_text())
    except (OSError, ValueError):
        return None
