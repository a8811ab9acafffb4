"""SSH keys that are offered to the nodes: the newest counts, and those of earlier holders go."""

from __future__ import annotations

import pytest

from controller.domain.errors import AwsError
from controller.owning import keys
from controller.owning.offering import TRIES, offer_head_key, offer_key, withdraw_head_keys
from tests.unit.controller.owning.bucket_in_memory import BucketInMemory


@pytest.fixture
def bucket() -> BucketInMemory:
    one = BucketInMemory()
    one.put(keys.public_key("before"), b"BEFORE", 1)
    one.put(keys.head_key("run-before"), b"HEAD BEFORE", 1)
    return one


def offered(bucket: BucketInMemory) -> dict[str, bytes]:
    return {key: kept[0] for key, kept in bucket.kept.items()}


def test_a_take_over_ends_the_keys_of_all_before_the_heads_among_them(bucket: BucketInMemory) -> None:
    for content in (b"OWN", b"OWN, made anew"):
        offer_key(bucket, content, "own", 2)
        assert offered(bucket) == {keys.public_key("own"): content}


def test_the_heads_key_ends_those_of_heads_before_and_is_withdrawn_alone(bucket: BucketInMemory) -> None:
    offer_head_key(bucket, b"HEAD", "run-1", 2)
    assert offered(bucket) == {keys.public_key("before"): b"BEFORE", keys.head_key("run-1"): b"HEAD"}
    withdraw_head_keys(bucket)
    assert offered(bucket) == {keys.public_key("before"): b"BEFORE"}


def test_a_key_that_others_write_at_the_same_time_is_written_or_the_failure_told(bucket: BucketInMemory) -> None:
    tries = 0

    def be_faster(key: str) -> None:
        nonlocal tries
        tries += 1
        if tries <= faster:
            bucket.put(key, f"OTHER {tries}".encode(), 1)

    bucket.before_write, faster = be_faster, TRIES - 1
    offer_key(bucket, b"OWN", "own", 2)
    assert offered(bucket) == {keys.public_key("own"): b"OWN"}
    tries, faster = 0, TRIES
    with pytest.raises(AwsError, match="changes faster"):
        offer_key(bucket, b"NEW", "own", 2)
