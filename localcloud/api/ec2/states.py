"""The states of an EC2 instance."""

from __future__ import annotations

from moto.ec2.models.instances import Instance, InstanceState

PENDING = "pending"
RUNNING = "running"
SHUTTING_DOWN = "shutting-down"
TERMINATED = "terminated"
STOPPING = "stopping"
STOPPED = "stopped"

CODES = {PENDING: 0, RUNNING: 16, SHUTTING_DOWN: 32, TERMINATED: 48, STOPPING: 64, STOPPED: 80}
"""https://docs.aws.amazon.com/AWSEC2/latest/APIReference/API_InstanceState.html"""


def state_of(instance: Instance) -> str:
    """Returns the name of an instance's state."""
    return str(instance._state.name)


def enter(instance: Instance, state: str) -> None:
    """Puts an instance into a state."""
    instance._state = InstanceState(state, CODES[state])
