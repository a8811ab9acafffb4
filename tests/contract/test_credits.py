"""CPU credits on localcloud: a host has an account of them, CloudWatch tells it, and the controller reads it there."""

from __future__ import annotations

import json
import time
from pathlib import Path

import pytest

from controller.edges.account.credits import AwsCredits
from localcloud.link.instance_dir import InstanceDir
from tests.support.local_cloud import LocalCloud, wait_until
from trainer.node.credits import VARIABLE, emulated_credits


def test_the_controller_reads_in_cloudwatch_what_a_rank_on_the_host_has_spent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    burstable = {"t2.medium": {"launch": 2, "per_hour": 24}}
    with LocalCloud(tmp_path, credits=burstable, credit_metrics_s=0.2) as cloud:
        node, other = cloud.run(InstanceType="t2.medium"), cloud.run(InstanceType="c5.large")
        told = cloud.ssh(cloud.ready(node), f"echo ${VARIABLE}; cat ${VARIABLE}").stdout.splitlines()
        path = InstanceDir.of(cloud.state_dir, node).credits
        assert told[0] == str(path)
        assert json.loads(told[1])["vcpus"] == 2
        assert cloud.ssh(cloud.ready(other), f"echo ${VARIABLE}").stdout == "\n"

        account = emulated_credits({VARIABLE: str(path)})
        assert account is not None
        time.sleep(1.1)  # an account is written once a second at most
        account.stretched_s(30.0)
        for name, value in cloud.environment.items():
            monkeypatch.setenv(name, value)
        credits = AwsCredits("us-east-1")
        found = wait_until(
            lambda: (told := credits.credits([node, other], time.time())) and told[node].balance < 1.5 and told,
            "the balance in CloudWatch",
        )
        assert list(found) == [node]
        assert found[node].balance == pytest.approx(2 - 30 * (2 / 60 - 24 / 3600), abs=0.05)
        assert found[node].surplus == 0
