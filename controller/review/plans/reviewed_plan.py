"""A plan that was reviewed on this machine: its file is kept under a seal, and applied exactly as it is or not at all.

The seal is signed with a key that never leaves the machine. A plan that was made elsewhere, by a pull request for
instance, is refused: such a plan is made again here (`centavo apply --reviewed`). The seal says nothing of what was
acknowledged: whoever applies the plan says that.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import secrets
import shutil
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
"""So many digits of a digest name a plan."""
KEPT = 20
"""So many reviewed plans are kept; older ones are removed."""
KEY_BYTES = 32
MAX_AGE_S = 24 * SECONDS_PER_HOUR


class SealError(CentavoError):
    """A reviewed plan can't be applied: it is missing, altered, too old, from elsewhere, or the state has changed."""


@dataclass(frozen=True)
class StateId:
    """The state that a plan was made against. Terraform counts `serial` up at every change."""

    lineage: str
    serial: int


@dataclass(frozen=True)
class Seal:
    """What was reviewed. `digest` covers every field but `applied_at` and the signature."""

    environment: str
    plan_sha256: str
    fingerprint: str
    """The fingerprint of what the plan changes, which is the same for the same changes planned elsewhere."""
    state: StateId
    capacity_sha256: str | None
    created_at: float
    applied_at: float | None = None
    signature: str = ""
    """HMAC-SHA256 of `digest` under this machine's key, in hexadecimal."""

    @property
    def digest(self) -> str:
        """SHA-256 of everything that was reviewed, in hexadecimal."""
        content = json.dumps(
            asdict(replace(self, applied_at=None, signature="")), sort_keys=True, separators=(",", ":")
        )
        return hashlib.sha256(content.encode()).hexdigest()

    @property
    def name(self) -> str:
        """The first digits of the digest, by which people call the plan."""
        return self.digest[:SHORT]


@dataclass(frozen=True)
class ReviewedPlan:
    """A seal, and the folder that has the seal, the plan file and the review."""

    seal: Seal
    directory: Path

    @property
    def plan_file(self) -> Path:
        """The plan as Terraform wrote it."""
        return self.directory / PLAN_FILE

    @property
    def review_file(self) -> Path:
        """The review as Markdown."""
        return self.directory / REVIEW_FILE


class PlanStore:
    """The reviewed plans of one environment, under `.centavo/ENV/plans/`.

    Plans may have secrets in them, so only their owner may read them. The key that signs their seals is kept outside
    that folder, so that a copied folder brings no key with it.
    """

    def __init__(self, directory: Path, key_file: Path) -> None:
        self._directory, self._key_file = directory, key_file

    def keep(self, plan_file: Path, seal: Seal, review: str) -> ReviewedPlan:
        """Moves a plan file into the store, with its seal and its review.

        Raises:
            SealError: The file is not the one that was sealed.
        """
        if file_sha256(plan_file) != seal.plan_sha256:
            raise SealError(f"{plan_file} changed while it was reviewed.", "Review it again with `centavo review`.")
        folder = self._directory / seal.name
        folder.mkdir(parents=True, exist_ok=True)
        for private in (self._directory, folder):
            private.chmod(0o700)
        shutil.move(str(plan_file), folder / PLAN_FILE)
        (folder / REVIEW_FILE).write_text(review, encoding="utf-8")
        reviewed = ReviewedPlan(replace(seal, signature=self._signature(seal)), folder)
        self._write(reviewed)
        self._prune()
        return reviewed

    def all(self) -> tuple[ReviewedPlan, ...]:
        """Returns every reviewed plan, the newest first. Folders without a readable seal are left out."""
        found = [reviewed for folder in self._directory.glob("*/") if (reviewed := _read(folder)) is not None]
        return tuple(sorted(found, key=lambda reviewed: (-reviewed.seal.created_at, reviewed.seal.name)))

    def find(self, reference: str) -> ReviewedPlan:
        """Returns a reviewed plan.

        Args:
            reference: Its digest or fingerprint, or the first 6 digits or more of one; its file or folder; or `latest`.

        Raises:
            SealError: There is no such plan (the error names those that there are), or it was not sealed here.
        """
        known = self.all()
        reviewed = self._matching(reference, known)
        if not hmac.compare_digest(reviewed.seal.signature.encode(), self._signature(reviewed.seal).encode()):
            raise SealError(
                f"Plan {reviewed.seal.name} was not sealed on this machine, or its seal was altered.",
                "Review it here with `centavo review`, or plan again with `centavo apply --reviewed OUTLINE`.",
            )
        return reviewed

    def _matching(self, reference: str, known: tuple[ReviewedPlan, ...]) -> ReviewedPlan:
        if reference == "latest" and known:
            return known[0]
        path = Path(reference).expanduser()
        by_path = [
            s for s in known if path.exists() and path.resolve() in (s.directory.resolve(), s.plan_file.resolve())
        ]
        matching = by_path or [reviewed for reviewed in known if _is_meant(reviewed.seal, reference)]
        if matching:
            return matching[0]
        have = ", ".join(reviewed.seal.name for reviewed in known[:5]) or "none"
        raise SealError(
            f"No reviewed plan is called {reference!r} here.",
            f"There are: {have}. Make one with `centavo review`; plans are kept where they were made.",
        )

    def mark_applied(self, reviewed: ReviewedPlan, at: float) -> None:
        """Keeps when a plan was applied, so that it is not applied again."""
        self._write(ReviewedPlan(replace(reviewed.seal, applied_at=at), reviewed.directory))

    def _write(self, reviewed: ReviewedPlan) -> None:
        write_whole(reviewed.directory / SEAL_FILE, json.dumps(asdict(reviewed.seal), indent=2) + "\n")

    def _signature(self, seal: Seal) -> str:
        return hmac.new(self._key(), seal.digest.encode(), hashlib.sha256).hexdigest()

    def _key(self) -> bytes:
        """Returns this machine's key. The first call makes it."""
        try:
            self._key_file.parent.mkdir(parents=True, exist_ok=True)
            with open(os.open(self._key_file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "wb") as file:
                file.write(secrets.token_bytes(KEY_BYTES))
        except FileExistsError:
            pass
        key = self._key_file.read_bytes()
        if len(key) != KEY_BYTES:
            raise SealError(
                f"The key {self._key_file} has {len(key)} bytes in place of {KEY_BYTES}.",
                "Remove the file, and review again with `centavo review`.",
            )
        return key

    def _prune(self) -> None:
        for reviewed in self.all()[KEPT:]:
            shutil.rmtree(reviewed.directory, ignore_errors=True)


def check_seal(
    reviewed: ReviewedPlan, *, state: StateId, capacity_sha256: str | None, now: float, max_age_s: float = MAX_AGE_S
) -> None:
    """Checks that a plan is exactly what was reviewed, and that nothing has changed since.

    Raises:
        SealError: It is not, or something has. The error says what.
    """
    seal = reviewed.seal
    _check_files(reviewed)
    if seal.applied_at is not None:
        raise SealError(
            f"Plan {seal.name} was applied already.", "`centavo review` says whether anything is left to do."
        )
    if now - seal.created_at > max_age_s:
        hours = (now - seal.created_at) / SECONDS_PER_HOUR
        limit = max_age_s / SECONDS_PER_HOUR
        raise SealError(f"Plan {seal.name} is {hours:.1f} hours old; at most {limit:g} are allowed.", _AGAIN)
    _check_state(seal, state)
    if capacity_sha256 != seal.capacity_sha256:
        raise SealError(f"The capacity file has changed since plan {seal.name} was reviewed.", _AGAIN)


_AGAIN = "Review again with `centavo review`, and apply that plan."


def _check_files(reviewed: ReviewedPlan) -> None:
    name = reviewed.seal.name
    if name != reviewed.directory.name:
        raise SealError(f"The seal of {reviewed.directory.name} was altered since the review.", _AGAIN)
    if not reviewed.plan_file.is_file() or file_sha256(reviewed.plan_file) != reviewed.seal.plan_sha256:
        raise SealError(f"The plan file of {name} is not the one that was reviewed: its digest differs.", _AGAIN)


def _check_state(seal: Seal, state: StateId) -> None:
    if state.lineage != seal.state.lineage:
        raise SealError(f"Plan {seal.name} was made for another state than the one that there is now.", _AGAIN)
    if state.serial != seal.state.serial:
        raise SealError(
            f"The state has moved on since plan {seal.name} was reviewed (serial {seal.state.serial}, now "
            f"{state.serial}): somebody has applied something else.",
            _AGAIN,
        )


def file_sha256(path: Path) -> str:
    """Returns the SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _is_meant(seal: Seal, reference: str) -> bool:
    wanted = reference.lower().removeprefix("sha256:")
    return len(wanted) >= 6 and (seal.digest.startswith(wanted) or seal.fingerprint.startswith(wanted))


def _read(folder: Path) -> ReviewedPlan | None:
    try:
        return ReviewedPlan(_parse(json.loads((folder / SEAL_FILE).read_text(encoding="utf-8"))), folder)
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _parse(raw: dict[str, Any]) -> Seal:
    return Seal(**{**raw, "state": StateId(**raw["state"])})
