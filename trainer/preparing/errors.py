"""What is told when a corpus cannot be prepared."""

from __future__ import annotations


class PreparationError(ValueError):
    """A corpus cannot be prepared. The message says which file, which line, and what to do."""
