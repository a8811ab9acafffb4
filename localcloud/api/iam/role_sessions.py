"""The credentials of instances: each instance with a role has a session of that role, with a key of its own."""

from __future__ import annotations

import threading
from datetime import datetime, timedelta, timezone
from typing import Any

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.sts.models import AssumedRole, sts_backends

from localcloud.credentials import temporary_key
from localcloud.link.spec import RoleSession

LASTS = timedelta(hours=6)
RENEWED_BEFORE_END = timedelta(hours=1)
"""EC2 gives new credentials at least five minutes before the old ones end; botocore asks for them 15 minutes before."""
TIME = "%Y-%m-%dT%H:%M:%SZ"


class RoleSessions:
    """Gives each instance the credentials of its role, and new ones before they end.

    The sessions are moto's assumed roles, so that STS knows them too. A session stays valid until its end, as on AWS,
    also when its instance is gone.
    """

    def __init__(self, region: str) -> None:
        self._region, self._lock = region, threading.Lock()
        self._by_instance: dict[str, tuple[AssumedRole, RoleSession]] = {}

    def of(self, instance_id: str, role: Any, now: datetime | None = None) -> RoleSession:
        """Returns the credentials of an instance with a role of moto's."""
        moment = now or datetime.now(timezone.utc)
        with self._lock:
            held = self._by_instance.get(instance_id)
            if held is None or held[0].role_arn != role.arn or _end(held[0]) - moment < RENEWED_BEFORE_END:
                held = self._by_instance[instance_id] = self._new(instance_id, role, moment)
            return held[1]

    def _new(self, instance_id: str, role: Any, now: datetime) -> tuple[AssumedRole, RoleSession]:
        key = temporary_key()
        assumed = AssumedRole(
            account_id=DEFAULT_ACCOUNT_ID,
            region_name=self._region,
            access_key=key,  # type: ignore[arg-type]  # moto reads the id and the secret only
            role_session_name=instance_id,
            role_arn=role.arn,
            policy="",
            duration=0,
            external_id="",
        )
        assumed.session_token, assumed.expiration = str(key.session_token), now + LASTS
        sts_backends[DEFAULT_ACCOUNT_ID]["aws"].assumed_roles.append(assumed)
        times = now.strftime(TIME), assumed.expiration.strftime(TIME)
        return assumed, RoleSession(role.name, *times, key.access_key_id, key.secret_access_key, str(key.session_token))


def _end(session: AssumedRole) -> datetime:
    return session.expiration.replace(tzinfo=timezone.utc)
