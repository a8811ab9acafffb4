"""What Debian 12's Packer (1.6.6) can read of the template of the machine image."""

from __future__ import annotations

import re
from pathlib import Path

FIRST_WITH_PLUGINS = (1, 7)
"""Since this version Packer has `packer init`, and the block `required_plugins`. Debian 12 has 1.6.6."""
TOO_NEW = (r"(?ms)^packer \{.*?^\}\n", r"(?ms)^  metadata_options \{.*?^  \}\n", r"(?m)^  imds_support .*\n")
"""The parts of the template that Packer 1.6.6 does not know."""


def own_folder(folder: Path) -> dict[str, str]:
    """Returns the variables by which Packer keeps its files in a folder, and asks no server for newer versions."""
    return {"PACKER_CONFIG_DIR": str(folder), "PACKER_CACHE_DIR": str(folder), "CHECKPOINT_DISABLE": "1"}


def has_plugins(said: str) -> bool:
    """Returns whether a Packer downloads its plugins, by what its command `version` says. An older one has them all."""
    numbers = re.search(r"v(\d+)\.(\d+)", said)
    assert numbers is not None, said
    return tuple(map(int, numbers.groups())) >= FIRST_WITH_PLUGINS


def without_what_is_too_new(template: str) -> str:
    """Returns the template as Packer 1.6.6 can read it."""
    for pattern in TOO_NEW:
        template, found = re.subn(pattern, "", template)
        assert found == 1, pattern
    return template
