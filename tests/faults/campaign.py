"""Running the layers: every single fault, then pairs that are drawn at random, in a few processes."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import cast

from tests.faults.fault import Fault, Layer, Result

LAYERS = ("tests.faults.simulation.layer", "tests.faults.edges.layer", "tests.faults.training")
CHUNK = 8


def layer_of(module: str) -> Layer:
    """Returns a layer by its module."""
    return cast(Layer, importlib.import_module(module))


def faults_of(module: str, seeds: Sequence[int]) -> list[Fault]:
    """Returns all single faults of a layer, and the pairs that these seeds draw."""
    layer = layer_of(module)
    drawn = (layer.pair(seed) for seed in seeds)
    return [*layer.singles(), *(fault for fault in drawn if fault is not None)]


def run_all(module: str, faults: Iterable[Fault], told: Callable[[Result], None] = lambda result: None) -> list[Result]:
    """Runs with each fault of a layer. Returns the results in the faults' order."""
    results = []
    for result in _results(module, list(faults)):
        told(result)
        results.append(result)
    return results


def run_one(module: str, fault: Fault) -> Result:
    """Runs with one fault. A fault of several that violates is shrunk to one of them that does alone."""
    layer = layer_of(module)
    result = layer.run(fault)
    if result.violations:
        for single in layer.smaller(fault):
            alone = layer.run(single)
            if alone.violations:
                return replace(alone, fault=replace(alone.fault, kind=fault.kind), told=())
    return replace(result, told=())


def _results(module: str, faults: list[Fault]) -> Iterator[Result]:
    processes = layer_of(module).PROCESSES
    if processes == 1:
        yield from (run_one(module, fault) for fault in faults)
        return
    with ProcessPoolExecutor(processes, get_context("fork")) as pool:
        yield from pool.map(run_one, [module] * len(faults), faults, chunksize=CHUNK)
