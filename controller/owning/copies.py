"""The thread that copies a run's state to the bucket, while the run goes on."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from controller.domain.errors import AwsError, SupersededError
from controller.edges.clock import elapsed_s
from controller.owning.background import Background
from controller.owning.fenced import FencedWriter
from controller.owning.sources import Signature, Source

LEAST_GAP_S = 5.0
"""So long is waited at least between two copies of one thing."""
BYTES_PER_S = 40_000.0
"""How much of one thing is copied on average: the bucket keeps old versions for a while, and they cost money."""
FINAL_S = 30.0
"""How long the last copies of a command may take."""


class Copies:
    """Copies what has changed, each thing in a rhythm that its size allows. The newest content wins.

    Args:
        sources: What is copied.
        writer: Writes it.
        tell: Takes what people should know. It is called in the background, and must not use the journal.
        elapsed: The monotonic clock.
    """

    def __init__(
        self,
        sources: Sequence[Source],
        writer: FencedWriter,
        tell: Callable[[str], None],
        elapsed: Callable[[], float] = elapsed_s,
    ) -> None:
        self._sources, self._writer, self._tell, self._elapsed = sources, writer, tell, elapsed
        self._copied: dict[str, Signature] = {}
        self._not_before: dict[str, float] = {}
        self._trouble, self._is_over = "", False
        self._background = Background("copies", self.round, lambda: LEAST_GAP_S)

    def start(self) -> None:
        """Begins to copy, at once."""
        self._background.wake()
        self._background.start()

    def wake(self) -> None:
        """Looks now whether something has changed."""
        self._background.wake()

    def stop(self) -> None:
        """Copies nothing more, from the return of this call on."""
        self._background.stop()

    def finish(self) -> None:
        """Stops, and copies what has changed since. What takes longer than `FINAL_S` or fails is told."""
        self.stop()
        self.round(final=True)

    def round(self, *, final: bool = False) -> None:
        """Copies once what has changed. What fails is told once, and tried again in the next round.

        Args:
            final: There will be no other round: nothing waits for its time.
        """
        if self._is_over:
            return
        began = self._elapsed()
        try:
            for source in self._sources:
                if final and self._elapsed() > began + FINAL_S:
                    raise AwsError(f"the bucket is slow, and {source.key} was left as it was")
                self._copy(source, final)
        except SupersededError as error:
            self._is_over = True
            self._say(f"the state of the run is not copied to the bucket any more: {error.what}")
        except AwsError as error:
            self._say(f"the state of the run can't be copied to the bucket, and is tried again: {error.what}")
        else:
            self._say("")

    def _copy(self, source: Source, final: bool) -> None:
        key, signature, now = source.key, source.signature(), self._elapsed()
        is_early = not final and now < self._not_before.get(key, now)
        if signature is None or is_early or signature == self._copied.get(key):
            return
        content = source.content()
        if content is None or source.key != key:  # a bundle that is replaced meanwhile has another key
            return
        self._writer.write(key, content)
        self._copied[key] = signature
        self._not_before[key] = now + max(LEAST_GAP_S, len(content) / BYTES_PER_S)

    def _say(self, trouble: str) -> None:
        """Tells of a trouble once, and of its end."""
        if trouble != self._trouble:
            self._tell(trouble or "the state of the run is copied to the bucket again")
        self._trouble = trouble
