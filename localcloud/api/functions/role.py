"""The credentials of a function's role."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.sts.models import sts_backends

from localcloud.credentials import Key

LONGEST_CALL_S = 900


@contextlib.contextmanager
def assumed(role_arn: str, session: str, region: str) -> Iterator[Key]:
    """Lends a temporary key of a role, as Lambda does for a call. It is valid until the context ends."""
    backend = sts_backends[DEFAULT_ACCOUNT_ID]["aws"]
    role = backend.assume_role(
        region_name=region, role_session_name=session, role_arn=role_arn, policy="", duration=LONGEST_CALL_S,
        external_id="",
    )  # fmt: skip
    try:
        yield Key(role.access_key_id, role.secret_access_key, role.session_token)
    finally:
        backend.assumed_roles.remove(role)
