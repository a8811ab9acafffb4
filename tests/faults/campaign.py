"""Running the layers: every single fault, then pairs that are drawn at random, in a few processes or threads."""

from __future__ import annotations

import importlib
import queue
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from typing import cast

from tests.faults.fault import Fault, Layer, Result

LAYERS = ("tests.faults.simulation.layer", "tests.faults.edges.layer", "tests.faults.training")


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
    wanted, results = list(faults), {}
    for fault, result in _results(module, wanted):
        told(result)
        results[fault] = result
    return [results[fault] for fault in wanted]


def run_one(module: str, fault: Fault) -> Result:
    """Runs with one fault. A fault of several that violates is shrunk to one of them that does alone."""
    layer = layer_of(module)
    result = layer.run(fault)
    if result.violations:
        for single in layer.smaller(fault):
            alone = layer.run(single)
            if alone.violations:
                return replace(alone, fault=replace(alone.fault, kind=fault.kind))
    return result if result.violations else replace(result, told=())


def _results(module: str, faults: list[Fault]) -> Iterator[tuple[Fault, Result]]:
    layer = layer_of(module)
    lanes = [lane for lane in layer.lanes(faults) if lane]
    if layer.PROCESSES == 1:
        yield from _in_threads(module, lanes)
        return
    with ProcessPoolExecutor(layer.PROCESSES, get_context("fork")) as pool:
        for lane, results in zip(lanes, pool.map(_run_lane, [module] * len(lanes), lanes), strict=True):
            yield from zip(lane, results, strict=True)


def _run_lane(module: str, lane: Sequence[Fault]) -> list[Result]:
    return [run_one(module, fault) for fault in lane]


def _in_threads(module: str, lanes: Sequence[Sequence[Fault]]) -> Iterator[tuple[Fault, Result]]:
    """Runs lanes side by side, in threads that end with this process. Each fault is told as soon as it is over."""
    done: queue.Queue[tuple[Fault, Result] | BaseException] = queue.Queue()

    def go(lane: Sequence[Fault]) -> None:
        try:
            for fault in lane:
                began = time.monotonic()
                result = run_one(module, fault)
                took_s, seen = time.monotonic() - began, "VIOLATED" if result.violations else "held"
                print(f"{fault.name:<40}{took_s:6.1f} s  {seen}", file=sys.stderr, flush=True)
                done.put((fault, result))
        except BaseException as error:
            done.put(error)

    for lane in lanes:
        threading.Thread(target=go, args=(lane,), daemon=True).start()
    for _ in range(sum(len(lane) for lane in lanes)):
        result = done.get()
        if isinstance(result, BaseException):
            raise result
        yield result
