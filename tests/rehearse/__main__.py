"""Rehearses `ENV=aws` on machines of this computer: plan, apply, configure, train, move, lose a node, end, destroy.

    python -m tests.rehearse [--detached | --baked] [--keep] [--output runs/bench/rehearsal.json]

With `--detached` the run is handed to the head, and what the person's machine had of it is deleted. With `--baked`
Packer makes an image first, of which all nodes are then: it shows how long after their launch they are warm.

It needs root on Linux, and the Debian packages that `python -m localcloud up --hosts machine` asks for.
The files of terraform/environments/aws are used as they are. Endpoints, the number and the types of nodes and a small
training come from environment variables, which are printed first. The exit status is 0 when all steps have succeeded.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.rehearse.baked import BakedRehearsal
from tests.rehearse.detached import DetachedRehearsal
from tests.rehearse.place import make_place
from tests.rehearse.scenes import Rehearsal
from tests.support.sandbox import REPOSITORY

DEFAULT_OUTPUT = REPOSITORY / "runs" / "bench" / "rehearsal.json"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command and returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests.rehearse", description=(__doc__ or "").splitlines()[0])
    kind = parser.add_mutually_exclusive_group()
    kind.add_argument("--detached", action="store_true", help="hand the run to a controller on the head")
    kind.add_argument("--baked", action="store_true", help="make an image with Packer first, for all nodes")
    parser.add_argument(
        "--keep", action="store_true", help="keep the copy of the checkout, with all output, afterwards"
    )
    parser.add_argument("--output", type=Path, default=DEFAULT_OUTPUT)
    options = parser.parse_args(arguments)
    if sys.platform != "linux" or os.geteuid() != 0:
        print(
            "make rehearse boots machines, which takes root on Linux. Run it as root: sudo make rehearse",
            file=sys.stderr,
        )
        return 1
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))  # the cloud is taken down, too
    folder = Path(tempfile.mkdtemp(prefix="centavo-rehearsal-"))
    try:
        place = make_place(folder / "checkout")
        print("From outside of the files of terraform/environments/aws:")
        for name, value in sorted(place.variables.items()):
            print(f"  {name}={value}")
        rehearsal = DetachedRehearsal if options.detached else BakedRehearsal if options.baked else Rehearsal
        outcome = rehearsal(place, folder, time.monotonic()).run()
    finally:
        if options.keep:
            print(f"Kept: {folder}")
        else:
            shutil.rmtree(folder, ignore_errors=True)
    outcome.write(options.output)
    outcome.show()
    return 0 if outcome.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
