"""Which flavors a failed move makes unavailable for a while."""

from __future__ import annotations

from controller.domain import Move, MovePhase
from controller.domain.errors import AnsibleError, CentavoError, FlavorsError, TerraformError

_BLAMING = (AnsibleError, FlavorsError, TerraformError)
"""The errors for which the flavors that a move adds are blamed. A cloud that can't be asked is no flavor's fault."""


def blamed(move: Move, error: CentavoError) -> tuple[str, ...]:
    """Returns the flavors to blame for an error: those that it names, else all those that the move adds nodes of.

    Only flavors that the move adds nodes of are blamed, and only before it begins to shrink.
    """
    if move.phase not in (MovePhase.GROWING, MovePhase.JOINING) or not isinstance(error, _BLAMING):
        return ()
    added = tuple(move.added)
    named = error.flavors if isinstance(error, FlavorsError) else ()
    return tuple(flavor for flavor in named if flavor in added) if named else added
