"""All corrections at once."""

from __future__ import annotations

from localcloud.api.patches.corrections.alarms import correct_alarms
from localcloud.api.patches.corrections.functions import correct_functions
from localcloud.api.patches.corrections.instances import correct_instances
from localcloud.api.patches.corrections.launch_templates import correct_launch_templates
from localcloud.api.patches.corrections.logs import correct_logs
from localcloud.api.patches.corrections.network import correct_network
from localcloud.api.patches.corrections.s3 import correct_s3


def correct_moto() -> None:
    """Applies all corrections. It is called once in a process."""
    correct_alarms()
    correct_functions()
    correct_instances()
    correct_launch_templates()
    correct_logs()
    correct_network()
    correct_s3()
