"""The name server of this machine."""

from __future__ import annotations

from pathlib import Path


def name_server_of(resolv_conf: Path = Path("/etc/resolv.conf")) -> str | None:
    """Returns the first IPv4 name server of this machine; None if it has none."""
    try:
        lines = resolv_conf.read_text().splitlines()
    except OSError:
        return None
    words = [line.split() for line in lines]
    return next((word[1] for word in words if len(word) > 1 and word[0] == "nameserver" and ":" not in word[1]), None)
