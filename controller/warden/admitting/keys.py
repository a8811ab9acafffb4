"""Whose SSH keys a node lets in beside its own: those of who controls the cluster, from the cluster's bucket.

`centavo take-over` writes the public key of its checkout to `control/keys/`, and removes those of earlier holders.
`centavo optimize --detach` writes the public key of the head's controller, which counts while its run goes on. No node
may write there (`terraform/modules/access`). Who may write there could change the program of the cluster as well.
Until a worker has a warden, the program in its user data does the same (`terraform/templates/boot_bundle.py`).
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import os
import re
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Protocol

from ..clients import AWS_ERRORS
from ..lease import Lease
from ..look import Look, Standing

KEYS_PREFIX = "control/keys/"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}\.pub")
KINDS = ("ssh-ed25519", "ssh-rsa", "ecdsa-sha2-nistp256", "ecdsa-sha2-nistp384", "ecdsa-sha2-nistp521")
MOST_KEYS, MOST_KEY_BYTES = 4, 4096
HEAD, ENDED = "head.", "ended"
"""`head.RUN.pub` is the key of a controller on the head. It counts until the stage of its run is `ended`."""
FOLLOW_S = 600.0
"""So long after a change of the holder, each look at the lease is followed by one at the keys, which come later."""
BEGIN = "# Centavo lets these in, from the cluster's bucket. Do not change the lines up to the end mark."
END = "# End of Centavo's keys."
MARK = "centavo:"
"""Begins the comment of each key that is let in, and of no other: the launcher's key has the comment `centavo-head`."""


class KeyBucket(Protocol):
    """What holds the keys."""

    def newest(self, prefix: str, most: int) -> Sequence[str]:
        """Returns the names of the newest objects. Raises one of AWS_ERRORS, or KeyError."""

    def start_of(self, key: str, most_bytes: int) -> bytes:
        """Returns the start of an object. Raises one of AWS_ERRORS."""


class Door:
    """Keeps the node's `authorized_keys` as the bucket says. Only lines between two marks are ever changed.

    Args:
        bucket: The cluster's.
        file: The login user's `authorized_keys`.
        tell: Takes lines of the log.
        clock: The clock that counts since the boot.
    """

    def __init__(self, bucket: KeyBucket, file: Path, tell: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._bucket, self._file, self._tell, self._clock = bucket, file, tell, clock
        self._holding: tuple[object, ...] = ()
        self._changed_at, self._is_open, self._trouble = clock(), True, ""

    def follow(self, look: Look) -> None:
        """Looks at the keys where the holder of the lease has changed lately. Raises nothing."""
        now, lease = self._clock(), look.lease
        if look.standing is Standing.FOUND and lease is not None and _holding(lease) != self._holding:
            self._holding, self._changed_at, self._is_open = _holding(lease), now, True
        if look.standing is Standing.UNREAD or not self._is_open:
            return
        is_last = now - self._changed_at > FOLLOW_S
        try:
            self.keep(self._keys(lease))
            self._is_open, trouble = not is_last, ""
        except (OSError, KeyError, ValueError, *AWS_ERRORS) as error:
            trouble = f"the keys in {KEYS_PREFIX} could not be followed, which is tried again: {error}"
        if trouble and trouble != self._trouble:
            self._tell(trouble)
        self._trouble = trouble

    def keep(self, keys: Sequence[str]) -> None:
        """Lets exactly these in, beside those that were in the file before. Raises OSError or ValueError."""
        text = self._file.read_text(encoding="utf-8") if self._file.exists() else ""
        wanted = with_keys(text, keys)
        if wanted == text:
            return
        _replace(self._file, wanted)
        self._tell(f"{self._file} lets in {len(keys)} keys from the bucket: {', '.join(map(_comment, keys)) or 'none'}")

    def _keys(self, lease: Lease | None) -> list[str]:
        found = []
        for key in self._bucket.newest(KEYS_PREFIX, MOST_KEYS):
            name = key.removeprefix(KEYS_PREFIX)
            if name.startswith(HEAD) and name != _head_key(lease):
                continue
            line = public_key(self._bucket.start_of(key, MOST_KEY_BYTES + 1), name) if NAME.fullmatch(name) else None
            if line is None:
                self._refuse(key)
            else:
                found.append(line)
        return sorted(found)

    def _refuse(self, key: str) -> None:
        trouble = f"{key[:100]!r} is no public key of OpenSSH, and lets nobody in"
        if trouble != self._trouble:
            self._tell(trouble)
        self._trouble = trouble


def _holding(lease: Lease) -> tuple[object, ...]:
    """Returns what of a lease decides whose keys count."""
    return lease.generation, lease.released, _head_key(lease)


def _head_key(lease: Lease | None) -> str | None:
    """Returns the name of the head's key that counts; None where none does."""
    goes_on = lease is not None and lease.run is not None and lease.stage != ENDED and lease.fired_by is None
    return f"{HEAD}{lease.run}.pub" if lease is not None and goes_on else None


def public_key(content: bytes, name: str) -> str | None:
    """Returns the line of `authorized_keys` for a public key as OpenSSH writes it; None for anything else.

    Options before the key, further lines and its comment are not taken over. The comment names the object instead.
    """
    if len(content) > MOST_KEY_BYTES:
        return None
    try:
        (line,) = content.decode("ascii").strip().splitlines()
        kind, encoded, *_ = line.split(" ")
        blob = base64.b64decode(encoded, validate=True)
    except (ValueError, binascii.Error):
        return None
    said = blob[4 : 4 + int.from_bytes(blob[:4], "big")]
    if kind not in KINDS or said != kind.encode() or len(blob) <= 4 + len(said):
        return None
    return f"{kind} {encoded} {MARK}{name.removesuffix('.pub')}"


def with_keys(text: str, keys: Sequence[str]) -> str:
    """Returns the text of `authorized_keys` with exactly these keys between the marks."""
    lines = text.splitlines()
    if BEGIN in lines:
        begin = lines.index(BEGIN)
        end = lines.index(END, begin) if END in lines[begin:] else begin
        own = [line for line in lines[:begin] + lines[end + 1 :] if not _comment(line).startswith(MARK)]
    else:
        own = lines
    if own == lines and not keys:
        return text
    kept = [*own, *([BEGIN, *keys, END] if keys else [])]
    return "".join(f"{line}\n" for line in kept)


def _comment(line: str) -> str:
    return line.rpartition(" ")[2]


def _replace(file: Path, text: str) -> None:
    """Replaces the file as a whole: nobody is ever locked out by a half of it. Raises OSError."""
    file.parent.mkdir(mode=0o700, exist_ok=True)
    number, name = tempfile.mkstemp(dir=file.parent, prefix=".authorized_keys.")
    try:
        with os.fdopen(number, "w", encoding="utf-8") as opened:  # mkstemp makes the file for its owner only
            opened.write(text)
            opened.flush()
            os.fsync(opened.fileno())
        os.replace(name, file)
    except OSError:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
