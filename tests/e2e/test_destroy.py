"""Destroying an environment whose bucket holds results: on localcloud, with the real Terraform."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import boto3
import pytest
from sandbox import Sandbox, make_sandbox

from localcloud.credentials import Credentials

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with ExitStack() as stack:
        made = make_sandbox(tmp_path / "centavo", stack, initial={"c5.large": 1}, steps=10, speeds={"c5.large": 0.3})
        main = made.environment / "main.tf"
        text = main.read_text()
        main.write_text(text.replace("destroy_results = true", "destroy_results = false"))
        assert main.read_text() != text
        yield made


def client(sandbox: Sandbox, service: str) -> Any:
    key = Credentials.from_text((sandbox.root / ".localcloud" / "credentials").read_text()).user
    return boto3.client(
        service,
        endpoint_url=sandbox.endpoint,
        region_name="us-east-1",
        aws_access_key_id=key.access_key_id,
        aws_secret_access_key=key.secret_access_key,
    )


def test_a_bucket_with_results_is_noticed_before_anything_is_destroyed_and_emptied_when_told(sandbox: Sandbox) -> None:
    assert sandbox.centavo("apply").returncode == 0
    state = json.loads((sandbox.environment / "terraform.tfstate").read_text())
    bucket, s3 = state["outputs"]["bucket"]["value"], client(sandbox, "s3")
    for body in (b"first", b"second"):
        s3.put_object(Bucket=bucket, Key="checkpoints/1", Body=body)

    refused = sandbox.centavo("destroy")
    assert refused.returncode != 0
    assert f"The bucket {bucket} holds 1 object and 1 old version" in refused.stdout
    assert "DELETE_DATA=1" in refused.stdout and "nothing was destroyed" in refused.stdout
    assert sandbox.running_workers() == {"c5.large": 1}, "the refused destroy has left everything as it was"

    done = sandbox.centavo("destroy", "--delete-data")
    assert done.returncode == 0
    assert f"Deleted 2 versions of objects in the bucket {bucket}." in done.stdout
    assert "Nothing of it costs money any more." in done.stdout
    assert sandbox.running_workers() == {}
    assert s3.list_buckets()["Buckets"] == []
    assert sandbox.centavo("destroy").stdout.strip().endswith("Nothing was up.")
