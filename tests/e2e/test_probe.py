"""A probe on localcloud goes on without a flavor of which EC2 has no capacity, and measures the others."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.sandbox import edit_yaml, make_sandbox

pytestmark = [pytest.mark.e2e, pytest.mark.long, pytest.mark.timeout(1800)]

FLAVORS = ("t2.medium", "t2.large", "t2.xlarge", "c5.large", "c5.xlarge", "c5.2xlarge")
LACKING = ("c5.large", "t2.large")
"""Flavors that look cheaper per token than the c5.2xlarge that trains, and of which there is no capacity."""


def test_a_probe_goes_on_without_a_flavor_that_ec2_does_not_have(tmp_path: Path, stack: ExitStack) -> None:
    sandbox = make_sandbox(
        tmp_path / "centavo", stack, initial={"c5.2xlarge": 2}, steps=300, speeds=dict.fromkeys(FLAVORS, 0.14)
    )
    edit_yaml(sandbox.environment / "centavo.yml", lambda it: it["limits"].update(min_nodes=2, max_nodes=8))
    sandbox.control("capacity", dict.fromkeys(LACKING, 0))

    done = sandbox.centavo("optimize", timeout_s=1500)

    assert done.returncode == 0
    assert "going on without 1 x " in done.stdout
    report = sandbox.report
    probe = next(move for move in report["moves"] if move["left_out"])
    assert (probe["outcome"], probe["steps_lost"]) == ("done", 0)
    assert {*probe["left_out"]} <= {*LACKING}
    measured = {flavor for flavor, nodes in probe["to"].items() if nodes} - {"c5.2xlarge"}
    assert measured and not measured & {*probe["left_out"]}
    assert report["status"] == "finished" and report["training"]["steps_lost"] == 0
    assert sandbox.running_workers() == {}
