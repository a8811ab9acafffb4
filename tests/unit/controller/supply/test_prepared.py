"""A prepared corpus of this machine is copied to the bucket, whole, and once."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from controller.domain.errors import ConfigError, SupplyError
from controller.supply.supplies import check_corpus
from tests.unit.controller.supply.test_supplies import Desk

FILES = {
    "vocabulary": "pieces",
    "train/0.ids": "1 2 3",
    "train/0.text": "a\tb",
    "test/0.ids": "4",
    "test/0.text": "c\td",
}


def entry(name: str) -> dict[str, Any]:
    return {"name": name, "bytes": len(FILES[name]), "sha256": hashlib.sha256(FILES[name].encode()).hexdigest()}


def shard(split: str) -> dict[str, Any]:
    return {"pairs": 1, "ids": entry(f"{split}/0.ids"), "text": entry(f"{split}/0.text"), "lengths": [[1, 1]]}


MANIFEST = json.dumps({
    "vocabulary": {"file": entry("vocabulary"), "pieces": 5, "separate": False},
    "splits": {"train": [shard("train")], "validation": [], "test": [shard("test")]},
})  # fmt: skip
SHA256 = hashlib.sha256(MANIFEST.encode()).hexdigest()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A run whose training.yml names a prepared corpus below the repository's root."""
    one = Desk(tmp_path, wheelhouse=False)
    for name, content in {**FILES, "manifest.json": MANIFEST}.items():
        (tmp_path / "corpora" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "corpora" / name).write_text(content)
    name_corpus(one, "corpora")
    return one


def name_corpus(desk: Desk, directory: str) -> None:
    desk.training.write_text(json.dumps({"corpus": {"kind": "prepared", "directory": directory}}))


def test_the_nodes_read_the_copy_in_the_bucket_whose_manifest_was_written_last(desk: Desk) -> None:
    desk.supplies.make_ready()
    assert desk.store.writes == [], "nothing is copied before there is a bucket"
    corpus = desk.provide()["corpus"]
    prefix = f"corpus/prepared/{SHA256}"
    assert corpus == {"files": [], "settings": {"corpus": {"directory": f"s3://b/{prefix}"}}}
    assert desk.store.writes[-1] == f"{prefix}/manifest.json"
    assert {key: content.decode() for (_, key), content in desk.store.objects.items()} == {
        f"{prefix}/{name}": content for name, content in {**FILES, "manifest.json": MANIFEST}.items()
    }
    assert desk.said == ["copying the prepared corpus to the bucket: 5 files, 0 MiB"]


def test_only_what_the_bucket_lacks_is_copied(desk: Desk) -> None:
    prefix = f"corpus/prepared/{SHA256}"
    for name in ("vocabulary", "train/0.ids"):
        desk.store.objects["b", f"{prefix}/{name}"] = FILES[name].encode()
    desk.provide()
    assert desk.store.writes == [
        f"{prefix}/{name}" for name in ("test/0.ids", "test/0.text", "train/0.text", "manifest.json")
    ]
    assert desk.anew().variables() == desk.supplies.variables(), "another process finds the same"


def test_a_bucket_that_has_it_all_is_not_written(desk: Desk) -> None:
    first = desk.provide()
    for file in desk.run.iterdir():
        file.unlink()
    writes = [*desk.store.writes]
    assert desk.provide() == first
    assert desk.store.writes == writes and len(desk.said) == 1


def test_a_corpus_that_lies_in_a_bucket_already_is_read_there(desk: Desk) -> None:
    name_corpus(desk, "s3://mine/corpora/en-pt")
    assert desk.provide()["corpus"] == {"files": [], "settings": {}}
    assert desk.store.writes == []


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("manifest.json", None, "manifest.json can't be read: No such file or directory"),
        ("manifest.json", "{", "manifest.json is not the manifest of a prepared corpus"),
        ("manifest.json", '{"vocabulary": 3}', "manifest.json is not the manifest of a prepared corpus"),
        ("manifest.json", "[]", "manifest.json is not the manifest of a prepared corpus"),
        ("train/0.text", None, "train/0.text is missing or of another size than manifest.json says"),
        ("train/0.ids", "torn", "train/0.ids is missing or of another size than manifest.json says"),
    ],
)
def test_a_corpus_that_is_not_whole_is_told_before_anything_is_bought(
    desk: Desk, file: str, content: str | None, said: str
) -> None:
    path = desk.root / "corpora" / file
    path.unlink()
    if content is not None:
        path.write_text(content)
    for check in (desk.supplies.make_ready, lambda: check_corpus(desk.environment)):
        with pytest.raises(ConfigError, match=r"corpus\.directory names .*corpora, where") as raised:
            check()
        assert said in raised.value.what
        assert "trainer prepare" in raised.value.next_step
    with pytest.raises(SupplyError):
        desk.provide()
    assert desk.store.writes == []


def test_a_file_whose_content_is_damaged_is_not_copied(desk: Desk) -> None:
    (desk.root / "corpora" / "train" / "0.ids").write_text("1 2 4")
    with pytest.raises(SupplyError, match=r"train/0\.ids has another SHA-256 than manifest\.json says"):
        desk.provide()
    prefix = f"corpus/prepared/{SHA256}"
    assert not {f"{prefix}/train/0.ids", f"{prefix}/manifest.json"} & {*desk.store.writes}
