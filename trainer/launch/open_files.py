"""How many files the launcher may have open."""

from __future__ import annotations

import resource

MOST_FILES = 65_536


def open_many_files() -> None:
    """Raises the limit of open files, which mostly is 1,024: a node takes three, a rank that votes one more."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    most = MOST_FILES if hard == resource.RLIM_INFINITY else min(hard, MOST_FILES)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
