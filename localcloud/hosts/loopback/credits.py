"""The account of CPU credits of a host, as the trainer's `CENTAVO_EMULATED_CREDITS` describes it."""

from __future__ import annotations

import json
import time
from pathlib import Path

from localcloud.link.spec import HostSpec
from localcloud.support.files import write_atomically


def open_account(path: Path, spec: HostSpec, now: float | None = None) -> None:
    """Writes the account that a fresh host has, if it has one. After a reboot the account is what it was.

    Args:
        path: The file of the account.
        spec: The host.
        now: Seconds since the epoch; None: the clock's.
    """
    if spec.credits is None or path.exists():
        return
    account = {
        "vcpus": spec.vcpus,
        "credits_per_hour": spec.credits.per_hour,
        "unlimited": spec.credits.unlimited,
        "balance": spec.credits.launch,
        "surplus": 0.0,
        "at": time.time() if now is None else now,
    }
    write_atomically(path, json.dumps(account) + "\n")
