"""Exactly what was reviewed: a plan file that is kept with its digest, and applied as it is or not at all."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from controller.domain import SECONDS_PER_HOUR
from controller.domain.errors import CentavoError
from controller.edges.files import write_whole

PLAN_FILE = "plan.tfplan"
SEAL_FILE = "seal.json"
REVIEW_FILE = "plan.md"
SHORT = 16
"""Digits of a digest that name a plan."""
KEPT = 20
"""Sealed plans that are kept; older ones are removed."""
MAX_AGE_S = 24 * SECONDS_PER_HOUR


class SealError(CentavoError):
    """A reviewed plan can't be applied: it is not there, was altered, is too old, or the world has moved on."""


@dataclass(frozen=True)
class StateId:
    """Which state a plan was made against: Terraform counts `serial` up at every change."""

    lineage: str
    serial: int


@dataclass(frozen=True)
class Seal:
    """What was reviewed. `digest` covers all the other fields but `applied_at`."""

    environment: str
    plan_sha256: str
    fingerprint: str
    """Of what the plan changes (`Plan.fingerprint`): the same for the same changes planned elsewhere."""
    state: StateId
    capacity_sha256: str | None
    created_at: float
    acknowledged: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    """What the guard still wants to be acknowledged; such a plan is never applied."""
    applied_at: float | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was reviewed."""
        content = json.dumps(asdict(replace(self, applied_at=None)), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def name(self) -> str:
        return self.digest[:SHORT]


@dataclass(frozen=True)
class SealedPlan:
    """A seal and the folder that holds it, its plan file and its review."""

    seal: Seal
    directory: Path

    @property
    def plan_file(self) -> Path:
        return self.directory / PLAN_FILE

    @property
    def review_file(self) -> Path:
        return self.directory / REVIEW_FILE


class PlanStore:
    """The sealed plans of one environment, under `.centavo/ENV/plans/`. They may hold secrets: for the owner only."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def seal(self, plan_file: Path, seal: Seal, review: str) -> SealedPlan:
        """Takes a plan file into the store, with its review. The seal's own hash of the file is checked."""
        if file_sha256(plan_file) != seal.plan_sha256:
            raise SealError(f"{plan_file} changed while it was reviewed.", "Review it again with `centavo review`.")
        folder = self._directory / seal.name
        folder.mkdir(parents=True, exist_ok=True)
        for private in (self._directory, folder):
            private.chmod(0o700)
        shutil.move(str(plan_file), folder / PLAN_FILE)
        (folder / REVIEW_FILE).write_text(review, encoding="utf-8")
        sealed = SealedPlan(seal, folder)
        self._write(sealed)
        self._prune()
        return sealed

    def all(self) -> tuple[SealedPlan, ...]:
        """Every sealed plan, the newest first; folders that hold no readable seal are passed over."""
        found = [sealed for folder in self._directory.glob("*/") if (sealed := _read(folder)) is not None]
        return tuple(sorted(found, key=lambda sealed: (-sealed.seal.created_at, sealed.seal.name)))

    def find(self, reference: str) -> SealedPlan:
        """The plan with this digest or fingerprint (or the start of one, 6 digits or more), this file or folder, or the
        `latest`. Raises SealError naming those that there are."""
        known = self.all()
        if reference == "latest" and known:
            return known[0]
        path = Path(reference).expanduser()
        by_path = [
            s for s in known if path.exists() and path.resolve() in (s.directory.resolve(), s.plan_file.resolve())
        ]
        matching = by_path or [sealed for sealed in known if _is_meant(sealed.seal, reference)]
        if matching:
            return matching[0]
        have = ", ".join(sealed.seal.name for sealed in known[:5]) or "none"
        raise SealError(
            f"No reviewed plan is called {reference!r} here.",
            f"There are: {have}. Make one with `centavo review`; plans are kept where they were made.",
        )

    def mark_applied(self, sealed: SealedPlan, at: float) -> None:
        """Notes when a plan was applied, so that a second attempt is told so."""
        self._write(SealedPlan(replace(sealed.seal, applied_at=at), sealed.directory))

    def _write(self, sealed: SealedPlan) -> None:
        write_whole(sealed.directory / SEAL_FILE, json.dumps(asdict(sealed.seal), indent=2) + "\n")

    def _prune(self) -> None:
        for sealed in self.all()[KEPT:]:
            shutil.rmtree(sealed.directory, ignore_errors=True)


def check_seal(
    sealed: SealedPlan, *, state: StateId, capacity_sha256: str | None, now: float, max_age_s: float = MAX_AGE_S
) -> None:
    """Raises SealError with the reason when a plan is not exactly what was reviewed, or the world has moved on."""
    seal = sealed.seal
    again = "Review again with `centavo review`, and apply that plan."
    if seal.name != sealed.directory.name:
        raise SealError(f"The seal of {sealed.directory.name} was altered since the review.", again)
    if not sealed.plan_file.is_file() or file_sha256(sealed.plan_file) != seal.plan_sha256:
        raise SealError(f"The plan file of {seal.name} is not the one that was reviewed: its digest differs.", again)
    if seal.applied_at is not None:
        raise SealError(
            f"Plan {seal.name} was applied already.", "Nothing is left to do; `centavo review` says whether."
        )
    if now - seal.created_at > max_age_s:
        hours = (now - seal.created_at) / SECONDS_PER_HOUR
        limit = max_age_s / SECONDS_PER_HOUR
        raise SealError(f"Plan {seal.name} is {hours:.1f} hours old; at most {limit:g} are allowed.", again)
    if state.lineage != seal.state.lineage:
        raise SealError(f"Plan {seal.name} was made for another state than the one that there is now.", again)
    if state.serial != seal.state.serial:
        raise SealError(
            f"The state has moved on since plan {seal.name} was reviewed (serial {seal.state.serial}, now "
            f"{state.serial}): somebody has applied something else.",
            again,
        )
    if capacity_sha256 != seal.capacity_sha256:
        raise SealError(f"The capacity file has changed since plan {seal.name} was reviewed.", again)


def file_sha256(path: Path) -> str:
    """SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_meant(seal: Seal, reference: str) -> bool:
    wanted = reference.lower().removeprefix("sha256:")
    return len(wanted) >= 6 and (seal.digest.startswith(wanted) or seal.fingerprint.startswith(wanted))


def _read(folder: Path) -> SealedPlan | None:
    try:
        return SealedPlan(_parse(json.loads((folder / SEAL_FILE).read_text(encoding="utf-8"))), folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _parse(raw: dict[str, Any]) -> Seal:
    texts: Iterable[str] = ("acknowledged", "missing")
    lists = {name: tuple(raw[name]) for name in texts}
    return Seal(**{**raw, **lists, "state": StateId(**raw["state"])})
