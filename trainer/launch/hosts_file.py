"""The hosts file: the nodes that the controller wants to train."""

from __future__ import annotations

from pathlib import Path


def read_hosts(path: Path) -> list[str]:
    """Returns the addresses of a hosts file, in its order and each once.

    A line is `address` or `address:1`; # begins a comment.

    Raises:
        OSError: The file cannot be read.
        ValueError: A line is not an address. The message names it.
    """
    addresses = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        text = line.split("#", 1)[0].strip()
        if not text:
            continue
        address, _, slots = text.partition(":")
        if " " in text or not address or slots not in ("", "1"):
            raise ValueError(f"{path}, line {number}: expected an address, or address:1, not {text!r}")
        addresses.append(address)
    return list(dict.fromkeys(addresses))
