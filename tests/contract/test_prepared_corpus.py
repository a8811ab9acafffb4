"""What the trainer prepares in a folder, the controller copies to the bucket, and the trainer reads there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.raw_text import preparation
from tests.unit.controller.supply.test_supplies import Desk
from trainer.data.prepared.prepared_corpus import open_corpus
from trainer.preparing.prepare import prepare_corpus


@pytest.mark.parametrize("is_separate", [False, True])
def test_the_copy_of_a_prepared_corpus_is_the_corpus(tmp_path: Path, is_separate: bool) -> None:
    vocabulary = {"size": 350 if is_separate else 400, "separate": is_separate}
    settings = preparation(tmp_path / "here", vocabulary=vocabulary)
    prepare_corpus(settings, 1)
    desk = Desk(tmp_path, wheelhouse=False)
    desk.training.write_text(json.dumps({"corpus": {"kind": "prepared", "directory": settings.output}}))
    location = desk.provide()["corpus"]["settings"]["corpus"]["directory"]
    bucket = tmp_path / "bucket"
    for (_, key), content in desk.store.objects.items():
        (bucket / key).parent.mkdir(parents=True, exist_ok=True)
        (bucket / key).write_bytes(content)
    copy = open_corpus(str(bucket / location.removeprefix("s3://b/")), tmp_path / "cache")
    here = open_corpus(settings.output, tmp_path / "cache")
    assert copy.manifest == here.manifest
    for split in ("train", "validation", "test"):
        shards = copy.shards(split, copy.vocabulary(), with_text=True).all()
        assert sum(len(shard.texts or ()) for shard in shards) == sum(
            shard.pairs for shard in here.manifest.splits[split]
        )
