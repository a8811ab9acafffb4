"""A small world behind the controller's four edges: EC2, Terraform, Ansible and SSH, and a training that goes on.

Its clock moves only when the controller waits or acts, so that hours pass in milliseconds. It is as cruel as EC2: nodes
are lost and replaced, workers that leave exit, calls hang, locks stay. It refuses what must never happen.
"""

from tests.unit.controller.world.ansible import WorldAnsible
from tests.unit.controller.world.aws import WorldAws
from tests.unit.controller.world.calls import Effect, Manner
from tests.unit.controller.world.clock import WorldClock
from tests.unit.controller.world.errors import InvariantError, KilledError
from tests.unit.controller.world.head import HEAD_ID
from tests.unit.controller.world.node import Node
from tests.unit.controller.world.terraform import WorldTerraform
from tests.unit.controller.world.times import iso
from tests.unit.controller.world.world import World

__all__ = [
    "HEAD_ID",
    "Effect",
    "InvariantError",
    "KilledError",
    "Manner",
    "Node",
    "World",
    "WorldAnsible",
    "WorldAws",
    "WorldClock",
    "WorldTerraform",
    "iso",
]
