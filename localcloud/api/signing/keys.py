"""The keys of a cloud: those that it makes when it starts, and those that calls of IAM and STS make later."""

from __future__ import annotations

from datetime import timezone

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.iam.models import iam_backends

from localcloud.api.iam.principals import session_of
from localcloud.credentials import Credentials, Key


class Keys:
    """Finds keys by their id."""

    def __init__(self, credentials: Credentials) -> None:
        self._own = credentials.user

    def find(self, access_key_id: str) -> Key | None:
        """Returns a key, or None if this cloud did not make it, or if it is switched off."""
        if access_key_id == self._own.access_key_id:
            return self._own
        return _of_user(access_key_id) or _of_assumed_role(access_key_id)


def _of_user(access_key_id: str) -> Key | None:
    for user in iam_backends[DEFAULT_ACCOUNT_ID]["aws"].users.copy().values():
        for key in list(user.access_keys):
            if key.access_key_id == access_key_id and key.status == "Active":
                return Key(key.access_key_id, key.secret_access_key)
    return None


def _of_assumed_role(access_key_id: str) -> Key | None:
    session = session_of(access_key_id)
    if session is None:
        return None
    ends = session.expiration.replace(tzinfo=timezone.utc)
    return Key(session.access_key_id, session.secret_access_key, session.session_token, ends)
