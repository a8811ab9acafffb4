"""What one call of PutLogEvents may hold.

https://docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutLogEvents.html
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

MOST_EVENTS = 10_000
MOST_BATCH_BYTES = 1_048_576
OVERHEAD_BYTES = 26
"""What CloudWatch counts for each event, beside its message."""
MOST_EVENT_BYTES = 262_144 - OVERHEAD_BYTES
MOST_SPAN_MS = 24 * 3600 * 1000 - 1
LARGEST_CHARACTER_BYTES = 4


@dataclass(frozen=True)
class Event:
    """One line, with the time that it appeared, in milliseconds since the epoch."""

    at_ms: int
    message: str

    @property
    def counted_bytes(self) -> int:
        """How large CloudWatch finds the event."""
        return len(self.message.encode()) + OVERHEAD_BYTES


def events_of(content: bytes, at: float) -> list[Event]:
    """Returns the events of a line: none for an empty line, which CloudWatch refuses, several for a very long one."""
    text = content.decode("utf-8", errors="replace")
    if len(text.encode()) <= MOST_EVENT_BYTES:
        return [Event(round(at * 1000), text)] if text else []
    width = MOST_EVENT_BYTES // LARGEST_CHARACTER_BYTES
    return [Event(round(at * 1000), text[start : start + width]) for start in range(0, len(text), width)]


@dataclass(frozen=True)
class Dated:
    """A line with the time that it appeared, its log stream, and how many bytes of its log came up to its end."""

    content: bytes
    at: float
    stream: str
    end: int


@dataclass
class Batch:
    """What one call sends, and how many bytes of the log it covers."""

    stream: str
    events: list[Event] = field(default_factory=list)
    size: int = 0
    end: int = 0

    def takes(self, stream: str, events: Sequence[Event]) -> bool:
        """Returns whether the events of one more line fit in."""
        if not events or not self.events:
            return stream == self.stream
        size = self.size + sum(event.counted_bytes for event in events)
        is_in_time = events[-1].at_ms - self.events[0].at_ms <= MOST_SPAN_MS
        is_small = len(self.events) + len(events) <= MOST_EVENTS and size <= MOST_BATCH_BYTES
        return stream == self.stream and is_in_time and is_small

    def add(self, events: Sequence[Event], end: int) -> None:
        """Adds the events of a line that ends there."""
        self.events += events
        self.size += sum(event.counted_bytes for event in events)
        self.end = end


def first_batch(lines: Sequence[Dated]) -> Batch:
    """Returns as many of the lines as the next call takes. There is at least one, and they are in order of time."""
    batch = Batch(lines[0].stream)
    for line in lines:
        events = events_of(line.content, line.at)
        if not batch.takes(line.stream, events):
            break
        batch.add(events, line.end)
    return batch
