"""`python -m warden head|worker --config FILE`: the dead man's switch of a node, as a service."""

from __future__ import annotations

import argparse
import os
import sys
from datetime import datetime, timezone
from pathlib import Path

from .admitting.keys import Door
from .bucket import Bucket
from .clock import since_boot_s
from .groups import Groups
from .head import HeadDuty
from .node import Node, SettingsError, read_settings
from .service import Duty, Warden
from .worker import WorkerDuty

NICENESS = 10


def main(arguments: list[str] | None = None) -> int:
    """Watches until the node ends. Returns 1 where the settings cannot be used."""
    parser = argparse.ArgumentParser(prog="warden", description="Gives a cluster back that nobody owns any more.")
    parser.add_argument("role", choices=["head", "worker"], help="what this node is")
    parser.add_argument("--config", type=Path, required=True, metavar="FILE", help="the node's settings (JSON)")
    options = parser.parse_args(arguments)
    try:
        settings = read_settings(options.config)
    except SettingsError as error:
        tell(str(error))
        return 1
    os.nice(NICENESS)
    node, bucket = Node(settings, tell), Bucket(settings.cluster, settings.bucket, settings.region)
    groups = Groups(settings.region, tell)
    duty: Duty = HeadDuty(node, bucket, groups, tell) if options.role == "head" else WorkerDuty(node, groups, tell)
    tell(f"watching over {settings.cluster} as its {options.role} {settings.instance_id}")
    door = Door(bucket, Path.home() / ".ssh" / "authorized_keys", tell, since_boot_s)
    Warden(bucket, duty, tell, door=door).run()
    return 0


def tell(message: str) -> None:
    """Writes a line of the log."""
    now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    print(f"{now} {message}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
