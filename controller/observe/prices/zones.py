"""What the ranks of a training pay for traffic between availability zones, as EC2 and their facts tell."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from statistics import median

from controller.domain import SECONDS_PER_HOUR, Fact, Instance, Observation, Price, TrainingState
from controller.domain.prices.traffic import (
    BYTES_PER_GB,
    USD_PER_ZONES_GB,
    ZONES_GB,
    expected_bytes,
    ring_bytes,
    squares_of,
)


def usd_per_zones_gb(prices: Mapping[str, Price]) -> float:
    """Returns the US dollars of each GB that crosses from one zone to another."""
    return prices[ZONES_GB].usd_per_hour if ZONES_GB in prices else USD_PER_ZONES_GB


def nodes_by_zone(workers: Collection[Instance]) -> dict[str, int]:
    """Returns by availability zone how many of the workers run there, as far as their zones are known."""
    return dict(sorted(Counter(worker.zone for worker in workers if worker.is_running and worker.zone).items()))


def traffic_usd_per_hour(observation: Observation, workers: Collection[Instance], usd_per_gb: float) -> float:
    """Returns the US dollars an hour of the gradients that cross zones.

    Of a trainer whose facts do not tell the size of the gradients, nothing is known, and nothing is counted.
    """
    zones = {worker.instance_id: worker.zone for worker in workers}
    found = [
        (fact, str(zones[fact.instance_id]), fact.iteration_time_s, fact.gradient_bytes)
        for fact in observation.facts
        if fact.state is TrainingState.TRAINING and zones.get(fact.instance_id)
    ]
    steps_s = [step_s for _, _, step_s, _ in found if step_s]
    sizes = [size for *_, size in found if size]
    if len({zone for _, zone, *_ in found}) < 2 or not steps_s or not sizes:
        return 0.0
    crossing = _bytes_per_step([(fact, zone) for fact, zone, *_ in found], float(max(sizes)))
    return crossing / BYTES_PER_GB * usd_per_gb / median(steps_s) * SECONDS_PER_HOUR


def _bytes_per_step(ranks: Sequence[tuple[Fact, str]], gradient_bytes: float) -> float:
    """Returns how many bytes cross zones in a step.

    Horovod's ring goes from rank to rank. Where not all ranks report, the others are taken to be in the same zones as
    those that do, and in a random order.
    """
    by_rank = {fact.rank: zone for fact, zone in ranks}
    size = max(fact.world_size or 0 for fact, _ in ranks)
    if len(ranks) == size and by_rank.keys() == set(range(size)):
        return ring_bytes([by_rank[rank] for rank in range(size)], gradient_bytes)
    size = max(size, len(ranks))
    share = size / len(ranks)
    nodes = Counter(zone for _, zone in ranks)
    return expected_bytes(size, squares_of(share * count for count in nodes.values()), gradient_bytes)
