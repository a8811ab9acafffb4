"""A run's state in the bucket: whole, the newest, in a rhythm that its size allows, and fenced by the generation."""

from __future__ import annotations

import errno
import gzip
import hashlib
import json
import sqlite3
import tempfile
from pathlib import Path

import pytest

from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain.errors import AwsError, SupersededError
from controller.owning import copies as room
from controller.owning import keys
from controller.owning.copies import Copies
from controller.owning.fenced import FencedWriter
from controller.owning.runs_index import RunEntry, RunsSource, read_runs
from controller.owning.sources import BootBundleSource, FileSource, JournalSource, StateSource, sources_of
from controller.record.journal import Journal
from tests.unit.controller.harness import SETTINGS
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, wait_until
from tests.unit.controller.record import synthetic


@pytest.fixture
def bucket() -> BucketInMemory:
    return BucketInMemory()


def copies(bucket: BucketInMemory, *sources: object, told: list[str] | None = None, generation: int = 2) -> Copies:
    tell = [].append if told is None else told.append
    return Copies(sources, FencedWriter(bucket, "c", generation), tell, bucket.elapsed)  # type: ignore[arg-type]


# fenced writes


def test_an_older_owner_never_overwrites_a_later_one(bucket: BucketInMemory) -> None:
    old, new = FencedWriter(bucket, "c", 1), FencedWriter(bucket, "c", 2)
    old.write("k", b"old")
    new.write("k", b"new")
    with pytest.raises(SupersededError):
        old.write("k", b"late")
    with pytest.raises(SupersededError):
        FencedWriter(bucket, "c", 1).write("k", b"later")
    assert bucket.kept["k"][0] == b"new"
    new.write("k", b"newer")
    assert bucket.kept["k"][0] == b"newer"


def test_an_owner_that_is_overtaken_between_look_and_write_notices(bucket: BucketInMemory) -> None:
    def overtake(key: str) -> None:
        bucket.before_write = lambda key: None
        bucket.put(key, b"new", generation=2)

    bucket.before_write = overtake
    with pytest.raises(SupersededError):
        FencedWriter(bucket, "c", 1).write("k", b"old")
    assert bucket.kept["k"][0] == b"new"


def test_a_write_whose_answer_was_lost_is_made_again(bucket: BucketInMemory) -> None:
    bucket.loses_answers = 2
    FencedWriter(bucket, "c", 1).write("k", b"x")
    assert bucket.kept["k"][0] == b"x"
    bucket.loses_answers = 99
    with pytest.raises(AwsError, match="faster than it can be written"):
        FencedWriter(bucket, "c", 1).write("k", b"x")


# what is copied


def test_the_journal_is_copied_whole_while_its_writer_goes_on(tmp_path: Path) -> None:
    journal = synthetic.running_run(tmp_path)
    source = JournalSource("k", journal.directory / "journal.sqlite")
    before = source.signature()
    journal.add_event(NOW, "note", "the last word")
    assert source.signature() != before
    journal._database.execute("BEGIN IMMEDIATE")
    content = source.content()
    journal._database.execute("ROLLBACK")
    assert content is not None
    (tmp_path / "copy").mkdir()
    (tmp_path / "copy" / "journal.sqlite").write_bytes(gzip.decompress(content))
    copy = Journal(tmp_path / "copy")
    assert copy.events()[-1]["message"] == "the last word" and copy.info() == journal.info()


def test_what_is_not_there_or_damaged_or_half_written_is_not_copied(tmp_path: Path) -> None:
    file = tmp_path / "f"
    assert FileSource("k", file).signature() is None and FileSource("k", file).content() is None
    assert JournalSource("k", file).signature() is None and JournalSource("k", file).content() is None
    file.write_bytes(b"no database, for sure" * 100)
    assert JournalSource("k", file).content() is None
    for torn in (b"", b'{"lineage": "x", ', b"[]", b"{}"):
        file.write_bytes(torn)
        assert StateSource("k", file).content() is None
    file.write_text(json.dumps({"lineage": "x"}))
    assert StateSource("k", file).content() == b'{"lineage": "x"}'


def test_a_huge_file_is_not_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("controller.owning.sources.MOST_BYTES", 3)
    (tmp_path / "f").write_bytes(b"123")
    assert FileSource("k", tmp_path / "f").signature() is not None
    (tmp_path / "f").write_bytes(b"1234")
    assert FileSource("k", tmp_path / "f").signature() is None


def test_everything_that_a_successor_needs_has_its_place(tmp_path: Path) -> None:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, "centavo.yml"))
    found = {source.key for source in sources_of(environment, "r", tmp_path / "runs" / "r")}
    assert found == {
        "control/state/terraform.tfstate", "control/state/capacity.auto.tfvars.json", "control/state/cluster_key.pub",
        "r/control/journal.sqlite.gz", "r/control/setup.json", "r/control/supplies.json", "r/control/training.yml",
        "r/control/trainer.zip", "r/control/centavo.log", "r/control/report.json", "r/control/report.html",
        "r/control/results/scores.json", "r/control/head_key.pub", "control/boot.json", "control/boot/.tar.gz",
    }  # fmt: skip
    assert all(keys.is_own(key) for key in found)


def test_the_bundle_by_which_nodes_prepare_themselves_is_there_before_its_pointer(
    bucket: BucketInMemory, tmp_path: Path
) -> None:
    environment = Environment("test", tmp_path, parse_settings(SETTINGS, "centavo.yml"))
    digest = hashlib.sha256(b"a bundle").hexdigest()
    made = copies(bucket, *sources_of(environment, "r", tmp_path))
    made.round()
    assert bucket.writes == [], "a run without a bundle has none to copy"
    (tmp_path / "boot.tar.gz").write_bytes(b"a bundle")
    (tmp_path / "boot.json").write_text(json.dumps({"sha256": digest}))
    made.round()
    assert bucket.writes == [f"control/boot/{digest}.tar.gz", "control/boot.json"]
    (tmp_path / "boot.tar.gz").write_bytes(b"the next bundle, whose pointer is not written yet")
    made.round()
    assert len(bucket.writes) == 2


def test_a_bundle_that_is_replaced_while_it_is_copied_never_lies_under_the_digest_of_the_next(
    bucket: BucketInMemory, tmp_path: Path
) -> None:
    def write(content: bytes) -> str:
        digest = hashlib.sha256(content).hexdigest()
        (tmp_path / "boot.tar.gz").write_bytes(content)
        (tmp_path / "boot.json").write_text(json.dumps({"sha256": digest}))
        return f"control/boot/{digest}.tar.gz"

    class ReplacedMeanwhile(BootBundleSource):
        def content(self) -> bytes | None:
            found = super().content()
            write(b"the next bundle")
            return found

    write(b"a bundle")
    made = copies(bucket, ReplacedMeanwhile(tmp_path))
    made.round()
    assert bucket.writes == []
    made.round()
    assert {key: kept[0] for key, kept in bucket.kept.items()} == {write(b"the next bundle"): b"the next bundle"}


# when it is copied


def test_only_what_has_changed_is_copied_and_each_thing_in_its_rhythm(bucket: BucketInMemory, tmp_path: Path) -> None:
    small, large = tmp_path / "small", tmp_path / "large"
    small.write_bytes(b"1")
    large.write_bytes(b"x" * int(room.BYTES_PER_S * 20))
    made = copies(bucket, FileSource("small", small), FileSource("large", large), FileSource("none", tmp_path / "no"))
    made.round()
    made.round()
    assert bucket.writes == ["small", "large"]
    for path in (small, large):
        path.write_bytes(path.read_bytes() + b"2")
    bucket.now += room.LEAST_GAP_S - 0.1
    made.round()
    assert bucket.writes == ["small", "large"]
    bucket.now += 0.1
    made.round()
    assert bucket.writes == ["small", "large", "small"]
    bucket.now += 15
    made.round()
    assert bucket.writes[3:] == ["large"]
    assert bucket.kept["small"] == (b"12", *bucket.kept["small"][1:3], 2)


def test_the_last_round_waits_for_nothing(bucket: BucketInMemory, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    made = copies(bucket, FileSource("k", tmp_path / "f"))
    made.round()
    (tmp_path / "f").write_bytes(b"12")
    made.finish()
    assert bucket.kept["k"][0] == b"12"


def test_the_last_round_does_not_keep_a_command_for_ever(bucket: BucketInMemory, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_bytes(b"1")
    bucket.before_write = lambda key: setattr(bucket, "now", bucket.now + 16)
    told: list[str] = []
    copies(bucket, *(FileSource(name, tmp_path / name) for name in "abc"), told=told).finish()
    assert bucket.writes == ["a", "b"] and "c was left as it was" in told[0]


def test_a_bucket_that_is_away_is_told_once_and_tried_again(bucket: BucketInMemory, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    told: list[str] = []
    made = copies(bucket, FileSource("k", tmp_path / "f"), told=told)
    bucket.is_reachable = False
    made.round()
    made.round()
    assert len(told) == 1 and "can't be copied to the bucket, and is tried again" in told[0]
    bucket.is_reachable = True
    made.round()
    made.round()
    assert told[1:] == ["the state of the run is copied to the bucket again"] and bucket.kept["k"][0] == b"1"


def test_an_owner_that_was_followed_copies_nothing_more(bucket: BucketInMemory, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    bucket.put("k", b"theirs", generation=3)
    told: list[str] = []
    made = copies(bucket, FileSource("k", tmp_path / "f"), FileSource("other", tmp_path / "f"), told=told)
    made.round()
    made.round()
    made.finish()
    assert bucket.writes == ["k"] and bucket.kept["k"][0] == b"theirs"
    assert len(told) == 1 and "not copied to the bucket any more" in told[0]


def test_the_thread_copies_when_it_is_woken_and_stops(bucket: BucketInMemory, tmp_path: Path) -> None:
    (tmp_path / "f").write_bytes(b"1")
    made = copies(bucket, FileSource("k", tmp_path / "f"))
    made.start()
    wait_until(lambda: "k" in bucket.kept)
    made.stop()
    (tmp_path / "f").write_bytes(b"12")
    made.wake()
    assert bucket.kept["k"][0] == b"1"


# the index of runs


def test_the_index_keeps_other_runs_and_the_latest_status(bucket: BucketInMemory) -> None:
    bucket.put(keys.RUNS, b"torn")
    assert read_runs(bucket) == ()
    entry = RunEntry("b", "2027-01-02T00:00:00Z", "running")
    source = RunsSource(bucket, lambda: entry)
    bucket.put(keys.RUNS, source.content())
    before, older = source.signature(), RunEntry("a", "2027-01-01T00:00:00Z", "failed")
    bucket.put(keys.RUNS, RunsSource(bucket, lambda: older).content())
    entry = RunEntry("b", "2027-01-02T00:00:00Z", "finished")
    assert source.signature() != before
    bucket.put(keys.RUNS, source.content())
    assert read_runs(bucket) == (entry, older)


def test_a_backup_of_a_locked_journal_is_left_for_the_next_round(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = synthetic.running_run(tmp_path)
    monkeypatch.setattr("controller.owning.sources.BUSY_S", 0.0)

    def locked(*given: object, **named: object) -> None:
        raise sqlite3.OperationalError("database is locked")

    monkeypatch.setattr("controller.owning.sources.sqlite3.connect", locked)
    assert JournalSource("k", journal.directory / "journal.sqlite").content() is None


def test_a_disk_that_takes_nothing_for_a_moment_ends_no_copying(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    journal = synthetic.running_run(tmp_path)
    source = JournalSource("k", journal.directory / "journal.sqlite")
    with monkeypatch.context() as full:
        full.setattr(tempfile, "mkdtemp", _no_space)
        assert source.content() is None
    assert source.content() is not None


def _no_space(*_: object) -> str:
    raise OSError(errno.ENOSPC, "No space left on device")
