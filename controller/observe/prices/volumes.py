"""How large the volumes of nodes are: in a file, for commands that ask Terraform for nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from controller.domain.errors import DiskError
from controller.edges.files import write_whole


@dataclass(frozen=True)
class VolumeSizes:
    """The latest sizes by flavor, in GB."""

    path: Path

    def latest(self, known: Mapping[str, float]) -> Mapping[str, float]:
        """Returns the sizes that are known, and keeps them; where none are known, those that were kept."""
        if not known:
            return self._read()
        if known != self._read():
            with suppress(DiskError):  # reports then show prices without volumes
                write_whole(self.path, json.dumps(dict(sorted(known.items()))) + "\n")
        return known

    def _read(self) -> dict[str, float]:
        try:
            return {str(flavor): float(gb) for flavor, gb in json.loads(self.path.read_text(encoding="utf-8")).items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}
