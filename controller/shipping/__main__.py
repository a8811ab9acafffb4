"""Ships the logs of this node until it is asked to end: `python -m shipping`."""

from __future__ import annotations

import argparse
import signal
import sys
import threading
import time
from functools import partial
from pathlib import Path

from .node_logs import node_logs
from .sending import CloudWatch, connect
from .shipper import Shipper

STATE_FILE = "shipped.json"


def main() -> int:
    """Ships until SIGTERM, and once more then. Returns the exit code."""
    options = _parser().parse_args()
    ends = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: ends.set())
    shipper = Shipper(
        node_logs(options.root, options.fact, options.run, options.instance),
        CloudWatch(options.group, partial(connect, options.region)),
        options.root / STATE_FILE,
        time.time,
        _tell,
    )
    while not ends.is_set():
        shipper.go()
        ends.wait(options.every)
    shipper.go()
    return 0


def _tell(message: str) -> None:
    print(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), message, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m shipping", description=__doc__)
    parser.add_argument("--group", required=True, help="the log group of the cluster")
    parser.add_argument("--region", help="the region of the log group")
    parser.add_argument("--run", required=True, help="the run that the node works for")
    parser.add_argument("--instance", required=True, help="the id of this instance")
    parser.add_argument("--root", type=Path, required=True, help="the folder of all that Centavo has on this node")
    parser.add_argument("--fact", type=Path, required=True, help="the iteration fact of this node's rank")
    parser.add_argument("--every", type=float, default=2.0, help="seconds between two looks at the logs")
    return parser


if __name__ == "__main__":
    sys.exit(main())
