"""Terraform and its controller killed with -9 in the middle of an apply: the next process carries on, and says so.

Real Terraform, without a provider: a resource whose making waits for a file. The state is in a file or in S3 (moto).
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import boto3
import pytest
from moto.server import ThreadedMotoServer

from controller.domain.errors import TerraformError
from controller.domain.reasons.moving import StateLocked
from controller.edges.process_identity import process
from controller.edges.terraform import Terraform

pytestmark = [pytest.mark.slow, pytest.mark.needs_tool("terraform")]

MADE = """
resource "terraform_data" "first" {}
resource "terraform_data" "slow" {
  triggers_replace = [terraform_data.first.id]
  provisioner "local-exec" { command = "touch making; while [ ! -e go ]; do sleep 0.05; done" }
}
"""
IN_S3 = """
terraform {
  backend "s3" {
    bucket = "states"
    key = "test.tfstate"
    region = "us-east-1"
    endpoints = { s3 = "ENDPOINT" }
    use_lockfile = true
    use_path_style = true
    skip_credentials_validation = true
    skip_metadata_api_check = true
    skip_region_validation = true
    skip_requesting_account_id = true
  }
}
"""
LOCK_KEY = "test.tfstate.tflock"
CONTROLLER = """
import sys
from pathlib import Path
from controller.edges.terraform import Terraform
here = Path(sys.argv[1])
terraform = Terraform(here, here / "terraform.log", ["true"])
terraform.apply(terraform.plan(here / "plan").file)
"""


@pytest.fixture(scope="module")
def s3() -> Iterator[str]:
    """The address of an S3 with a bucket for states."""
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    yield f"http://{host}:{port}"
    server.stop()


@pytest.fixture
def bucket(s3: str, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
    client = boto3.client("s3", endpoint_url=s3, region_name="us-east-1")
    client.create_bucket(Bucket="states")
    for item in client.list_objects_v2(Bucket="states").get("Contents", []):
        client.delete_object(Bucket="states", Key=item["Key"])
    return client


@pytest.fixture
def told() -> list[str]:
    return []


def initialised(here: Path, backend: str = "") -> None:
    (here / "main.tf").write_text(backend + MADE)
    subprocess.run(["terraform", "init", "-input=false"], cwd=here, check=True, capture_output=True)


def wait_for(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def killed_in_apply(here: Path, *, terraform_too: bool) -> int:
    """A controller that is killed in the middle of an apply, and perhaps its Terraform. Returns Terraform's number."""
    controller = subprocess.Popen([sys.executable, "-c", CONTROLLER, str(here)])
    wait_for((here / "making").exists)
    [record] = (here / "terraform").glob("*.json")
    pid = int(json.loads(record.read_text())["process"]["pid"])
    controller.kill()
    controller.wait()
    if terraform_too:
        os.killpg(pid, signal.SIGKILL)
        wait_for(process(pid).is_dead)
    return pid


def next_process(here: Path, told: list[str]) -> Terraform:
    return Terraform(here, here / "terraform.log", ["true"], tell=told.append)


def resources(here: Path) -> set[str]:
    told = subprocess.run(["terraform", "state", "list"], cwd=here, capture_output=True, text=True, check=True).stdout
    return set(told.split())


def test_a_killed_terraform_with_its_state_in_a_file_is_carried_on_from(tmp_path: Path, told: list[str]) -> None:
    initialised(tmp_path)
    killed_in_apply(tmp_path, terraform_too=True)
    terraform = next_process(tmp_path, told)
    (tmp_path / "go").touch()
    terraform.apply(terraform.plan(tmp_path / "plan").file)
    assert not terraform.plan(tmp_path / "plan").has_changes
    assert list((tmp_path / "terraform").iterdir()) == []


def test_the_lock_that_a_killed_terraform_leaves_in_s3_is_cleared_and_told(
    tmp_path: Path, told: list[str], s3: str, bucket: object
) -> None:
    initialised(tmp_path, IN_S3.replace("ENDPOINT", s3))
    killed_in_apply(tmp_path, terraform_too=True)
    assert read_lock(bucket)["Operation"] == "OperationTypeApply"
    terraform = next_process(tmp_path, told)
    (tmp_path / "go").touch()
    terraform.apply(terraform.plan(tmp_path / "plan").file)
    assert len(told) == 1 and "was killed (OperationTypeApply" in told[0] and "the lock is cleared" in told[0]
    assert not terraform.plan(tmp_path / "plan").has_changes
    assert resources(tmp_path) == {"terraform_data.first", "terraform_data.slow"}
    assert list((tmp_path / "terraform").iterdir()) == []


def test_a_lock_of_somebody_else_is_left_alone_and_told_with_what_to_do(
    tmp_path: Path, told: list[str], s3: str, bucket: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    initialised(tmp_path, IN_S3.replace("ENDPOINT", s3))
    killed_in_apply(tmp_path, terraform_too=True)
    lock = {**read_lock(bucket), "Who": "eve@elsewhere"}
    bucket.put_object(Bucket="states", Key=LOCK_KEY, Body=json.dumps(lock).encode())  # type: ignore[attr-defined]
    monkeypatch.setattr("controller.edges.terraform.LOCK_TIMEOUT", "0s")
    with pytest.raises(TerraformError, match=r"state is locked since 20.* by eve@elsewhere") as error:
        next_process(tmp_path, told).plan(tmp_path / "plan")
    assert isinstance(error.value.reason, StateLocked) and error.value.reason.lock_id == lock["ID"]
    assert f"force-unlock {lock['ID']}" in error.value.next_step
    assert read_lock(bucket) == lock and told == []


def test_a_terraform_that_outlives_its_controller_is_waited_for_and_its_work_counts(
    tmp_path: Path, told: list[str], s3: str, bucket: object
) -> None:
    initialised(tmp_path, IN_S3.replace("ENDPOINT", s3))
    pid = killed_in_apply(tmp_path, terraform_too=False)
    assert not process(pid).is_dead()
    plans: list[bool] = []

    def go_on() -> None:
        plans.append(next_process(tmp_path, told).plan(tmp_path / "plan").has_changes)

    carrying_on = threading.Thread(target=go_on)
    carrying_on.start()
    wait_for(lambda: told)
    assert re.search(rf"terraform apply \(process {pid}\) of a controller that has died still runs", told[0])
    (tmp_path / "go").touch()
    carrying_on.join(60)
    assert plans == [False] and len(told) == 1
    assert resources(tmp_path) == {"terraform_data.first", "terraform_data.slow"}


def read_lock(bucket: object) -> dict[str, str]:
    answer = bucket.get_object(Bucket="states", Key=LOCK_KEY)  # type: ignore[attr-defined]
    lock: dict[str, str] = json.loads(answer["Body"].read())
    return lock
