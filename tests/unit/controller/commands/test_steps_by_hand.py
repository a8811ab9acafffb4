"""`centavo configure`, `train` and `destroy`: the steps that a person can take without the main job."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from controller.domain import Fleet
from controller.domain.reasons.ending import EnvironmentDestroyed
from controller.edges.account.bucket import Contents
from controller.record.journal import Journal, Stage
from tests.unit.controller.commands.command_line import Captured, centavo
from tests.unit.controller.harness import Controller


def test_configure_prepares_the_nodes_and_starts_nothing(one: Controller, root: Path, capsys: Captured) -> None:
    assert centavo(root, "configure") == 0
    assert all(node.is_configured for node in one.world.nodes) and not one.world.is_started
    assert one.journal.stage() is Stage.STARTING
    said = capsys.readouterr().out
    assert "The nodes are prepared" in said
    told = [event["message"] for event in one.journal.events() if " prepared in " in event["message"]]
    assert told and all(line in said for line in told)
    assert all(re.fullmatch(r"\d x \S+ prepared in \d+ s; warm after launch: .* s", line) for line in told)
    assert centavo(root, "configure") == 0
    assert " prepared in " not in capsys.readouterr().out


def test_train_prepares_the_nodes_and_starts_the_training_on_all_of_them(one: Controller, root: Path) -> None:
    assert centavo(root, "train") == 0
    assert one.world.is_started and len(one.world.hosts) == len(one.world.nodes) == 3
    assert one.journal.members() == {node.instance_id for node in one.world.nodes}
    assert one.journal.stage() is Stage.TRAINING


def test_destroy_lifts_the_protection_empties_the_capacity_and_ends_the_run(
    one: Controller, root: Path, capsys: Captured
) -> None:
    one.world.calls.clear()
    one.terraform.extra_changes = [{"address": "aws_vpc.this", "type": "aws_vpc", "change": {"actions": ["delete"]}}]
    assert centavo(root, "destroy") == 0
    calls = one.world.calls
    assert calls.index("plan") < calls.index("apply") and calls.index("protection") < calls.index("apply")
    assert one.cluster.capacity.read() == Fleet({})
    journal = Journal(one.journal.directory)
    assert (journal.stage(), journal.status()) == (Stage.ENDED, "interrupted")
    assert journal.status_reason() == EnvironmentDestroyed()
    assert "test is down" in capsys.readouterr().out


class Bucket:
    """A bucket with one object and an old version of it."""

    held = Contents(1, 1, 2_000_000)

    def __init__(self, region: str, name: str, is_own: Callable[[str], bool]) -> None:
        self.name = name
        assert is_own("control/lease.json") and is_own("r/control/x") and not is_own("r/results/control/x")

    def contents(self) -> Contents:
        return Bucket.held

    def empty(self) -> int:
        Bucket.held = Contents()
        return 2

    def empty_own(self) -> None:
        """Has nothing of Centavo's own."""


BUCKET = {
    "address": "module.storage.aws_s3_bucket.this",
    "type": "aws_s3_bucket",
    "change": {"actions": ["delete"], "before": {"bucket": "results-1", "force_destroy": False}, "after": None},
}


def test_a_destroy_that_would_fail_at_the_bucket_destroys_nothing_and_empties_it_when_told(
    one: Controller, root: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("controller.commands.destroy.Bucket", Bucket)
    monkeypatch.setattr(Bucket, "held", Bucket.held)
    one.terraform.extra_changes = [BUCKET]
    one.world.calls.clear()
    assert centavo(root, "destroy") != 0
    said = capsys.readouterr().err
    assert "results-1 holds 1 object and 1 old version (2.0 MB)" in said and "nothing was destroyed" in said
    assert "DELETE_DATA=1" in said
    assert not {"apply", "protection"} & set(one.world.calls)
    assert one.journal.stage() is not Stage.ENDED

    assert centavo(root, "destroy", "--delete-data") == 0
    assert "Deleted 2 versions of objects in the bucket results-1" in capsys.readouterr().out
    assert "apply" in one.world.calls and Bucket.held.is_empty
