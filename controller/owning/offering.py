"""Offering SSH keys in the cluster's bucket to the nodes, which let them in (controller/warden/admitting/keys.py)."""

from __future__ import annotations

from contextlib import suppress

from controller.domain.errors import AwsError
from controller.edges.bucket.objects import ChangedError, Objects
from controller.owning import keys

TRIES = 5


def offer_key(objects: Objects, public_key: bytes, checkout: str, generation: int) -> None:
    """Offers the public key of a checkout, and removes those of all earlier holders, on the head or elsewhere.

    Raises:
        AwsError: The bucket can't be read or written.
    """
    key = keys.public_key(checkout)
    _write(objects, key, public_key, generation)
    objects.remove_others(keys.PUBLIC_KEYS, key)


def offer_head_key(objects: Objects, public_key: bytes, run: str, generation: int) -> None:
    """Offers the public key of the head's controller of a run, and removes those of controllers there before.

    The head's role may not write this object, so whoever hands the run over does.

    Raises:
        AwsError: The bucket can't be read or written.
    """
    key = keys.head_key(run)
    _write(objects, key, public_key, generation)
    objects.remove_others(keys.HEAD_KEYS, key)


def withdraw_head_keys(objects: Objects) -> None:
    """Removes the public keys of all controllers on the head. Raises AwsError."""
    objects.remove_others(keys.HEAD_KEYS, "")


def _write(objects: Objects, key: str, content: bytes, generation: int) -> None:
    for _ in range(TRIES):
        kept = objects.read(key)
        if kept is not None and kept.content == content:
            return
        with suppress(ChangedError):
            objects.write(key, content, follows=None if kept is None else kept.etag, generation=generation)
            return
    raise AwsError(f"{key} in the cluster's bucket changes faster than it can be written.", "Try again in a moment.")
