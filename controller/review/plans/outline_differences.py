"""How the plan that was made now differs from the plan that was reviewed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from controller.domain.errors import CentavoError
from controller.review.plans.plan_outline import ChangeOutline, PlanOutline


class PlanDiffersError(CentavoError):
    """The plan that was made now does not do what the reviewed plan does."""

    exit_code = 20


@dataclass(frozen=True)
class Difference:
    """How one resource or output is treated otherwise than in the reviewed plan."""

    what: str
    how: str

    def __str__(self) -> str:
        return f"{self.what}: {self.how}"


def require_same(reviewed: PlanOutline, planned: PlanOutline) -> None:
    """Checks that the plan that was made now does exactly what the reviewed plan does.

    Raises:
        PlanDiffersError: It does something else. The error names every resource and output where the plans differ.
    """
    if planned.fingerprint == reviewed.fingerprint:
        return
    lines = "\n".join(f"  - {difference}" for difference in differences(reviewed, planned))
    raise PlanDiffersError(
        f"The plan that was made now (fingerprint {planned.fingerprint[:16]}) is not the reviewed one "
        f"({reviewed.fingerprint[:16]}), so nothing was applied. They differ here:\n{lines}",
        "The code, the state or the cloud has changed since the review. Review the new plan, and apply that one.",
    )


def differences(reviewed: PlanOutline, planned: PlanOutline) -> Iterator[Difference]:
    """Returns every resource and output that the two plans treat differently, in order of address."""
    then, now = _by_address(reviewed.changes), _by_address(planned.changes)
    for address in sorted({*then, *now}):
        if then.get(address) != now.get(address):
            yield Difference(address, _how(then.get(address), now.get(address)))
    for name in sorted({*reviewed.outputs, *planned.outputs}):
        before, after = (outline.outputs.get(name, "unchanged") for outline in (reviewed, planned))
        if before != after:
            yield Difference(f"output {name}", f"reviewed as {before}, now {after}")


def _by_address(changes: Iterable[ChangeOutline]) -> dict[str, ChangeOutline]:
    """Returns the changes by address. An address has a second change where Terraform also destroys a deposed object."""
    found: dict[str, ChangeOutline] = {}
    for change in changes:
        name = change.address
        while name in found:
            name += " (another object)"
        found[name] = change
    return found


def _how(then: ChangeOutline | None, now: ChangeOutline | None) -> str:
    if then is None or now is None or _act(then) != _act(now):
        return f"reviewed as {_act(then)}, now {_act(now)}"
    paths = sorted({*then.attributes, *now.attributes})
    others = [path for path in paths if then.attributes.get(path) != now.attributes.get(path)]
    return f"{now.action}, with another change of {', '.join(others)}" if others else "other attributes have changed"


def _act(change: ChangeOutline | None) -> str:
    if change is None:
        return "unchanged"
    origin = f" (was {change.previous_address})" if change.previous_address else ""
    return change.action + origin + (" (imported)" if change.is_import else "")
