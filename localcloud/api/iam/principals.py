"""Who has signed a request, and the policies of that role or user."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.iam.models import IAMBackend, iam_backends
from moto.sts.models import AssumedRole, sts_backends

from localcloud.api.iam.policy import Policy


@dataclass(frozen=True)
class Principal:
    """A role that was assumed, or a user.

    Attributes:
        arn: how AWS names it in its errors.
        user_id: the value of `aws:userid`.
        policies: its inline and managed policies.
    """

    arn: str
    user_id: str
    policies: tuple[Policy, ...]


def principal_of(access_key_id: str) -> Principal | None:
    """Returns whose key this is; None for the key of the person who started the cloud, whom no policy limits."""
    session = session_of(access_key_id)
    if session is not None:
        return Principal(session.arn, session.user_id, _policies_of_role(session.role_arn))
    for user in _iam().users.copy().values():
        if any(key.access_key_id == access_key_id for key in list(user.access_keys)):
            groups = [group for group in _iam().groups.copy().values() if user in group.users]
            return Principal(user.arn, user.id, _policies(user, *groups))
    return None


def session_of(access_key_id: str) -> AssumedRole | None:
    """Returns the assumed role that has a key; None if the key is not one of an assumed role."""
    sessions: Iterable[AssumedRole] = sts_backends[DEFAULT_ACCOUNT_ID]["aws"].assumed_roles.copy()
    return next((session for session in sessions if session.access_key_id == access_key_id), None)


def _iam() -> IAMBackend:
    return iam_backends[DEFAULT_ACCOUNT_ID]["aws"]


def _policies_of_role(arn: str) -> tuple[Policy, ...]:
    """Returns the policies that a role has now. A role that was deleted has none."""
    role = next((role for role in _iam().roles.copy().values() if role.arn == arn), None)
    return () if role is None else _policies(role)


def _policies(*holders: Any) -> tuple[Policy, ...]:
    """Returns the inline and the managed policies of roles, users and groups of moto's."""
    texts: list[str] = []
    for holder in holders:
        texts += holder.policies.copy().values()
        texts += [
            version.document
            for policy in holder.managed_policies.copy().values()
            for version in policy.versions
            if version.version_id == policy.default_version_id
        ]
    return tuple(_parsed(text) for text in texts)


@lru_cache(maxsize=1000)
def _parsed(text: str) -> Policy:
    policy: Policy = json.loads(text)
    return policy
