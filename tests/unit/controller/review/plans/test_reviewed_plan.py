"""Reviewed plans: exactly what was reviewed is applied, or nothing."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from controller.review.plans.reviewed_plan import (
    KEPT,
    PlanStore,
    ReviewedPlan,
    Seal,
    SealError,
    StateId,
    check_seal,
    file_sha256,
)

STATE = StateId("lineage-1", 7)


@pytest.fixture
def store(tmp_path: Path) -> PlanStore:
    return PlanStore(tmp_path / "plans", tmp_path / "seal.key")


@pytest.fixture
def reviewed(tmp_path: Path, store: PlanStore) -> ReviewedPlan:
    return keep_one(tmp_path, store)


def keep_one(tmp_path: Path, store: PlanStore, created_at: float = 1000.0, content: bytes = b"a plan") -> ReviewedPlan:
    file = tmp_path / "made.tfplan"
    file.write_bytes(content)
    seal = Seal("local", file_sha256(file), "f" * 64, STATE, "capacity", created_at)
    return store.keep(file, seal, "# review")


def check(reviewed: ReviewedPlan, **changes: object) -> None:
    known = {"state": STATE, "capacity_sha256": "capacity", "now": 1060.0, "max_age_s": 3600.0}
    check_seal(reviewed, **{**known, **changes})  # type: ignore[arg-type]


def test_a_plan_that_nobody_touched_may_be_applied(reviewed: ReviewedPlan, store: PlanStore, tmp_path: Path) -> None:
    check(reviewed)
    assert reviewed.plan_file.read_bytes() == b"a plan" and reviewed.review_file.read_text() == "# review"
    assert not (tmp_path / "made.tfplan").exists(), "a second copy is left behind"


def test_plans_are_for_their_owner_only(reviewed: ReviewedPlan) -> None:
    assert reviewed.directory.stat().st_mode & 0o077 == 0 and reviewed.directory.parent.stat().st_mode & 0o077 == 0


def alter_plan(reviewed: ReviewedPlan) -> ReviewedPlan:
    reviewed.plan_file.write_bytes(b"another plan")
    return reviewed


def remove_plan(reviewed: ReviewedPlan) -> ReviewedPlan:
    reviewed.plan_file.unlink()
    return reviewed


def alter_seal(reviewed: ReviewedPlan) -> ReviewedPlan:
    return ReviewedPlan(replace(reviewed.seal, capacity_sha256="another"), reviewed.directory)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (alter_plan, "not the one that was reviewed: its digest differs"),
        (remove_plan, "not the one that was reviewed"),
        (alter_seal, "was altered since the review"),
    ],
)
def test_a_plan_that_was_tampered_with_is_refused(
    reviewed: ReviewedPlan, change: Callable[[ReviewedPlan], ReviewedPlan], message: str
) -> None:
    with pytest.raises(SealError, match=message) as error:
        check(change(reviewed))
    assert "centavo review" in error.value.next_step


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"state": StateId("lineage-1", 8)}, r"state has moved on .* \(serial 7, now 8\)"),
        ({"state": StateId("lineage-2", 7)}, "made for another state"),
        ({"now": 1000.0 + 3601}, "1.0 hours old; at most 1 are allowed"),
        ({"capacity_sha256": "other"}, "capacity file has changed"),
        ({"capacity_sha256": None}, "capacity file has changed"),
    ],
)
def test_a_plan_of_a_world_that_has_moved_on_is_refused_with_how_to_go_on(
    reviewed: ReviewedPlan, changes: dict[str, object], message: str
) -> None:
    with pytest.raises(SealError, match=message) as error:
        check(reviewed, **changes)
    assert error.value.next_step == "Review again with `centavo review`, and apply that plan."


def test_a_plan_that_was_sealed_on_another_machine_is_refused(
    store: PlanStore, reviewed: ReviewedPlan, tmp_path: Path
) -> None:
    other = PlanStore(tmp_path / "other", tmp_path / "other.key")
    made_elsewhere = keep_one(tmp_path, other, created_at=2000.0, content=b"harmful")
    shutil.copytree(made_elsewhere.directory, tmp_path / "plans" / made_elsewhere.seal.name)
    for name in ("latest", made_elsewhere.seal.name, str(tmp_path / "plans" / made_elsewhere.seal.name)):
        with pytest.raises(SealError, match="was not sealed on this machine") as error:
            store.find(name)
        assert "apply --reviewed" in error.value.next_step
    assert store.find(reviewed.seal.name).seal == reviewed.seal


def test_a_seal_that_was_written_anew_without_the_key_is_refused(
    store: PlanStore, reviewed: ReviewedPlan, tmp_path: Path
) -> None:
    reviewed.plan_file.write_bytes(b"harmful")
    forged = replace(reviewed.seal, plan_sha256=file_sha256(reviewed.plan_file))
    folder = reviewed.directory.with_name(forged.name)
    reviewed.directory.rename(folder)
    (folder / "seal.json").write_text(json.dumps(asdict(forged)))
    with pytest.raises(SealError, match="its seal was altered"):
        store.find("latest")


def test_the_key_is_for_its_owner_only_and_lies_outside_of_the_plans(reviewed: ReviewedPlan, tmp_path: Path) -> None:
    key = tmp_path / "seal.key"
    assert key.stat().st_mode & 0o077 == 0 and len(key.read_bytes()) == 32
    assert list((tmp_path / "plans").rglob("*.key")) == []


def test_a_key_that_is_no_key_is_told(reviewed: ReviewedPlan, store: PlanStore, tmp_path: Path) -> None:
    (tmp_path / "seal.key").write_bytes(b"")
    with pytest.raises(SealError, match="has 0 bytes in place of 32"):
        store.find("latest")


def test_a_plan_is_applied_once(reviewed: ReviewedPlan, store: PlanStore) -> None:
    store.mark_applied(reviewed, 1100.0)
    again = store.find(reviewed.seal.name)
    with pytest.raises(SealError, match="was applied already"):
        check(again)


def test_a_plan_is_found_by_digest_fingerprint_file_folder_or_as_the_latest(
    reviewed: ReviewedPlan, store: PlanStore, tmp_path: Path
) -> None:
    seal = reviewed.seal
    names = [
        seal.digest,
        seal.name,
        seal.digest[:8],
        f"sha256:{seal.digest}",
        seal.fingerprint[:16],
        "latest",
        str(reviewed.plan_file),
        str(reviewed.directory),
    ]
    assert {store.find(name).seal for name in names} == {seal}
    newer = keep_one(tmp_path, store, created_at=2000.0, content=b"newer")
    assert store.find("latest").seal == newer.seal
    assert store.find("f" * 16).seal == newer.seal, "of two plans that do the same, the newer one is meant"


@pytest.mark.parametrize("reference", ["", "abc", "0123456789", "/nowhere/plan.tfplan", "latest-one"])
def test_a_plan_that_is_not_there_is_told_with_those_that_are(
    reviewed: ReviewedPlan, store: PlanStore, reference: str
) -> None:
    with pytest.raises(SealError) as error:
        store.find(reference)
    assert reviewed.seal.name in error.value.next_step


def test_an_empty_store_has_no_latest_plan(store: PlanStore) -> None:
    with pytest.raises(SealError, match="No reviewed plan"):
        store.find("latest")


def test_a_folder_that_is_no_plan_is_passed_over(reviewed: ReviewedPlan, store: PlanStore) -> None:
    stray = reviewed.directory.parent / "stray"
    stray.mkdir()
    (stray / "seal.json").write_text(json.dumps({"environment": "local"}))
    assert [one.seal for one in store.all()] == [reviewed.seal]


def test_old_plans_are_removed(store: PlanStore, tmp_path: Path) -> None:
    made = [keep_one(tmp_path, store, created_at=float(n), content=bytes([n])) for n in range(KEPT + 3)]
    assert len(store.all()) == KEPT and not made[0].directory.exists() and made[-1].directory.exists()


def test_a_file_that_changes_during_the_review_is_not_sealed(store: PlanStore, tmp_path: Path) -> None:
    file = tmp_path / "made.tfplan"
    file.write_bytes(b"now")
    with pytest.raises(SealError, match="changed while it was reviewed"):
        store.keep(file, Seal("local", "0" * 64, "f", STATE, None, 0.0), "")
