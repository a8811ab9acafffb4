"""The lease is read by S3's own clocks, and claimed only while it is what was read."""

from __future__ import annotations

import pytest

from controller.warden import bucket as module
from controller.warden.bucket import Bucket, Claim, age_s
from controller.warden.look import Standing
from tests.unit.controller.warden.stand_ins import S3, refused


@pytest.fixture
def s3() -> S3:
    return S3()


@pytest.fixture
def bucket(s3: S3, monkeypatch: pytest.MonkeyPatch) -> Bucket:
    monkeypatch.setattr(module, "BETWEEN_TRIES_S", 0.0)
    return Bucket("unit", "unit-bucket", "us-east-1", s3)


def test_the_age_is_what_s3_says(s3: S3, bucket: Bucket) -> None:
    s3.lease()
    s3.now_s = 42
    look = bucket.look()
    assert (look.standing, look.age_s) == (Standing.FOUND, 42)


def test_a_bucket_without_a_lease_and_one_that_is_silent_are_different(s3: S3, bucket: Bucket) -> None:
    assert bucket.look().standing is Standing.MISSING
    s3.is_there = False
    look = bucket.look()
    assert look.standing is Standing.UNREAD and "s3://unit-bucket/control/lease.json" in look.problem


@pytest.mark.parametrize("body", [b"", b"{", b"\x00" * 100_000])
def test_a_lease_that_cannot_be_understood_counts_as_unread(s3: S3, bucket: Bucket, body: bytes) -> None:
    s3.write("control/lease.json", body)
    assert bucket.look().standing is Standing.UNREAD


def test_an_answer_that_is_none_of_s3s_counts_as_unread(
    s3: S3, bucket: Bucket, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(s3, "get_object", lambda **_: {"Body": None})
    assert bucket.look().standing is Standing.UNREAD


def test_a_claim_keeps_what_the_controller_wrote(s3: S3, bucket: Bucket) -> None:
    s3.lease(unknown="kept")
    assert bucket.claim(bucket.look(), "head", "no-controller") == (Claim.TAKEN, "")
    written = s3.read_lease()
    assert written["unknown"] == "kept" and written["generation"] == 1
    assert written["fired"]["by"] == "head" and written["fired"]["why"] == "no-controller"


def test_a_lease_that_was_renewed_since_the_look_is_not_claimed(s3: S3, bucket: Bucket) -> None:
    s3.lease()
    look = bucket.look()
    s3.lease(step=8)
    assert bucket.claim(look, "head", "no-controller")[0] is Claim.LOST
    assert s3.read_lease()["fired"] is None


def test_a_conflict_is_tried_again(s3: S3, bucket: Bucket) -> None:
    s3.lease()
    s3.conflicts = 3
    assert bucket.claim(bucket.look(), "head", "x")[0] is Claim.TAKEN
    s3.lease()
    s3.conflicts = 99
    assert bucket.claim(bucket.look(), "head", "x")[0] is Claim.LOST, "somebody goes on writing the lease"


def test_every_claim_writes_other_bytes(s3: S3, bucket: Bucket) -> None:
    s3.lease(written="the controller's")
    look, seen = bucket.look(), set()
    for _ in range(2):
        s3.lease(written="the controller's")
        assert bucket.claim(bucket.look(), "head", "x")[0] is Claim.TAKEN
        seen.add(s3.read_lease()["written"])
    assert len(seen | {look.document["written"]}) == 3


def test_a_bucket_that_cannot_be_written_is_told(s3: S3, bucket: Bucket) -> None:
    s3.lease()
    s3.may_write = False
    claim, said = bucket.claim(bucket.look(), "head", "x")
    assert claim is Claim.FAILED and "AccessDenied" in said


def test_the_newest_object_of_a_run_tells_when_it_was_last_alive(s3: S3, bucket: Bucket) -> None:
    assert bucket.newest_age_s("run-1") is None
    for at, key in ((10, "run-1/a"), (30, "run-1/b"), (40, "run-10/c"), (50, "run-1/control/journal")):
        s3.now_s = at
        s3.write(key, b"")
    s3.now_s = 100
    assert bucket.newest_age_s("run-1") == 70


@pytest.mark.parametrize(
    ("step_at", "age"),
    [("2026-11-23T00:00:30Z", 70), ("2026-11-23T01:00:30+01:00", 70), (None, None), ("soon", None), (30, None)],
)
def test_the_age_of_the_last_step_is_counted_from_s3s_date(
    s3: S3, bucket: Bucket, step_at: object, age: float | None
) -> None:
    s3.lease(step_at=step_at)
    s3.now_s = 100
    look = bucket.look()
    assert (look.standing, look.step_age_s) == (Standing.FOUND, age)


@pytest.mark.parametrize(
    "headers", [{}, {"date": "x", "last-modified": "y"}, {"date": "Mon, 23 Nov 2026 00:00:00 GMT"}]
)
def test_dates_that_are_none_are_refused(headers: dict[str, str]) -> None:
    with pytest.raises(ValueError):
        age_s(headers)


def test_a_missing_permission_is_named(s3: S3, bucket: Bucket, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise refused("AccessDenied", "GetObject")

    monkeypatch.setattr(s3, "get_object", refuse)
    look = bucket.look()
    assert look.standing is Standing.UNREAD and "AccessDenied" in look.problem and "GetObject" in look.problem
