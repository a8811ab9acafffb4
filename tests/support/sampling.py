"""How much of a campaign its test runs: all of it where CI=true, and elsewhere a sample that has each kind in it.

A campaign goes through thousands of cases, which takes minutes. The sample is the same each time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Hashable, Iterable
from typing import TypeVar

Case = TypeVar("Case")


def is_whole() -> bool:
    """Returns whether all cases are run."""
    return os.environ.get("CI") == "true"


def sample(cases: Iterable[Case], kind: Callable[[Case], Hashable], every: int) -> list[Case]:
    """Returns one in `every` cases of each kind, and at least one, in their order; all cases where CI=true.

    Of two kinds with as many cases, different ones are taken: the second kind's begin one later than the first's.
    """
    ordered = list(cases)
    if is_whole():
        return ordered
    kinds: dict[Hashable, list[int]] = {}
    for place, case in enumerate(ordered):
        kinds.setdefault(kind(case), []).append(place)
    taken: list[int] = []
    for number, places in enumerate(kinds.values()):
        taken += places[number % min(every, len(places)) :: every]
    return [ordered[place] for place in sorted(taken)]
