"""What the nodes need is in the bucket before they are prepared, and a run stays with what it got first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from controller.config.environment import Environment
from controller.config.settings import parse_settings
from controller.domain.errors import AnsibleError, ConfigError, SupplyError
from controller.supply.supplies import Supplies, check_corpus
from tests.unit.controller.harness import SETTINGS
from tests.unit.controller.supplying import DIGEST, Builder, NoBuilder, WorldStore, manifest

FILES = {"train": ["train.en", "train.pt"], "validation": ["v.en", "v.pt"], "test": ["t.en", "t.pt"]}


class Desk:
    """The supplies of one run, with a bucket in memory."""

    def __init__(self, root: Path, misfit: str = "", wheelhouse: bool = True) -> None:
        nodes = {**SETTINGS["nodes"], **({"wheelhouse": {"python": "3.11", "glibc": "2.36"}} if wheelhouse else {})}
        self.root = root
        self.environment = Environment("test", root, parse_settings({**SETTINGS, "nodes": nodes}, root / "centavo.yml"))
        self.training = root / "training.yml"
        self.training.write_text("corpus: { kind: generated }\n")
        self.run = root / "run"
        self.run.mkdir()
        self.outputs = SimpleNamespace(bucket="b")
        self.store, self.said = WorldStore(), list[str]()
        self.builder: Any = Builder(root, misfit) if wheelhouse else NoBuilder()
        self.asked_head: list[tuple[bytes, str]] = []
        self.supplies = self.anew()

    def anew(self) -> Supplies:
        """The supplies as another process makes them."""
        made: Any = SimpleNamespace(outputs=self.outputs)
        return Supplies(self.environment, made, self.run, self.store, self.builder, self.said.append)

    def provide(self) -> dict[str, Any]:
        self.supplies.provide(self.training, self.build_on_head)
        return self.supplies.variables()

    def build_on_head(self, sources: Path, url: str) -> Mapping[str, Any]:
        self.asked_head.append((sources.read_bytes(), url))
        return manifest(b"from the head")

    def write_corpus(self) -> None:
        self.training.write_text(json.dumps({"corpus": {"kind": "files", **FILES}}))
        for names in FILES.values():
            for name in names:
                (self.root / name).write_text(f"a sentence of {name}\n")


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_wheelhouse_is_built_before_anything_costs_money_and_uploaded_with_its_manifest_last(desk: Desk) -> None:
    desk.supplies.make_ready()
    assert (desk.builder.builds, desk.store.writes) == (1, [])
    wheelhouse = desk.provide()["wheelhouse"]
    archive = f"wheelhouse/{DIGEST}/{sha256('wheels')}.tar"
    assert (desk.builder.builds, desk.store.writes) == (1, [archive, f"wheelhouse/{DIGEST}.json"])
    assert wheelhouse == {
        "made_for": {"digest": DIGEST, "python": "3.11", "machine": "x86_64", "glibc": "2.36"},
        "url": f"https://b.example/{archive}?valid=630",
        "sha256": sha256("wheels"),
        "size": 6,
    }


def test_a_wheelhouse_that_the_bucket_has_is_neither_built_nor_uploaded_again(desk: Desk) -> None:
    desk.store.objects["b", f"wheelhouse/{DIGEST}.json"] = json.dumps(manifest(b"earlier")).encode()
    assert desk.provide()["wheelhouse"]["sha256"] == sha256("earlier")
    assert (desk.builder.builds, desk.store.writes) == (0, [])


def test_a_machine_that_does_not_fit_the_nodes_leaves_the_build_to_the_head(tmp_path: Path) -> None:
    desk = Desk(tmp_path, misfit="there is no python3.11 here")
    desk.supplies.make_ready()
    assert "there is no python3.11 here" in desk.said[-1]
    wheelhouse = desk.provide()["wheelhouse"]
    key = f"wheelhouse/{DIGEST}/{sha256('from the head')}.tar"
    assert desk.asked_head == [(b"sources", ""), (b"sources", f"https://b.example/{key}?write")]
    assert desk.store.writes == [f"wheelhouse/{DIGEST}.json"]
    assert wheelhouse["url"].startswith(f"https://b.example/{key}")


def test_a_head_that_can_not_build_leaves_nothing_that_a_later_run_would_take_for_a_wheelhouse(tmp_path: Path) -> None:
    desk = Desk(tmp_path, misfit="this machine is a Mac")

    def fails(sources: Path, url: str) -> Mapping[str, Any]:
        raise AnsibleError("The playbook wheelhouse.yml ended as 'failed'")

    with pytest.raises(AnsibleError):
        desk.supplies.provide(desk.training, fails)
    assert desk.store.writes == [] and desk.supplies.variables()["wheelhouse"] is None


def test_nodes_that_have_everything_get_nothing(tmp_path: Path) -> None:
    desk = Desk(tmp_path, wheelhouse=False)
    desk.supplies.make_ready()
    assert desk.provide() == {"wheelhouse": None, "corpus": {"files": [], "settings": {}}}
    assert desk.store.writes == []


def test_the_files_of_a_corpus_are_in_the_bucket_once_each_and_the_settings_name_the_copies(desk: Desk) -> None:
    desk.write_corpus()
    (desk.root / "t.pt").write_text("a sentence of v.pt\n")
    corpus = desk.provide()["corpus"]
    keys = [key for key in desk.store.writes if key.startswith("corpus/")]
    assert len(keys) == 5 and keys[0] == f"corpus/{sha256('a sentence of train.en' + chr(10))}"
    assert corpus["settings"]["corpus"].keys() == FILES.keys()
    assert corpus["settings"]["corpus"]["train"] == [file["path"] for file in corpus["files"][:2]]
    first = corpus["files"][0]
    assert first["path"] == f"~/c/corpus/{first['sha256'][:12]}-train.en"
    assert desk.store.objects["b", f"corpus/{first['sha256']}"] == b"a sentence of train.en\n"
    assert first["size"] == 23 and first["url"].startswith(f"https://b.example/corpus/{first['sha256']}")


def test_a_run_stays_with_the_corpus_and_the_wheelhouse_that_it_began_with(desk: Desk) -> None:
    desk.write_corpus()
    first = desk.provide()
    (desk.root / "train.en").unlink()
    (desk.root / "built.tar").write_bytes(b"other wheels")
    desk.supplies = desk.anew()
    desk.supplies.make_ready()
    assert desk.provide() == first


def test_a_new_bucket_is_supplied_anew(desk: Desk) -> None:
    desk.provide()
    desk.outputs.bucket = "another"
    assert desk.provide()["wheelhouse"]["url"].startswith("https://another.example/")
    assert ("another", f"wheelhouse/{DIGEST}.json") in desk.store.objects


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda root: (root / "v.pt").unlink(), "v.pt, which can't be read: No such file"),
        (lambda root: (root / "v.pt").write_text(""), "v.pt, which is empty"),
        (lambda root: (root / "training.yml").write_text("corpus: { kind: files, train: [a] }"), "must name two files"),
    ],
)
def test_a_corpus_that_lacks_something_is_told_before_anything_is_bought(desk: Desk, spoil: Any, said: str) -> None:
    desk.write_corpus()
    spoil(desk.root)
    for check in (desk.supplies.make_ready, lambda: check_corpus(desk.environment)):
        with pytest.raises(ConfigError, match=r"names|must name") as raised:
            check()
        assert said in raised.value.what


def test_a_file_that_goes_after_the_check_ends_the_start_as_any_other_failure_of_it(desk: Desk) -> None:
    desk.write_corpus()
    desk.supplies.make_ready()
    (desk.root / "t.en").unlink()
    with pytest.raises(SupplyError, match="can't be read"):
        desk.provide()
