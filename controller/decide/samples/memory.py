"""Which flavors are too small for the training, by what the nodes that train have needed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import median_low

from controller.decide.settings import DecideSettings
from controller.domain import Observation, TrainingState
from controller.domain.memory import MemoryNeed, memory_shortage
from controller.domain.reasons.flavors import MemoryTooSmall


def too_small(observations: Sequence[Observation], settings: DecideSettings) -> dict[str, MemoryTooSmall]:
    """Returns the flavors whose memory can't hold the training, each with the reason; none before anything trains.

    A flavor of which a node trains is never among them.
    """
    if all(flavor.memory_bytes is None for flavor in settings.flavors.values()):
        return {}
    peaks = peak_bytes(observations, settings.minimum_window)
    need = measured_need(peaks)
    shortages = {
        name: memory_shortage(flavor.memory_bytes, need, settings.reserved_memory_mib)
        for name, flavor in settings.flavors.items()
        if name not in peaks
    }
    return {name: shortage for name, shortage in shortages.items() if shortage is not None}


def measured_need(peaks: Mapping[str, int]) -> MemoryNeed | None:
    """Returns what the training needs, by the peaks of the flavors that train; None where none does.

    It is the smallest peak. Every worker holds the same model, and where ranks have unequal parts of a batch, the
    smallest part is what a small node gets.
    """
    return MemoryNeed(min(peaks.values()), is_measured=True) if peaks else None


def peak_bytes(observations: Sequence[Observation], minimum_window: int) -> dict[str, int]:
    """Returns by flavor the most memory that a worker has held, as the median over the flavor's nodes.

    The facts of nodes count that have trained for `minimum_window` steps. By the median, one node with a wrong figure
    changes nothing where others of its flavor train.
    """
    nodes: dict[str, dict[str, int]] = {}
    for observation in observations:
        for fact in observation.facts:
            if fact.peak_memory_bytes and fact.state is TrainingState.TRAINING and fact.window >= minimum_window:
                peaks = nodes.setdefault(fact.flavor, {})
                peaks[fact.instance_id] = max(fact.peak_memory_bytes, peaks.get(fact.instance_id, 0))
    return {flavor: median_low(peaks.values()) for flavor, peaks in nodes.items()}
