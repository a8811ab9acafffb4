"""A proposal: the fleet that is asked for, and the text that says why."""

from __future__ import annotations

from dataclasses import dataclass

from controller.domain import Fleet
from controller.domain.errors import CentavoError


class ProposalError(CentavoError):
    """A proposal can't be made. What somebody else proposed or changed was left as it is."""


@dataclass(frozen=True)
class Proposal:
    """A fleet that is proposed, with the text that says why."""

    run: str
    source: Fleet
    target: Fleet
    title: str
    body: str
    """The text without the mark, which is added to it."""
