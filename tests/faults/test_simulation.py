"""Every single fault of the simulated world heals, or ends the run, and violates no invariant.

Of the 3,400 faults, one in eight of each kind is run, and all of them where CI=true. `make faults` runs all, and pairs.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing import get_context

import pytest

from tests.faults.campaign import run_one
from tests.faults.fault import Fault, Result
from tests.faults.simulation import layer
from tests.faults.simulation.scenarios import SCENARIOS
from tests.faults.table import violations
from tests.support.sampling import sample

Group = tuple[str, str]
LEAST_FAULTS = 950
MODULE = layer.__name__
ONE_IN = 8


def group_of(fault: Fault) -> Group:
    """Returns the scenario of a fault, and whether it is one of a call or an event."""
    scenario, where, _ = fault.name.split("/")
    return scenario, "events" if where in SCENARIOS[scenario].phases else "calls"


def run_chunk(faults: list[Fault]) -> list[Result]:
    """Runs with a few faults, one after the other."""
    return [run_one(MODULE, fault) for fault in faults]


@pytest.fixture(scope="module")
def results() -> Iterator[dict[Group, list[Future[list[Result]]]]]:
    """Single faults, on their way in two processes."""
    groups: dict[Group, list[Fault]] = {}
    for fault in sample(layer.singles(), lambda fault: fault.kind, ONE_IN):
        groups.setdefault(group_of(fault), []).append(fault)
    with ProcessPoolExecutor(layer.PROCESSES, get_context("fork")) as pool:
        yield {
            group: [pool.submit(run_chunk, [*lane]) for lane in layer.lanes(faults)] for group, faults in groups.items()
        }
        pool.shutdown(cancel_futures=True)


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("kind", ["calls", "events"])
@pytest.mark.parametrize("scenario", sorted(SCENARIOS))
def test_every_single_fault_heals_or_ends_the_run(
    scenario: str, kind: str, results: dict[Group, list[Future[list[Result]]]]
) -> None:
    done = [result for future in results[scenario, kind] for result in future.result()]
    found = [line for result in done for line in violations([result])]
    assert not found, f"{len(found)} violations; `make faults` shows each again:\n" + "\n".join(found)
    # A start ends with the launcher's start, and many events come only later in it: they don't happen.
    assert sum(result.has_happened for result in done) > 0.4 * len(done)


def test_there_are_enough_single_faults() -> None:
    assert len(layer.singles()) >= LEAST_FAULTS
    assert len({fault.name for fault in layer.singles()}) == len(layer.singles())


def test_what_lasts_takes_more_passes_to_heal_than_what_happens_once() -> None:
    once, lasting = (layer.run(Fault(f"disjoint/desired-6/fail-{how}", "desired")) for how in ("before", "always"))
    assert once.heal_passes is not None and lasting.heal_passes is not None
    assert 0 < once.heal_passes < lasting.heal_passes


def test_a_pair_is_drawn_by_its_seed_alone() -> None:
    assert layer.pair(7) == layer.pair(7) != layer.pair(8)


def test_a_fault_that_does_not_exist_is_named() -> None:
    with pytest.raises(LookupError, match="no fault 'nonsense'"):
        layer.planned_of("nonsense")
