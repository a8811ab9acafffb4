"""What could not be kept while the disk was full."""

from __future__ import annotations

from collections import Counter


class Losses:
    """Counts what was lost, by kind."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter()

    def add(self, kind: str) -> bool:
        """Counts one more of a kind, named in the plural. Returns whether it is the first loss since all was well."""
        is_first = not self._counts
        self._counts[kind] += 1
        return is_first

    def taken(self) -> str:
        """Returns what was lost, for people, and begins anew; empty where nothing was."""
        lost = ", ".join(f"{count:,} {kind}" for kind, count in sorted(self._counts.items()))
        self._counts.clear()
        return lost
