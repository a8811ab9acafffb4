"""The secrets of a cloud."""

from __future__ import annotations

from pathlib import Path

import boto3
import pytest

from localcloud.credentials import Credentials, temporary_key


def test_what_is_written_is_read_again() -> None:
    credentials = Credentials.random()
    assert Credentials.from_text(credentials.to_text()) == credentials


def test_no_two_clouds_have_the_same_secrets() -> None:
    first, second = Credentials.random(), Credentials.random()
    assert first.user != second.user
    assert temporary_key() != temporary_key()
    assert first.control_token != second.control_token


def test_aws_clients_find_the_users_key_in_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    credentials, file = Credentials.random(), tmp_path / "credentials"
    file.write_text(credentials.to_text())
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", str(file))
    found = boto3.Session().get_credentials().get_frozen_credentials()
    assert (found.access_key, found.secret_key, found.token) == (
        credentials.user.access_key_id, credentials.user.secret_access_key, None,
    )  # fmt: skip


@pytest.mark.parametrize("text", ["", "no section", "[default]\naws_access_key_id = a\n"])
def test_another_file_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not a file with localcloud's credentials"):
        Credentials.from_text(text)
