"""Objects that nodes are supplied with, in a bucket that deletes old ones."""

from __future__ import annotations

from datetime import timedelta

import pytest

from controller.edges.bucket.objects import BucketObjects
from controller.edges.supplying import store as edge
from controller.edges.supplying.store import Store
from tests.unit.controller.edges.bucket.on_moto import REGION, bucket_on_moto, moto

__all__ = ["bucket_on_moto", "moto"]


def test_an_object_that_the_bucket_will_delete_counts_as_missing(
    bucket_on_moto: BucketObjects, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, bucket = (
        Store(
            REGION,
        ),
        bucket_on_moto.bucket,
    )
    assert not store.has(bucket, "corpus/1") and store.read(bucket, "corpus/1") is None
    store.write(bucket, "corpus/1", b"sentences")
    assert store.has(bucket, "corpus/1") and store.read(bucket, "corpus/1") == b"sentences"
    monkeypatch.setattr(edge, "FRESH_FOR", timedelta(seconds=-1))
    assert not store.has(bucket, "corpus/1") and store.read(bucket, "corpus/1") is None
