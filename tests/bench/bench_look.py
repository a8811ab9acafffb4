"""How long a look at hundreds of nodes takes: with their reports on the head, and when each node is asked itself.

    python -m tests.bench.bench_look [--nodes 200 1000] [--asked-nodes 200] [--looks 3] [--output runs/bench/look.json]

The nodes are SSH servers on loopback, each with a folder and an iteration fact of its own, and no training. All of them
run in this process, so that their processor time counts too. The look is the controller's: the real Ansible, the real
SSH, the facts checked. *Before* is a look without reports: every node is asked. *After* has the file on the head that
the launcher writes, kept fresh by the trainer's own writer. The connections over which the reports come are not there;
what a report costs the launcher is measured by itself.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import resource
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import median
from typing import Any

from controller.domain import HeadSeen, Instance, LauncherState
from controller.edges.ansible import Ansible, Outcome
from controller.observe.asking import Asking
from controller.observe.facts import LocalFacts, read_facts
from tests.support.ssh_hosts import SshHosts
from trainer.launch.node import Node
from trainer.launch.node_reports import INTERVAL_S, Report, ReportsWriter
from trainer.node.fact import RankFigures, State
from trainer.node.fact_writer import FactWriter
from trainer.node.metadata import Instance as Metadata

ROOT = Path(__file__).resolve().parents[2]
CENTAVO = {"fact_path": "~/facts.d", "root": "~/c", "run": "R", "program": ""}
FACT_MAX_AGE_S = 24 * 3600.0
MOST_S = {200: 10.0, 1000: 60.0}
"""By the number of nodes, how long a look may take."""
MESSAGES = 20_000


class ReportingNode:
    """A node as the launcher sees it, which has reported just now."""

    def __init__(self, instance: Instance, fact: str) -> None:
        self.address, self._fact = str(instance.private_ip), fact

    @property
    def report(self) -> Report:
        now = time.time()
        return Report(self._fact, now, now)


class Bench:
    """Nodes with facts, and a controller that looks at them."""

    def __init__(self, directory: Path, nodes: int) -> None:
        self.hosts = SshHosts(directory)
        self.head = self.hosts.answering("i-head")
        self.workers = [self.hosts.answering(f"i-{number:05}") for number in range(nodes)]
        self._facts = {worker.instance_id: self._written(worker, rank) for rank, worker in enumerate(self.workers)}
        self._ansible = Ansible(ROOT, directory / "run", lambda: False)
        self.asked = 0

    def _written(self, worker: Instance, rank: int) -> str:
        """Writes the fact of a rank that trains, and returns it."""
        folder = self.hosts.homes[worker.instance_id] / "facts.d"
        writer = FactWriter(folder, Metadata(worker.instance_id, worker.flavor), emulated_speed=None, clock=time.time)
        size = len(self.hosts.instances) - 1
        writer.figures = RankFigures(
            rank=rank, world_size=size, step=1480, iteration_time_s=0.4 + rank / 1e5, compute_time_s=0.3 + rank / 1e5,
            samples=64.0, tokens=2710.0, window=50, total_steps=3000, total_tokens=4_000_000, loss=1.9, share=1 / size,
        )  # fmt: skip
        writer.announce(State.TRAINING)
        return (folder / "iteration.fact").read_text()

    @contextlib.contextmanager
    def reporting(self) -> Iterator[None]:
        """Lets every node's report be on the head, and be fresh, while inside."""
        done, nodes = threading.Event(), [ReportingNode(w, self._facts[w.instance_id]) for w in self.workers]
        writer = ReportsWriter(self.hosts.homes["i-head"] / "facts.d")

        def keep_fresh() -> None:
            while not done.is_set():
                writer.update(nodes)
                done.wait(INTERVAL_S)

        writing = threading.Thread(target=keep_fresh)
        writing.start()
        try:
            yield
        finally:
            done.set()
            writing.join()

    def look(self, asking: Asking) -> int:
        """Looks as the controller does. Returns how many facts could be trusted."""
        self.asked = 0
        outcome = asking.ask(self.head, self.workers, self._ask)
        local = LocalFacts(outcome.local_facts, outcome.failures)
        facts, _ = read_facts(tuple(self.workers), local, now=time.time(), max_age_s=FACT_MAX_AGE_S)
        return len(facts)

    def _ask(self, instances: Any) -> Outcome:
        """Asks nodes. On the head no launcher runs; the look is told that it does."""
        self.asked += len(instances)
        outcome = self._ansible.read_local_facts(self.hosts.access, instances, {"centavo": CENTAVO})
        if outcome.head is not None:
            outcome.head = HeadSeen(LauncherState.RUNNING)
        return outcome


def measured(look: Callable[[], int], looks: int, asked: Callable[[], int]) -> dict[str, Any]:
    """Returns the medians of what looks took: seconds, and seconds of processor time of all processes here."""
    wall, processor, facts = [], [], 0
    for _ in range(looks):
        began, used = time.perf_counter(), processor_s()
        facts = look()
        wall.append(time.perf_counter() - began)
        processor.append(processor_s() - used)
    return {
        "look_s": round(median(wall), 2),
        "processor_s": round(median(processor), 2),
        "asked": asked(),
        "facts": facts,
    }


def processor_s() -> float:
    """Returns the processor time of this process and of those of its children that have ended, in seconds."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def bench(nodes: int, looks: int, asks_all: bool) -> dict[str, Any]:
    """Returns what a look at so many nodes takes, before and after."""
    with tempfile.TemporaryDirectory(prefix="look") as directory:
        one = Bench(Path(directory), nodes)
        with one.hosts:
            found: dict[str, Any] = {"nodes": nodes, "most_s": MOST_S.get(nodes)}
            if asks_all:
                one.look(Asking())  # the first look connects, and later ones share its connections
                found["before"] = measured(lambda: one.look(Asking()), looks, lambda: one.asked)
            with one.reporting():
                asking = Asking(frozenset(worker.instance_id for worker in one.workers))
                one.look(asking)
                found["after"] = measured(lambda: one.look(asking), looks, lambda: one.asked)
                found["file_bytes"] = (one.hosts.homes["i-head"] / "facts.d" / "nodes.json.gz").stat().st_size
    if asks_all:
        found["ratio"] = {
            name: round(found["before"][name] / found["after"][name], 1) for name in ("look_s", "processor_s")
        }
    return found


def report_cost_us() -> float:
    """Returns the processor time that a report costs the launcher when it comes, in microseconds."""
    fact = json.dumps({"instance_id": "i-00001", "state": "training", "pad": "x" * 500})
    line = json.dumps({"event": "report", "clock": time.time(), "fact": fact}).encode() + b"\n"
    with tempfile.TemporaryDirectory(prefix="look") as directory:
        file = Path(directory) / "lines"
        file.write_bytes(line * MESSAGES)
        used = time.process_time()
        node = Node("10.0.0.1", ["sh", "-c", f"cat {file} >&2"], io.StringIO())
        node.wait(600)
    return round(1e6 * (time.process_time() - used) / MESSAGES, 1)


def main() -> int:
    """Looks, and prints and keeps what it took; 1 where a look takes too long or misses a fact."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[200, 1000])
    parser.add_argument("--asked-nodes", type=int, default=200, help="the most nodes that are all asked, too")
    parser.add_argument("--looks", type=int, default=3)
    parser.add_argument("--output", type=Path, default=Path("runs/bench/look.json"))
    options = parser.parse_args()
    results = [bench(nodes, options.looks, nodes <= options.asked_nodes) for nodes in options.nodes]
    document = {
        "processors": os.cpu_count(),
        "load_1_min": round(os.getloadavg()[0], 1),
        "report_us": report_cost_us(),
        "looks": results,
    }
    print(json.dumps(document, indent=2))
    options.output.parent.mkdir(parents=True, exist_ok=True)
    options.output.write_text(json.dumps(document, indent=2) + "\n")
    return int(any(_fails(result) for result in results))


def _fails(result: dict[str, Any]) -> bool:
    looks = [result[name] for name in ("before", "after") if name in result]
    is_late = result["most_s"] is not None and result["after"]["look_s"] > result["most_s"]
    return is_late or any(look["facts"] < result["nodes"] for look in looks)


if __name__ == "__main__":
    sys.exit(main())
