"""The ways in which a world of ranks ends."""

from __future__ import annotations


class RemovedFromJobError(Exception):
    """The host of this rank is no longer part of the training: the rank leaves, with exit code 0."""


class LostItsPlaceError(Exception):
    """This rank has lost its place in the training, and its host is still wanted: its worker is to begin anew."""


class MembershipChanged(Exception):  # noqa: N818 - not an error: the way out of the loop over steps
    """All ranks have agreed, between two steps, to form a new world."""


class WorldLostError(Exception):
    """A rank is gone without notice: the others go back to the last commit and form a new world."""


class LauncherLostError(RuntimeError):
    """The rendezvous server does not answer any more: there is no job to be part of."""
