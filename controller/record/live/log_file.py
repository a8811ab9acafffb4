"""A log file that is written line by line, each as soon as it is there."""

from __future__ import annotations

import errno
import os
from pathlib import Path
from types import TracebackType

NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})
"""The errors of a disk that is full or fails."""


class LogFile:
    """A file that lines are added to. Nothing is held back: what can't be written is not written later."""

    def __init__(self, path: Path) -> None:
        self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        self._is_torn = False

    def write(self, text: str) -> int:
        """Adds text, after a line that was torn in a new one.

        Raises:
            OSError: The text is not in the file, or only in part.
        """
        content = ("\n" if self._is_torn else "").encode() + text.encode()
        written = os.write(self._descriptor, content)
        self._is_torn = written < len(content)
        if self._is_torn:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return len(text)

    def flush(self) -> None:
        """Does nothing: all that could be written is written."""

    def __enter__(self) -> LogFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        os.close(self._descriptor)
