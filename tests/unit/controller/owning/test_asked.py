"""What a person asks of the controller: for one run, in one call a look, and nothing that can't be understood."""

from __future__ import annotations

import json

import pytest

from controller.domain.reasons.ending import StopAsked
from controller.owning.asked import MOST_BYTES, Asked, AskedReader, ask_to_stop
from controller.owning.keys import ASKED
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory

ASKS = Asked("one", "ada@laptop", NOW)


def test_the_controller_of_the_run_hears_it_and_no_other(bucket: BucketInMemory) -> None:
    reader = AskedReader(bucket)
    assert reader.look("one") is None
    ask_to_stop(bucket, ASKS, 3)
    assert reader.look("one") == StopAsked("ada@laptop", NOW)
    assert reader.look("one") == StopAsked("ada@laptop", NOW), "an object that has not changed is not read again"
    assert reader.look("two") is None


def test_asking_again_replaces_what_was_asked_though_another_was_faster(bucket: BucketInMemory) -> None:
    ask_to_stop(bucket, ASKS, 3)

    def faster(key: str) -> None:
        bucket.before_write = lambda key: None
        bucket.put(key, b"{}", 1)

    bucket.before_write = faster
    ask_to_stop(bucket, Asked("two", "bob@desk", NOW), 3)
    assert AskedReader(bucket).look("two") == StopAsked("bob@desk", NOW)


def test_a_bucket_that_cannot_be_reached_changes_nothing(bucket: BucketInMemory) -> None:
    reader = AskedReader(bucket)
    bucket.is_reachable = False
    assert reader.look("one") is None
    bucket.is_reachable = True
    ask_to_stop(bucket, ASKS, 3)
    assert reader.look("one") is not None
    bucket.is_reachable = False
    assert reader.look("one") is not None, "what was heard once stays heard"


@pytest.mark.parametrize(
    "content",
    [b"", b"no json", b"[]", b"7", b'{"version": 2}', b"\xff\xfe", b"[" * 5_000, b" " * MOST_BYTES],
)
def test_what_cannot_be_understood_asks_for_nothing(bucket: BucketInMemory, content: bytes) -> None:
    bucket.put(ASKED, content, 1)
    assert AskedReader(bucket).look("one") is None


@pytest.mark.parametrize(("key", "value"), [("ask", "delete"), ("version", 2), ("at", "soon"), ("run", "other")])
def test_another_wish_is_passed_over(bucket: BucketInMemory, key: str, value: object) -> None:
    ask_to_stop(bucket, ASKS, 1)
    plain = json.loads(bucket.kept[ASKED][0])
    bucket.put(ASKED, json.dumps({**plain, key: value}).encode(), 1)
    assert AskedReader(bucket).look("one") is None


@pytest.fixture
def bucket() -> BucketInMemory:
    return BucketInMemory()
