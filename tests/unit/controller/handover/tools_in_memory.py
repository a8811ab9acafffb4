"""Terraform's tools of a few bytes, and of none."""

from __future__ import annotations

from pathlib import Path

from controller.domain.errors import SupplyError
from controller.edges.supplying.terraform_tools import Packed, Tools

TOOLS_DIGEST = "7" * 64


class NoTools:
    """Tools that can't be found."""

    def misfit(self, machine: str) -> str:
        return f"the head is Linux on {machine}, and this machine is not"

    def find(self) -> Tools:
        raise SupplyError("There is no terraform on the PATH.")

    def pack(self, tools: Tools) -> Packed:
        raise SupplyError("There is nothing to pack.")


class ToolsInMemory:
    """Tools that can be had. `packs` counts how often they were packed."""

    def __init__(self, folder: Path) -> None:
        self.archive, self.packs = folder / "tools.tar.gz", 0

    def misfit(self, machine: str) -> str:
        return ""

    def find(self) -> Tools:
        return Tools(TOOLS_DIGEST, {})

    def pack(self, tools: Tools) -> Packed:
        self.packs += 1
        self.archive.write_bytes(b"tools")
        return Packed(self.archive, "8" * 64, 5)
