"""An output has one corpus: that of the text as it is, of whoever came first."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest

import trainer.preparing.prepare as preparing
from tests.support.local_cloud import wait_until
from tests.support.raw_text import PAIRS, preparation, write_pairs
from trainer.data.prepared.manifest import Manifest
from trainer.data.prepared.prepared_corpus import open_corpus
from trainer.preparing.corpus_writer import write_manifest
from trainer.preparing.errors import PreparationError
from trainer.preparing.prepare import prepare_corpus
from trainer.settings.preparation import PreparationSettings
from trainer.storage.directory import DirectoryStorage


def manifest_at(settings: PreparationSettings) -> bytes:
    return Path(settings.output, "manifest.json").read_bytes()


def test_a_corpus_of_text_that_has_changed_since_is_not_taken_for_that_of_the_new_text(tmp_path: Path) -> None:
    settings = preparation(tmp_path)
    prepare_corpus(settings, 1)
    before = manifest_at(settings)
    write_pairs(tmp_path / "raw", "train", [("another", "outra"), *PAIRS[1:400]], ".gz")
    with pytest.raises(PreparationError, match=r"prepared before .*train\.source\.gz was changed, added or removed"):
        prepare_corpus(settings, 1)
    assert manifest_at(settings) == before


def test_a_glob_that_finds_more_than_the_corpus_was_made_of_is_told(tmp_path: Path) -> None:
    write_pairs(tmp_path / "raw", "many-1", PAIRS[:200])
    globs = {side: str(tmp_path / "raw" / f"many-*.{side}") for side in ("source", "target")}
    settings = preparation(tmp_path, train=[globs])
    assert prepare_corpus(settings, 1) == prepare_corpus(settings, 1)
    more = write_pairs(tmp_path / "raw", "many-2", PAIRS[200:400])
    with pytest.raises(PreparationError, match=r"many-2\.source was changed, added or removed"):
        prepare_corpus(settings, 1)
    for name in more.values():
        Path(name).unlink()
    gone = write_pairs(tmp_path / "raw", "many-1", PAIRS[:200])
    for name in gone.values():
        Path(name).rename(name.replace("many-1", "many-3"))
    with pytest.raises(PreparationError, match=r"many-3\.source was changed, added or removed"):
        prepare_corpus(settings, 1)


def prepared_beside(
    settings: PreparationSettings, other: PreparationSettings, monkeypatch: pytest.MonkeyPatch, log: Any
) -> tuple[Manifest, list[Any]]:
    """Begins `other` just before `settings` is done. Returns the manifest of `settings` and how `other` ended."""
    ended: list[Any] = []
    write = preparing.write_manifest

    def prepare_other() -> None:
        try:
            ended.append(prepare_corpus(other, 1))
        except Exception as error:
            ended.append(error)

    second = threading.Thread(target=prepare_other)

    def begins_the_other(storage: Any, manifest: Manifest) -> None:
        second.start()
        wait_until(lambda: "waiting for it" in log.text, "the other waits", 60)
        write(storage, manifest)

    with monkeypatch.context() as patched:
        patched.setattr(preparing, "write_manifest", begins_the_other)
        first = prepare_corpus(settings, 1)
    second.join(60)
    return first, ended


def test_two_that_prepare_the_same_at_once_get_the_same_corpus(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = preparation(tmp_path)
    first, ended = prepared_beside(settings, settings, monkeypatch, caplog)
    assert ended == [first]


def test_of_two_that_prepare_to_the_same_output_at_once_the_second_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    settings = preparation(tmp_path)
    other = settings.model_copy(update={"seed": 2, "output": f"{tmp_path}/./corpus/"})
    first, (error,) = prepared_beside(settings, other, monkeypatch, caplog)
    assert isinstance(error, PreparationError) and "was prepared with other settings" in str(error)
    assert open_corpus(settings.output, tmp_path).manifest == first


def test_another_machine_s_corpus_that_came_meanwhile_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, manifest_of = preparation(tmp_path), preparing.manifest_of
    other = prepare_corpus(settings.model_copy(update={"seed": 2, "output": str(tmp_path / "other")}), 1)

    def beaten(*arguments: Any) -> Manifest:
        write_manifest(DirectoryStorage(Path(settings.output)), other)
        return manifest_of(*arguments)

    monkeypatch.setattr(preparing, "manifest_of", beaten)
    with pytest.raises(PreparationError, match="has a corpus already that was prepared with other settings"):
        prepare_corpus(settings, 1)
    assert open_corpus(settings.output, tmp_path).manifest == other
