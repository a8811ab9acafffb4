"""The console output of instances."""

from __future__ import annotations

import base64
from datetime import datetime, timezone
from pathlib import Path

from moto.core.responses import ActionResult
from moto.ec2.responses import EC2Response

from localcloud.api.ec2.console import console_of
from localcloud.api.patches.replace import replace
from localcloud.link.instance_dir import InstanceDir


def patch_console(state_dir: Path) -> None:
    """Lets GetConsoleOutput show what the host of an instance wrote."""

    def get_console_output(response: EC2Response) -> ActionResult:
        instance_id = response._get_param("InstanceId")
        response.ec2_backend.get_instance(instance_id)
        text = console_of(InstanceDir.of(state_dir, instance_id))
        encoded = base64.b64encode(text.encode()).decode()
        return ActionResult({"InstanceId": instance_id, "Output": encoded, "Timestamp": datetime.now(timezone.utc)})

    replace(EC2Response, "get_console_output", get_console_output)
