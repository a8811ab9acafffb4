"""What the commands export to boto3 and Terraform."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import boto3
import pytest

from controller.commands.shared.exports import PREFERRED_CREDENTIALS, export_credentials
from controller.config.environment import Environment
from controller.config.load import load_environment, parse_settings
from tests.unit.controller.harness import SETTINGS

REPOSITORY = Path(__file__).resolve().parents[5]
FILE = "[default]\naws_access_key_id = of the file\naws_secret_access_key = secret\n"


def environment(root: Path, **aws: Any) -> Environment:
    return Environment("test", root, parse_settings({**SETTINGS, "aws": {"region": "us-east-1", **aws}}, root / "it"))


@pytest.fixture
def other_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """The credentials of another account in the process's environment, as a person's shell may have them."""
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nowhere")
    for name in PREFERRED_CREDENTIALS:
        monkeypatch.setenv(name, "of another account")


@pytest.mark.usefixtures("other_account")
def test_credentials_of_the_named_file_come_before_those_of_the_shell(tmp_path: Path) -> None:
    (tmp_path / "credentials").write_text(FILE)
    export_credentials(environment(tmp_path, credentials_file="credentials"))
    found = boto3.Session().get_credentials()
    assert (found.access_key, found.secret_key, found.token) == ("of the file", "secret", None)


@pytest.mark.usefixtures("other_account")
def test_without_a_named_file_credentials_come_from_where_aws_looks(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.delenv("AWS_PROFILE")
    export_credentials(environment(tmp_path))
    assert boto3.Session().get_credentials().access_key == "of another account"


def test_local_uses_the_file_that_localcloud_makes() -> None:
    aws = load_environment(REPOSITORY, "local").settings.aws
    assert aws.credentials_file == Path(".localcloud/credentials")
    assert not [name for name in aws.environment if "KEY" in name]
