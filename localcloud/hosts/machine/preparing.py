"""What is done before a cloud of machines begins. The command `up` needs it, and no part of a running machine."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from localcloud.hosts.machine import requirements
from localcloud.hosts.machine.cleanup import remove_leftovers
from localcloud.hosts.machine.firewall.foreign import check_lets_pass
from localcloud.hosts.machine.image.from_here import recipe_from
from localcloud.hosts.machine.image.store import build_with_mmdebstrap, default_folder, image_of
from localcloud.hosts.machine.network import ranges
from localcloud.settings import MachineSettings


def prepare(settings: MachineSettings, state_dir: Path, tell: Callable[[str], None]) -> Path:
    """Checks this machine, removes what an earlier cloud left, and returns the image, which is made if need be.

    Raises:
        MachineError: machines cannot be made here. Nothing was made.
    """
    requirements.check(state_dir)
    remove_leftovers(state_dir)
    ranges.check_unused([settings.private_cidr, settings.public_cidr])
    check_lets_pass()
    return image_of(recipe_from(), settings.image_dir or default_folder(), build_with_mmdebstrap, tell)
