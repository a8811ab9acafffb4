"""The whole fleet taken back in the middle of a run on localcloud: it waits for capacity, and goes on by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from controller.owning.keys import LEASE
from tests.support.sandbox import Sandbox, client_of, make_sandbox, running_instances, wait_until

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(2400)]

STEPS, AT_STEP = 400, 60
FLAVORS = ("t2.medium", "t2.large", "t2.xlarge", "c5.large", "c5.xlarge", "c5.2xlarge")
NOTICE_S = 75
MOST_LOST = 60
"""Steps between the last checkpoint, made when the first rank leaves, and the end of the last rank."""


def launched_step(sandbox: Sandbox) -> int:
    """Returns the highest step that the launcher knows of."""
    steps = [0]
    for fact in (sandbox.root / ".localcloud").glob("instances/*/home/facts.d/launcher.fact"):
        try:
            steps.append(json.loads(fact.read_text())["step"])
        except (OSError, ValueError, KeyError):
            continue
    return max(steps)


def buy_on_spot(sandbox: Sandbox) -> None:
    """Declares all flavors on the spot market."""
    main = sandbox.environment / "main.tf"
    text = main.read_text()
    assert "{ max_nodes = 12 }" in text
    main.write_text(text.replace("{ max_nodes = 12 }", '{ max_nodes = 12, market = "spot" }'))


def lease(sandbox: Sandbox) -> dict[str, Any]:
    """Returns the cluster's lease."""
    s3 = client_of(sandbox.root, sandbox.endpoint, "s3")
    (bucket,) = [one["Name"] for one in s3.list_buckets()["Buckets"] if one["Name"].startswith("centavo-local-")]
    found: dict[str, Any] = json.loads(s3.get_object(Bucket=bucket, Key=LEASE)["Body"].read())
    return found


def followed(sandbox: Sandbox, file: Path, stack: ExitStack) -> None:
    """Lets `centavo logs --follow` write all logs of the sandbox into a file, until the end of the test."""
    following = sandbox.start("logs", "--follow", output=stack.enter_context(file.open("w")))
    stack.callback(following.wait)
    stack.callback(following.terminate)


def check_followed(text: str, lost: Sequence[str]) -> None:
    """Checks that whoever followed the logs was told of each lost node, and saw rank 0 train before and after."""
    print("\n".join(line for line in text.splitlines() if " -- " in line))
    gone = [text.index(f"worker {one} (c5.large) is gone: nothing more comes from it") for one in lost]
    before, after = text[: min(gone)], text[max(gone) :]
    assert "rank 0 of 2 trains from step 0" in before
    assert " has come\n" in after and "resumed from the checkpoint of step" in after


def test_a_fleet_that_is_taken_back_as_a_whole_costs_little_and_comes_back(tmp_path: Path, stack: ExitStack) -> None:
    sandbox = make_sandbox(
        tmp_path / "centavo", stack, initial={"c5.large": 2}, steps=STEPS, speeds=dict.fromkeys(FLAVORS, 0.2)
    )
    buy_on_spot(sandbox)
    log = stack.enter_context((tmp_path / "optimize.log").open("w+"))
    process = sandbox.start("optimize", output=log)
    told = tmp_path / "optimize.log"

    def has_told(words: str) -> bool:
        assert process.poll() is None or words in told.read_text(), told.read_text()[-3000:]
        return words in told.read_text()

    wait_until(lambda: launched_step(sandbox) >= AT_STEP or not has_told(""), 900, "the training has begun")
    follow = tmp_path / "follow.log"
    followed(sandbox, follow, stack)
    wait_until(lambda: "rank 0 of 2 trains" in follow.read_text(), 300, "the logs are followed")
    sandbox.control("capacity", dict.fromkeys(FLAVORS, 0))
    taken = [instance["InstanceId"] for instance in running_instances(sandbox.ec2(), "worker")]
    for instance_id in taken:
        sandbox.control("interrupt", {"instance_id": instance_id, "in_s": NOTICE_S})
    wait_until(lambda: has_told("no spot capacity"), 300, "the run waits")
    wait_until(lambda: not sandbox.running_workers(), 300, "the fleet is gone")
    wait_until(lambda: has_told("stopping the launcher until there is capacity"), 300, "the launcher is stopped")
    wait_until(lambda: lease(sandbox)["waits_since"] is not None, 120, "the lease tells the wardens of the wait")
    reached = launched_step(sandbox)
    assert "no spot capacity" in sandbox.centavo("status").stdout
    sandbox.control("capacity", dict.fromkeys(FLAVORS, None))

    assert process.wait(1200) == 0, told.read_text()[-3000:]
    report = sandbox.report
    resumed = re.search(r"resumed from the checkpoint of step (\d+)", sandbox.centavo("logs", "--rank", "0").stdout)
    assert resumed is not None, "the training went on from a checkpoint"
    lost = reached - int(resumed[1])
    waited_s, spent_usd = report["spot"]["waited_s"], report["cost"]["spent_usd"]
    print(f"steps lost: {lost} of {reached}; waited {waited_s:.0f} s for capacity; ${spent_usd:.4f} in all")
    assert report["status"] == "finished" and report["training"]["steps"] == STEPS
    assert 0 <= lost <= MOST_LOST
    assert [notice["kind"] for notice in report["spot"]["notices"]] == ["interruption"] * 2
    assert waited_s > 0 and report["spot"]["waiting"] is None and lease(sandbox)["waits_since"] is None
    assert sandbox.running_workers() == {}
    check_followed(follow.read_text(), taken)
