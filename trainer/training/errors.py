"""The ways in which a training ends before its last step."""

from __future__ import annotations


class TrainingFailedError(RuntimeError):
    """The training cannot continue. The message says why, and from which checkpoint it can be started again."""


class TrainingStopped(Exception):  # noqa: N818 - not an error: somebody asked for it
    """The training was told to stop. It has left a checkpoint and can be resumed."""


class NodeTooSmallError(RuntimeError):
    """The memory of this node is too small for the training. The message has both numbers."""
