"""The kinds of nights, and within what time the money has to stop in each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

from controller.warden.waits import Waits
from controller.words.going_away import longest_s
from tests.nights.night import NIGHT_S, Faults, Night

LATEST_S = 3 * 3600.0
"""Until then the fault has begun, so that the longest wait ends in the same night."""


@dataclass(frozen=True)
class Kind:
    """A kind of night.

    Attributes:
        name: What happens, in words.
        faults: Draws what fails; gets the time at which it begins.
        workers: Who is the last that has to end the workers, as `going_away` names them; None where nobody may fire.
        everything: The same for the whole cluster.
    """

    name: str
    faults: Callable[[Random, float, Waits], Faults]
    workers: str | None
    everything: str | None


def _outages(random: Random, waits: Waits) -> tuple[tuple[float, float], ...]:
    """Returns short times at which nobody reaches the bucket. A lease outlives them."""
    begins = [random.uniform(0, NIGHT_S) for _ in range(6)]
    return tuple((begin, begin + random.uniform(1, waits.lease_s / 4)) for begin in begins)


def _one_outage(random: Random, begin_s: float, waits: Waits) -> tuple[tuple[float, float], ...]:
    """Returns a time at which nobody reaches the bucket, and that no lease outlives."""
    return ((begin_s, begin_s + random.uniform(1, 1.5) * waits.lease_s),)


KINDS = (
    Kind("nothing fails, but the bucket now and then", lambda r, t, w: Faults(outages=_outages(r, w)), None, None),
    Kind(
        "nobody reaches the bucket for longer than a lease",
        lambda r, t, w: Faults(outages=_one_outage(r, t, w)),
        None,
        None,
    ),
    Kind(
        "the controller crashes again and again",
        lambda r, t, w: Faults(crashes_from_s=t, steps_end_s=t),
        "stalled",
        "stalled",
    ),
    Kind("the run waits for capacity", lambda r, t, w: Faults(waits_from_s=t, outages=_outages(r, w)), None, None),
    Kind(
        "the controller dies while the run waits for capacity",
        lambda r, t, w: Faults(controller_dies_s=t, waits_from_s=t * r.random()),
        "head",
        "head",
    ),
    Kind("the controller dies", lambda r, t, w: Faults(controller_dies_s=t), "head", "head"),
    Kind(
        "the controller and the head die",
        lambda r, t, w: Faults(controller_dies_s=t, head_dies_s=t * r.random()),
        "workers",
        "reaper",
    ),
    Kind(
        "the controller and the head die, and AWS refuses the workers",
        lambda r, t, w: Faults(controller_dies_s=t, head_dies_s=t, workers_are_refused_s=0),
        "reaper",
        "reaper",
    ),
    Kind(
        "the controller dies, and the head cannot read the bucket",
        lambda r, t, w: Faults(controller_dies_s=t, head_is_cut_off_s=t),
        "reaper",
        "reaper",
    ),
    Kind(
        "the controller dies, and the head's clock is off",
        lambda r, t, w: Faults(controller_dies_s=t, head_is_refused_s=t * r.random()),
        "reaper",
        "reaper",
    ),
    Kind(
        "the controller dies, and the function fails",
        lambda r, t, w: Faults(controller_dies_s=t, reaper_fails_until_s=NIGHT_S),
        "head",
        "head",
    ),
    Kind(
        "the controller and the head die, and the function fails",
        lambda r, t, w: Faults(controller_dies_s=t, head_dies_s=t, reaper_fails_until_s=NIGHT_S),
        "workers",
        None,
    ),
    Kind("no step is made, and the controller lives", lambda r, t, w: Faults(steps_end_s=t), "stalled", "stalled"),
    Kind(
        "the training ends, and the controller hangs",
        lambda r, t, w: Faults(training_ends_s=t, controller_dies_s=t, renews_anyway=True),
        "ended",
        "ended",
    ),
)


def draw_waits(random: Random) -> Waits:
    """Returns waits that the settings allow."""
    lease_s = random.uniform(60, 1800)
    worker_s = lease_s + random.uniform(60, 3600)
    return Waits(
        lease_s=lease_s,
        ended_s=random.uniform(60, 3600),
        stalled_s=random.uniform(1800, 7200),
        worker_s=worker_s,
        reaper_s=worker_s + random.uniform(0, 7200),
    )


@dataclass(frozen=True)
class Outcome:
    """How a night went.

    Attributes:
        ran_s: How long workers went on after the fault had begun; 0 where none began.
        cost_usd: What everything has cost since.
        said_usd: What it was said to cost at most.
        wrong: What is wrong, in words; empty where nothing is.
    """

    kind: Kind
    night: Night
    ran_s: float
    cost_usd: float
    said_usd: float
    wrong: str


def play(seed: int) -> Outcome:
    """Plays the night of a seed. The seed decides everything."""
    random, kind = Random(seed), KINDS[seed % len(KINDS)]
    waits, begin_s = draw_waits(random), random.uniform(0, LATEST_S)
    night = Night(seed, waits, kind.faults(random, begin_s, waits))
    night.play()
    if kind.workers is None:
        wrong = f"it fired: {night.fired[0]}" if night.fired else ""
        return Outcome(kind, night, 0.0, 0.0, 0.0, wrong)
    longest = longest_s(waits, reaper=True)
    ran_s, all_ran_s = night.workers_end_s - begin_s, night.all_end_s - begin_s
    wrong = ""
    if ran_s > longest[kind.workers]:
        wrong = f"workers ran for {ran_s:.0f} s, said were {longest[kind.workers]:.0f} s"
    elif kind.everything is not None and all_ran_s > longest[kind.everything]:
        wrong = f"something ran for {all_ran_s:.0f} s, said were {longest[kind.everything]:.0f} s"
    usd_per_hour = sum(node.usd_per_hour for node in night.nodes)
    said_s = NIGHT_S - begin_s if kind.everything is None else longest[kind.everything]
    cost, said = night.cost_after_usd(begin_s), said_s * usd_per_hour / 3600
    return Outcome(
        kind, night, ran_s, cost, said, wrong or (f"it cost ${cost:.4f}, said were ${said:.4f}" if cost > said else "")
    )
