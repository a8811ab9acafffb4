"""Times as the trainer writes them."""

from __future__ import annotations

from datetime import datetime, timezone


def iso(at: float) -> str:
    """Returns a time (seconds since the epoch) as the trainer writes it."""
    return datetime.fromtimestamp(at, timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
