"""How long configuring 1, 5 and 50 nodes takes: the real Ansible over real SSH, the real roles, fresh nodes.

    python -m tests.bench.bench_configure [--nodes 1 5 50] [--output runs/bench/configure.json]

Each number of nodes has a cloud of its own on this machine, and `centavo configure` prepares its nodes for the first
time. The trainer is a stub, which is warm at once: what importing and warming up takes does not depend on the number
of nodes. Two figures of each: seconds, and the processor time of the controller's side, Ansible and SSH included. On
this machine all nodes share the processors with the controller. On EC2 each works on its own, so that the processor
time of the controller's side tells what more nodes cost.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import resource
import shutil
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.faults.edges.place import STUB
from tests.support.sandbox import Sandbox, edit_yaml, make_sandbox

ROOT = Path(__file__).resolve().parents[2]
FLAVOR = "c5.large"


def measure(nodes: int) -> dict[str, Any]:
    """Returns what configuring so many fresh nodes takes, the head besides."""
    with tempfile.TemporaryDirectory(prefix="centavo-configure-") as name, ExitStack() as stack:
        sandbox = make_sandbox(
            Path(name) / "checkout", stack, initial={FLAVOR: nodes}, speeds={FLAVOR: 0.1}, steps=1
        )  # fmt: skip
        _allow(sandbox, nodes)
        shutil.rmtree(sandbox.root / "trainer")
        shutil.copytree(STUB, sandbox.root / "trainer")
        sandbox.succeed("apply")
        used, began = _processor_s(), time.perf_counter()
        said = sandbox.succeed("configure")
        seconds, processor_s = time.perf_counter() - began, _processor_s() - used
        if not re.search(r"changed=[1-9]", said):
            raise SystemExit("The nodes were configured already: nothing was measured.")
        sandbox.succeed("destroy", "--delete-data")
    return {"nodes": nodes, "seconds": round(seconds, 1), "processor_s": round(processor_s, 1)}


def _allow(sandbox: Sandbox, nodes: int) -> None:
    """Lets the flavor have so many nodes, gives them time, and says where the stub takes its notes."""
    main = sandbox.environment / "main.tf"
    main.write_text(re.sub(r"max_nodes = \d+", f"max_nodes = {max(nodes, 12)}", main.read_text()))
    log = str(sandbox.root / "stub.log")
    edit_yaml(sandbox.environment / "training.yml", lambda it: it.update(stub={"log": log}))
    edit_yaml(
        sandbox.environment / "centavo.yml",
        lambda it: it["controller"]["timeouts"].update(configure_s=1800, boot_s=900),
    )


def _processor_s() -> float:
    """Returns the processor time of this process's children that have ended, theirs included, in seconds."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def show(found: list[dict[str, Any]]) -> None:
    """Prints the figures, beside those of the first number of nodes."""
    table = Table("nodes", "seconds", "to the first row", "processor time of the controller's side, s")
    for one in found:
        ratio = one["seconds"] / found[0]["seconds"]
        table.add_row(str(one["nodes"]), f"{one['seconds']:.1f}", f"{ratio:.2f}", f"{one['processor_s']:.1f}")
    Console().print(table)


def main() -> int:
    """Runs the bench. Returns 0: a time fails nothing."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, nargs="+", default=[1, 5, 50])
    parser.add_argument("--output", type=Path, default=ROOT / "runs" / "bench" / "configure.json")
    options = parser.parse_args()
    found = [measure(nodes) for nodes in options.nodes]
    show(found)
    options.output.parent.mkdir(parents=True, exist_ok=True)
    document = {"processors": os.cpu_count(), "configured": found}
    options.output.write_text(json.dumps(document, indent=2) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
