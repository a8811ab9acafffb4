"""How soon after its launch a machine's worker was warm, as the worker's own log says.

The controller's time is longer: it looks from time to time, and has Ansible look before it counts a node as prepared.
"""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

READY = re.compile(r"^(\d\d:\d\d:\d\d) .*: warm: ready to join$", re.MULTILINE)


def warm_after(machines: Path, instance: Mapping[str, Any]) -> str:
    """Returns how long the worker of an instance took, in words.

    Args:
        machines: The folder of the cloud's machines.
        instance: The instance as EC2 describes it.
    """
    identity, flavor, launched = instance["InstanceId"], instance["InstanceType"], instance["LaunchTime"]
    logs = sorted((machines / identity / "root").glob("home/*/centavo/log/worker.log"))
    found = READY.search(logs[0].read_text(encoding="utf-8")) if logs else None
    if found is None:
        return f"{flavor}: its worker has not said that it is warm"
    at = datetime.time.fromisoformat(found[1])
    seconds = (
        datetime.timedelta(hours=at.hour, minutes=at.minute, seconds=at.second)
        - datetime.timedelta(hours=launched.hour, minutes=launched.minute, seconds=launched.second)
    ).seconds
    return f"{flavor}: its worker was warm {seconds} s after the launch"
