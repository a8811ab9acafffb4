"""Every decision with its evidence, packed: ten thousand fit in a page, which unpacks those that a person opens."""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterable, Mapping
from typing import Any

from controller.domain import Fleet
from controller.record.journal.reasons import reason_from_plain
from controller.words.reasons import reason_in_words

DIGITS = 4
"""Significant digits of the evidence. The journal has all digits."""
FLAVOR_COLUMNS = (
    "usd_per_hour",
    "tokens_per_s",
    "tokens_per_s_low",
    "tokens_per_s_high",
    "compute_time_s",
    "usd_per_million_tokens",
    "observations",
)
FLEET_COLUMNS = (
    "step_time_s",
    "tokens_per_s",
    "usd_per_hour",
    "usd_per_million_tokens",
    "remaining_s",
    "remaining_usd",
)


class _Words:
    """Strings that occur often, each kept once."""

    def __init__(self) -> None:
        self.numbers: dict[str, int] = {}

    def __call__(self, text: str | None) -> int:
        return -1 if text is None else self.numbers.setdefault(text, len(self.numbers))


def pack(decisions: Iterable[Mapping[str, Any]], started_at: float) -> str:
    """Returns the decisions as base64 of gzipped JSON: `{"words": [...], "decisions": [[...], ...]}`.

    Times are seconds since `started_at`. Fleets, flavors, reasons and notes are numbers of words. The format belongs to
    the page, whose script reads it; programs read `centavo explain --list --json`.
    """
    words = _Words()
    rows = [_row(decision, started_at, words) for decision in decisions]
    document = json.dumps({"words": list(words.numbers), "decisions": rows}, separators=(",", ":"))
    return base64.b64encode(gzip.compress(document.encode(), compresslevel=9, mtime=0)).decode()


def _row(decision: Mapping[str, Any], started_at: float, words: _Words) -> list[Any]:
    return [
        round(decision["at"] - started_at),
        words(decision["verdict"]),
        words(decision["policy"]),
        words(reason_in_words(reason_from_plain(decision["reason"]))),
        words(str(Fleet(decision["current"]))),
        words(str(Fleet(decision["target"]))),
        rounded(decision["saving_usd"]),
        rounded(decision["switching_usd"]),
        int(decision["is_probe"]),
        [
            [words(f["flavor"]), *(rounded(f[name]) for name in FLAVOR_COLUMNS), words(_notes(f))]
            for f in decision["flavors"]
        ],
        [[words(str(Fleet(f["fleet"]))), *(rounded(f[name]) for name in FLEET_COLUMNS)] for f in decision["fleets"]],
    ]


def _notes(flavor: Mapping[str, Any]) -> str | None:
    """Returns the notes on a flavor in words; older journals have them as one text, `note`."""
    if "notes" not in flavor:
        note: str | None = flavor.get("note")
        return note
    return "; ".join(reason_in_words(reason_from_plain(note)) for note in flavor["notes"]) or None


def rounded(value: float | None) -> float | None:
    """Returns the value with four significant digits. Whole numbers stay whole."""
    if value is None or isinstance(value, int):
        return value
    short = float(f"{value:.{DIGITS}g}")
    return int(short) if short.is_integer() and abs(short) < 1e15 else short
