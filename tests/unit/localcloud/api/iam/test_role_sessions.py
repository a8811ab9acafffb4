"""The credentials of instances: one key for each, renewed before it ends, and refused once it has."""

from __future__ import annotations

from datetime import datetime, timedelta, timezone
from types import SimpleNamespace

from localcloud.api.iam.principals import session_of
from localcloud.api.iam.role_sessions import RoleSessions

NOW = datetime(2026, 11, 23, 6, 0, tzinfo=timezone.utc)
ROLE = SimpleNamespace(name="worker", arn="arn:aws:iam::123456789012:role/worker")
OTHER = SimpleNamespace(name="head", arn="arn:aws:iam::123456789012:role/head")


def test_an_instance_keeps_its_credentials_until_shortly_before_their_end() -> None:
    sessions = RoleSessions("us-east-1")
    first = sessions.of("i-1", ROLE, NOW)
    assert (first.last_updated, first.expiration) == ("2026-11-23T06:00:00Z", "2026-11-23T12:00:00Z")
    assert sessions.of("i-1", ROLE, NOW + timedelta(hours=5)) == first
    second = sessions.of("i-1", ROLE, NOW + timedelta(hours=5, minutes=1))
    assert second.access_key_id != first.access_key_id
    assert second.expiration == "2026-11-23T17:01:00Z"
    assert session_of(first.access_key_id) is not None  # it is valid until its own end


def test_another_role_gives_other_credentials() -> None:
    sessions = RoleSessions("us-east-1")
    assert sessions.of("i-1", ROLE, NOW).access_key_id != sessions.of("i-1", OTHER, NOW).access_key_id
    assert sessions.of("i-1", OTHER, NOW).name == "head"


def test_a_session_does_not_show_its_secrets_where_it_is_printed() -> None:
    session = RoleSessions("us-east-1").of("i-1", ROLE, NOW)
    assert session.secret_access_key not in repr(session)
    assert session.session_token not in repr(session)
