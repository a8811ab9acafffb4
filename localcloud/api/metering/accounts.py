"""The accounts of CPU credits, which the hosts' programs keep in files."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Account:
    """The credits that an instance may still spend, and those that it has spent beyond its own."""

    balance: float
    surplus: float


def account_of(path: Path) -> Account | None:
    """Returns the account in a file; None where there is none, or nothing that can be read."""
    try:
        account = json.loads(path.read_text(encoding="utf-8"))
        return Account(float(account["balance"]), float(account["surplus"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
