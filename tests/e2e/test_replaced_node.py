"""A node that its group replaces while nobody watches: it prepares itself, the head lets it in, and it trains."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support.sandbox import Sandbox, edit_yaml, make_sandbox, running_instances, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.long, pytest.mark.timeout(3600)]
LIMIT_S = 900.0


@pytest.fixture
def sandbox(tmp_path: Path) -> Iterator[Sandbox]:
    with ExitStack() as stack:
        one = make_sandbox(
            tmp_path / "checkout", stack, initial={"c5.large": 2}, speeds={"c5.large": 0.3}, steps=100_000
        )  # fmt: skip
        edit_yaml(one.environment / "centavo.yml", lambda it: it["controller"]["timeouts"].update(configure_s=1200))
        yield one


def workers(sandbox: Sandbox) -> dict[str, str]:
    """Returns the addresses of the running workers by their ids."""
    return {one["InstanceId"]: one["PrivateIpAddress"] for one in running_instances(sandbox.ec2(), "worker")}


def home(sandbox: Sandbox, instance_id: str) -> Path:
    return sandbox.root / ".localcloud" / "instances" / instance_id / "home"


def fact(sandbox: Sandbox, instance_id: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = json.loads((home(sandbox, instance_id) / "facts.d" / "iteration.fact").read_text())
        return found
    except (OSError, ValueError):
        return {}


def trains(sandbox: Sandbox, instance_ids: set[str]) -> bool:
    facts = [fact(sandbox, one) for one in instance_ids]
    return all(one.get("state") == "training" and one.get("world_size") == len(facts) for one in facts)


def test_a_node_that_its_group_replaces_at_night_trains_without_anybody(sandbox: Sandbox) -> None:
    for command in ("apply", "configure", "train"):
        began = time.monotonic()
        assert sandbox.centavo(command).returncode == 0
        print(f"`centavo {command}` took {time.monotonic() - began:.0f} s")
    before = workers(sandbox)
    wait_until(lambda: trains(sandbox, set(before)), LIMIT_S, "the training")
    lost = sorted(before)[0]
    sandbox.ec2().terminate_instances(InstanceIds=[lost])
    wait_until(lambda: len(workers(sandbox).keys() - {lost}) == 2, LIMIT_S, "the replacement")
    began = time.monotonic()
    after = set(workers(sandbox)) - {lost}
    (new,) = after - set(before)
    try:
        wait_until(lambda: trains(sandbox, after), LIMIT_S, "the replacement trains")
    finally:
        print((home(sandbox, new).parent / "console.log").read_text()[-6000:])
    print(f"the replacement trained {time.monotonic() - began:.0f} s after it ran")
    again = sandbox.centavo("configure")
    assert again.returncode == 0 and "changed=0" in again.stdout, "Ansible from outside finds nothing to change"
    assert sandbox.centavo("destroy").returncode == 0
