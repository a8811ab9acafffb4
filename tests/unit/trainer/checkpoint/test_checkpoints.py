"""Checkpoints are whole or refused with a reason, and the one before is taken."""

from __future__ import annotations

import hashlib
import io
import json
import logging
import threading
import tracemalloc
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

import boto3
import numpy as np
import pytest
from moto import mock_aws

from trainer.checkpoint.checkpoint import Checkpoint, CheckpointError, decode, encode
from trainer.checkpoint.checkpoints import Checkpoints
from trainer.checkpoint.origin import Origin
from trainer.storage.directory import DirectoryStorage
from trainer.storage.opening import open_storage
from trainer.storage.s3 import S3Storage
from trainer.storage.storage import Storage, StorageError

ORIGIN = Origin("settings-1", "vocabulary-1", "corpus-1")


def checkpoint(step: int) -> Checkpoint:
    return Checkpoint(step, {"w": np.full((3, 2), step, dtype=np.float32)}, {"step": step, "tokens": 7 * step})


def blob_of(one: Checkpoint) -> bytes:
    return b"".join(encode(one, ORIGIN))


@pytest.fixture(params=["directory", "s3"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Storage]:
    if request.param == "directory":
        yield DirectoryStorage(tmp_path / "storage")
        return
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="bucket")
        yield S3Storage("bucket", "runs/1", client)


def test_what_was_kept_comes_back_bit_by_bit(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=2)
    checkpoints.save(checkpoint(10))
    found = checkpoints.latest()
    assert found is not None
    assert (found.step, found.progress) == (10, {"step": 10, "tokens": 70})
    np.testing.assert_array_equal(found.arrays["w"], checkpoint(10).arrays["w"])
    assert found.arrays["w"].dtype == np.float32


def test_the_last_ones_stay(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=2)
    for step in (10, 20, 30, 1000):
        checkpoints.save(checkpoint(step))
    assert storage.names() == ["checkpoints/step-000000030", "checkpoints/step-000001000"]
    assert [found.step for found in checkpoints.newest(5)] == [1000, 30]


def test_the_best_ones_stay_until_better_ones_come_and_count_for_nothing_else(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=1)
    checkpoints.save_best_in_background(replace(checkpoint(10), is_best=True, best_steps=(10,)))
    checkpoints.save_best_in_background(replace(checkpoint(20), is_best=True, best_steps=(20, 10)))
    checkpoints.finish()
    for step in (20, 30, 40):
        checkpoints.save(replace(checkpoint(step), best_steps=(20, 10)))
    kept = ["step-000000010-best", "step-000000020-best", "step-000000040"]
    assert storage.names() == [f"checkpoints/{name}" for name in kept]
    assert [found.step for found in checkpoints.newest(5, regular_only=True)] == [40]
    assert [(found.step, found.is_best) for found in checkpoints.best((20, 10))] == [(20, True), (10, True)]
    checkpoints.save_best_in_background(replace(checkpoint(50), is_best=True, best_steps=(50, 20)))
    checkpoints.finish()
    assert storage.names()[0] == "checkpoints/step-000000020-best"
    latest = checkpoints.latest()
    assert latest is not None and (latest.step, latest.is_best) == (50, True)
    checkpoints.save(replace(checkpoint(60), best_steps=(50, 20)))
    checkpoints.discard_from(20)
    assert storage.names() == []


def test_no_best_one_is_left_out_while_another_one_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    checkpoints = Checkpoints(DirectoryStorage(tmp_path), ORIGIN, keep=1)
    may_write, save = threading.Event(), checkpoints.save
    monkeypatch.setattr(checkpoints, "save", lambda one: may_write.wait(30) and save(one))
    monkeypatch.setattr("trainer.checkpoint.checkpoints.MOST_WAITING_BYTES", 1)
    assert checkpoints.save_in_background(checkpoint(10))
    threading.Timer(0.1, may_write.set).start()
    checkpoints.save_best_in_background(replace(checkpoint(20), is_best=True, best_steps=(20,)))
    checkpoints.finish()
    assert [found.step for found in checkpoints.best((20,))] == [20]


def test_a_checkpoint_of_an_older_centavo_is_read(storage: Storage) -> None:
    """Takes the checkpoint of a version that knew no best ones: its header has no `is_best`."""
    line_of = json.dumps
    parts = list(encode(checkpoint(5), ORIGIN))
    magic, _, line = bytes(parts[0]).split(b"\n")[:3]
    header = json.loads(line)
    del header["is_best"]
    older = line_of(header).encode() + b"\n"
    first = magic + b"\n" + hashlib.sha256(older).hexdigest().encode() + b"\n" + older
    storage.write("checkpoints/step-000000005", [first, *parts[1:]])
    found = Checkpoints(storage, ORIGIN, keep=1).latest()
    assert found is not None and (found.step, found.is_best) == (5, False)


def test_one_that_a_stop_made_is_gone_on_from_and_counts_for_nothing_else(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=2)
    for step in (10, 20, 23):
        checkpoints.save(replace(checkpoint(step), stopped=step == 23))
    latest = checkpoints.latest()
    assert latest is not None and (latest.step, latest.stopped) == (23, True)
    assert [found.step for found in checkpoints.newest(5, regular_only=True)] == [20, 10]
    checkpoints.save(replace(checkpoint(15), stopped=True))
    assert storage.get("checkpoints/step-000000015-stopped") is not None, "where all have gone back to it"
    storage.delete("checkpoints/step-000000015-stopped")
    assert checkpoints.latest_before(24) == f"{storage.location}/checkpoints/step-000000023-stopped"
    checkpoints.save(checkpoint(30))
    assert storage.names() == ["checkpoints/step-000000020", "checkpoints/step-000000030"]


def test_a_late_writer_leaves_newer_ones_alone(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=2)
    for step in (20, 30, 10):
        checkpoints.save(checkpoint(step))
    assert [found.step for found in checkpoints.newest(5)] == [30, 20]


def test_the_newest_before_a_step_is_named(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=3)
    for step in (10, 20, 30):
        checkpoints.save(checkpoint(step))
    assert checkpoints.latest_before(30) == f"{storage.location}/checkpoints/step-000000020"
    assert checkpoints.latest_before(10) is None


def test_handing_one_over_does_not_wait_for_the_storage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage, may_write = DirectoryStorage(tmp_path), threading.Event()
    write = storage.write

    def slow(name: str, parts: Iterable[bytes | memoryview]) -> None:
        assert may_write.wait(10)
        write(name, parts)

    monkeypatch.setattr(storage, "write", slow)
    checkpoints = Checkpoints(storage, ORIGIN, keep=2)
    assert checkpoints.save_in_background(checkpoint(5))
    assert storage.names() == []
    may_write.set()
    checkpoints.finish()
    assert storage.names() == ["checkpoints/step-000000005"]


def test_a_torn_one_is_refused_and_the_one_before_is_taken(storage: Storage, caplog: pytest.LogCaptureFixture) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=3)
    checkpoints.save(checkpoint(10))
    name = checkpoints.save(checkpoint(20))
    storage.put(name, (storage.get(name) or b"")[:-5])
    with caplog.at_level(logging.WARNING):
        found = checkpoints.latest()
    assert found is not None
    assert found.step == 10
    assert "step-000000020 is refused: its checksum does not match" in caplog.text


@pytest.mark.parametrize(
    ("origin", "reason"),
    [
        (Origin("settings-2", "vocabulary-1", "corpus-1"), "with another seed, corpus"),
        (Origin("settings-1", "vocabulary-2", "corpus-1"), "with another vocabulary"),
        (Origin("settings-1", "vocabulary-1", "corpus-2"), "other training or validation text"),
    ],
)
def test_a_foreign_one_is_refused(origin: Origin, reason: str) -> None:
    with pytest.raises(CheckpointError, match=reason):
        decode(io.BytesIO(blob_of(checkpoint(1))), origin)


@pytest.mark.parametrize("blob", [b"", b"something else", b"centavo checkpoint 2\n", b"centavo checkpoint 2\n{\n"])
def test_what_is_no_checkpoint_is_refused(blob: bytes) -> None:
    with pytest.raises(CheckpointError):
        decode(io.BytesIO(blob), ORIGIN)


def test_arrays_of_any_shape_and_type_come_back() -> None:
    arrays = {"a": np.arange(6.0).reshape(2, 3).T, "b": np.array(7, dtype=np.int64), "c": np.zeros((0, 2), np.float32)}
    found = decode(io.BytesIO(blob_of(Checkpoint(1, arrays))), ORIGIN).arrays
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert (found[name].dtype, found[name].shape) == (array.dtype, array.shape)


def test_writing_a_large_one_copies_no_array(tmp_path: Path) -> None:
    arrays = {f"w{number}": np.zeros(4_000_000, dtype=np.float32) for number in range(4)}
    one, checkpoints = Checkpoint(1, arrays), Checkpoints(DirectoryStorage(tmp_path), ORIGIN, keep=1)
    tracemalloc.start()
    checkpoints.save(one)
    assert tracemalloc.get_traced_memory()[1] < 4_000_000
    tracemalloc.stop()


def test_every_changed_byte_is_noticed() -> None:
    blob = blob_of(checkpoint(3))
    for place in range(0, len(blob), 7):
        changed = blob[:place] + bytes([blob[place] ^ 1]) + blob[place + 1 :]
        with pytest.raises(CheckpointError):
            decode(io.BytesIO(changed), ORIGIN)


def test_writing_in_the_background_is_waited_for_at_the_end(storage: Storage) -> None:
    checkpoints = Checkpoints(storage, ORIGIN, keep=2)
    assert checkpoints.save_in_background(checkpoint(5))
    checkpoints.finish()
    assert storage.names("checkpoints/") == ["checkpoints/step-000000005"]


def test_a_storage_that_fails_does_not_stop_the_training(caplog: pytest.LogCaptureFixture, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    checkpoints = Checkpoints(DirectoryStorage(tmp_path / "file"), ORIGIN, keep=1)
    checkpoints.save_in_background(checkpoint(5))
    checkpoints.finish()
    assert "the checkpoint of step 5 could not be written" in caplog.text


def test_storage_forgets_and_finds_nothing_by_an_unknown_name(storage: Storage) -> None:
    storage.put("a/b", b"1")
    assert storage.get("a/b") == b"1"
    storage.delete("a/b")
    assert storage.get("a/b") is None
    assert storage.names() == []


def test_only_directories_and_s3_are_storages(tmp_path: Path) -> None:
    assert open_storage(str(tmp_path)).location == str(tmp_path)
    with pytest.raises(StorageError, match="gs://x/y"):
        open_storage("gs://x/y")


def test_a_bucket_that_is_not_there_is_named() -> None:
    with mock_aws(), pytest.raises(StorageError, match="s3://absent/p"):
        S3Storage("absent", "p", boto3.client("s3", region_name="us-east-1")).names()
