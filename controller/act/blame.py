"""Which flavors a failed move makes unavailable for a while."""

from __future__ import annotations

from collections.abc import Mapping

from controller.domain import Move, MovePhase
from controller.domain.errors import AnsibleError, CentavoError, FlavorsError, TerraformError

_BLAMING = (AnsibleError, FlavorsError, TerraformError)
"""The errors for which the flavors that a move adds are blamed. A cloud that can't be asked is no flavor's fault."""


def blamed(move: Move, error: CentavoError, flavor_of: Mapping[str, str]) -> tuple[str, ...]:
    """Returns the flavors to blame for an error: those that it names, else all those that the move adds nodes of.

    Only flavors that the move adds nodes of are blamed, and only before it begins to shrink.

    Args:
        move: The move.
        error: Why it does not go on.
        flavor_of: The flavors of the workers, by instance id. A playbook that failed on some of them blames only these.
    """
    if move.phase not in (MovePhase.GROWING, MovePhase.JOINING) or not isinstance(error, _BLAMING):
        return ()
    added, named = tuple(move.added), _named(error, flavor_of)
    return tuple(flavor for flavor in added if flavor in named) if named else added


def _named(error: CentavoError, flavor_of: Mapping[str, str]) -> set[str]:
    """Returns the flavors that an error names; none where it may be due to any of them."""
    if isinstance(error, FlavorsError):
        return {*error.flavors}
    hosts = error.hosts if isinstance(error, AnsibleError) else {}
    return {flavor_of[host] for host in hosts} if all(host in flavor_of for host in hosts) else set()
