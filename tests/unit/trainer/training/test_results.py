"""Results are fetched by name, and a storage that is down is tried again."""

from __future__ import annotations

from pathlib import Path

import pytest

from trainer.storage.directory import DirectoryStorage
from trainer.storage.storage import StorageError
from trainer.training import results
from trainer.training.results import fetch_results


class Bucket:
    """A storage in memory, in which any name may be written."""

    location = "s3://bucket/run"

    def __init__(self, blobs: dict[str, bytes] | None = None, failures: int = 0) -> None:
        self.blobs, self.failures = blobs or {}, failures

    def put(self, name: str, data: bytes) -> None:
        if self.failures:
            self.failures -= 1
            raise StorageError("the bucket does not answer")
        self.blobs[name] = data

    def get(self, name: str, most_bytes: int | None = None) -> bytes | None:
        return self.blobs.get(name)

    def names(self, prefix: str = "") -> list[str]:
        return sorted(name for name in self.blobs if name.startswith(prefix))

    def delete(self, name: str) -> None:
        self.blobs.pop(name, None)


@pytest.mark.parametrize(
    "name",
    [
        "../../.ssh/authorized_keys",
        "/etc/cron.d/x",
        "sub/scores.json",
        "done.json",
        "known_hosts",
        "..",
        "",
        "scores.json\n",
        "events/../../x",
        ".profile",
    ],
)
def test_no_worker_writes_where_it_likes(name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    home = tmp_path / "home"
    (home / ".ssh").mkdir(parents=True)
    (home / ".ssh" / "authorized_keys").write_text("mine")
    bucket = Bucket({f"results/{name}": b"theirs", "results/scores.json": b"{}", "results/events.out.1.host": b"e"})
    assert fetch_results(bucket, home / "results") == ["events.out.1.host", "scores.json"]
    assert (home / ".ssh" / "authorized_keys").read_text() == "mine"
    assert sorted(path.name for path in tmp_path.rglob("*") if path.is_file()) == [
        "authorized_keys",
        "events.out.1.host",
        "scores.json",
    ]
    assert "is no result of a training" in caplog.text


def test_a_link_in_the_place_of_a_result_is_replaced_and_not_followed(tmp_path: Path) -> None:
    directory = tmp_path / "results"
    directory.mkdir()
    (tmp_path / "other").write_text("mine")
    (directory / "scores.json").symlink_to(tmp_path / "other")
    fetch_results(Bucket({"results/scores.json": b"{}"}), directory)
    assert (tmp_path / "other").read_text() == "mine"


def test_files_and_their_sizes_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    many = Bucket({f"results/events.{number:04}": b"" for number in range(results.MOST_FILES + 5)})
    assert len(fetch_results(many, tmp_path / "many")) == results.MOST_FILES
    storage = DirectoryStorage(tmp_path / "storage")
    storage.put("results/scores.json", b"12345")
    monkeypatch.setattr(results, "LARGEST_FILE_BYTES", 4)
    with pytest.raises(StorageError, match="5 bytes, more than the 4"):
        fetch_results(storage, tmp_path / "large")


def test_a_result_that_the_storage_does_not_take_is_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    monkeypatch.setattr("time.sleep", pauses.append)
    bucket = Bucket(failures=3)
    results._put(bucket, "scores.json", b"{}")
    assert bucket.blobs == {"results/scores.json": b"{}"}
    assert pauses == [1.0, 2.0, 4.0]


def test_a_storage_that_stays_down_is_an_error_in_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    monkeypatch.setattr("time.monotonic", lambda: now[0])
    monkeypatch.setattr("time.sleep", lambda seconds: now.__setitem__(0, now[0] + seconds))
    with pytest.raises(StorageError, match="does not answer"):
        results._put(Bucket(failures=10**6), "scores.json", b"{}")
    assert 400 < now[0] <= results.KEEP_PATIENCE_S
