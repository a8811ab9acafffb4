"""The commands of the trainer that a run needs.

The controller calls `memory`. The playbooks call `warm` on workers and `launch` on the head, and SSH calls `attach`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from .attach import attach
from .launcher import Launcher
from .notes import read_settings
from .worker import Worker

NEEDED_BYTES = 1 << 20
"""The memory that the stub says a worker needs: less than any flavor has."""


def main() -> int:
    """Runs a command. Returns its exit code."""
    parser = argparse.ArgumentParser(prog="python -m trainer")
    commands = parser.add_subparsers(required=True, dest="command")
    warm = commands.add_parser("warm")
    warm.add_argument("--socket", type=Path, required=True)
    attached = commands.add_parser("attach")
    attached.add_argument("--socket", type=Path, required=True)
    attached.add_argument("--fact-path", type=Path)  # only the real trainer reports the fact to the launcher
    launch = commands.add_parser("launch")
    for name in ("--hosts-file", "--results", "--ssh-identity-file", "--ssh-config"):
        launch.add_argument(name, type=Path, required=True)
    for name in ("--network-interface", "--ssh-port", "--min-np", "--max-np", "--attach-command"):
        launch.add_argument(name, required=True)
    memory = commands.add_parser("memory")
    for command in (warm, launch, memory):
        command.add_argument("--config", type=Path, required=True)
    for command in (warm, launch):
        command.add_argument("--wanted-file", type=Path, required=True)
    options = parser.parse_args()
    if options.command == "attach":
        return attach(options.socket)
    if options.command == "memory":
        print(json.dumps({"needed_bytes": NEEDED_BYTES}))
        return 0
    if not options.wanted_file.exists():
        return 0
    settings = read_settings(options.config)
    if options.command == "warm":
        return Worker(settings, options.wanted_file).run(options.socket)
    return Launcher(settings, options).run()


if __name__ == "__main__":
    sys.exit(main())
