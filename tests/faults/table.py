"""What the campaign shows: a table by kind of fault, and `runs/bench/faults.json`."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from tests.faults.fault import Result

TOLD_LINES = 40


def table(results: Sequence[Result]) -> str:
    """Returns a table by kind of fault: how many there were, which violated an invariant, the slowest healing."""
    kinds: dict[str, list[Result]] = defaultdict(list)
    for result in results:
        if result.has_happened:
            kinds[result.fault.kind].append(result)
    width = max(map(len, kinds), default=0) + 2
    lines = [f"{'fault':<{width}}{'runs':>6}{'violations':>12}{'slowest, passes':>18}"]
    for kind, own in sorted(kinds.items()):
        violations = sum(bool(result.violations) for result in own)
        slowest = _slowest(own)
        lines.append(f"{kind:<{width}}{len(own):>6}{violations:>12}{'-' if slowest is None else slowest:>18}")
    return "\n".join(lines)


def summary(by_layer: Mapping[str, Sequence[Result]], seeds: Sequence[int]) -> dict[str, Any]:
    """Returns the content of `faults.json`. Only faults that happened are counted."""
    happened = {name: [r for r in results if r.has_happened] for name, results in by_layer.items()}
    everything = [result for results in happened.values() for result in results]
    return {
        "faults": len(everything),
        "by_layer": {name: len(results) for name, results in happened.items()},
        "violations": sum(bool(result.violations) for result in everything),
        "seeds": {"first": seeds[0], "last": seeds[-1]} if seeds else None,
        "slowest_heal_passes": _slowest(everything),
    }


def _slowest(results: Sequence[Result]) -> int | None:
    """Returns the most passes that healing took; None where they are counted for none of these faults."""
    return max((result.heal_passes for result in results if result.heal_passes is not None), default=None)


def violations(results: Sequence[Result]) -> list[str]:
    """Returns each violation with the command that shows it again, and what was told before it."""
    found = []
    for result in results:
        found += [f"{result.fault.command}\n    {what}" for what in result.violations]
        found += [f"      | {line}" for line in result.told[-TOLD_LINES:]] if result.violations else []
    return found
