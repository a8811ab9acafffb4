"""`centavo stop`: asks whoever controls the run, and says when nobody would hear it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from controller.commands.shared import owned
from controller.domain.lease import HeadEnding, Lease, Place
from controller.owning.asked import AskedReader
from controller.owning.keys import ASKED, LEASE
from controller.owning.lease_document import to_document
from tests.unit.controller.commands.command_line import Captured, centavo
from tests.unit.controller.owning.bucket_in_memory import NOW, SWITCH, BucketInMemory, claim

Holding = Callable[..., Lease]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> BucketInMemory:
    made = BucketInMemory()
    monkeypatch.setattr(owned, "bucket_of", lambda environment: made)
    return made


def hold(bucket: BucketInMemory, **changes: object) -> None:
    """Puts a lease into the bucket: the head's, for the run `one`, unless the changes say otherwise."""
    first = claim("there").first(NOW)
    lease = replace(first, run="one", stage="training", holder=replace(first.holder, place=Place.HEAD))
    bucket.put(LEASE, to_document(replace(lease, **changes)), 1)  # type: ignore[arg-type]


def test_the_controller_on_the_head_is_asked(root: Path, bucket: BucketInMemory, capsys: Captured) -> None:
    hold(bucket)
    assert centavo(root, "stop") == 0
    told = capsys.readouterr().out
    assert "Asked the controller on the head to end the run one." in told
    assert "The head stops itself 3 min 20 s after the training. `centavo destroy` removes it." in told
    assert AskedReader(bucket).look("one") is not None


def test_a_head_that_stays_is_told_as_well(root: Path, bucket: BucketInMemory, capsys: Captured) -> None:
    hold(bucket, switch=replace(SWITCH, head=HeadEnding.KEEP))
    assert centavo(root, "stop") == 0
    assert "The head runs on after the training. `centavo destroy` removes it." in capsys.readouterr().out


def test_a_controller_on_a_machine_hears_it_as_well(root: Path, bucket: BucketInMemory, capsys: Captured) -> None:
    hold(bucket, holder=claim("desk").holder)
    assert centavo(root, "stop") == 0
    assert f"Asked the controller on {claim('desk').holder.host}" in capsys.readouterr().out


@pytest.mark.parametrize("changes", [{"run": None}, {"stage": "ended"}])
def test_where_no_run_is_under_way_nothing_is_asked(
    root: Path, bucket: BucketInMemory, capsys: Captured, changes: dict[str, object]
) -> None:
    hold(bucket, **changes)
    assert centavo(root, "stop") == 1
    assert "No run is under way in test." in capsys.readouterr().err and ASKED not in bucket.kept


def test_where_nobody_would_hear_it_a_person_is_told_what_helps(
    root: Path, bucket: BucketInMemory, capsys: Captured
) -> None:
    hold(bucket)
    bucket.now += 1000.0
    assert centavo(root, "stop") == 1
    told = capsys.readouterr().err
    assert "No controller is there to end the run one" in told and "destroy" in told and ASKED not in bucket.kept


@pytest.mark.usefixtures("root")
def test_a_cluster_without_a_bucket_has_no_run(root: Path, capsys: Captured) -> None:
    assert centavo(root, "stop") == 1
    assert "No run is under way" in capsys.readouterr().err
