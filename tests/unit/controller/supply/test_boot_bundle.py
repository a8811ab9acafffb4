"""The bundle by which a node prepares itself: it depends on its content alone, and knows nothing of this machine."""

from __future__ import annotations

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from controller.config.settings import NodesPrepare
from controller.supply import boot_bundle
from controller.supply.boot_bundle import keep_boot_bundle

ANSIBLE = Path(__file__).resolve().parents[4] / "ansible"
HEAD = {"instance_id": "i-head", "private_ip": "10.0.0.1", "flavor": "t3.small"}
SCHEMA = json.loads(Path(boot_bundle.__file__).with_name("boot.schema.json").read_text())


def centavo(run: Path) -> dict[str, Any]:
    names = {"cluster": "unit", "run": "run-1", "root": "~/centavo", "wheelhouse": None}
    return {**names, "training_config": str(run / "training.yml"), "package": str(run / "trainer.zip")}


def a_run(folder: Path, *, key: str = "ssh-ed25519 AAAA centavo-head\n") -> Path:
    folder.mkdir()
    for name in ("training.yml", "trainer.zip", "warden.zip", "journal.sqlite", "head_key.pub"):
        (folder / name).write_text(key if name == "head_key.pub" else name)
    return folder


def keep(run: Path, when: NodesPrepare = NodesPrepare.ALWAYS) -> dict[str, Any]:
    assert keep_boot_bundle(run, ANSIBLE, centavo(run), HEAD, when)
    pointer: dict[str, Any] = json.loads((run / "boot.json").read_text())
    jsonschema.validate(pointer, {**SCHEMA, "additionalProperties": False})
    return pointer


def content(run: Path) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO((run / "boot.tar.gz").read_bytes())) as archive:
        return {name: archive.extractfile(name).read() for name in archive.getnames()}  # type: ignore[union-attr]


def test_the_bundle_has_the_roles_and_the_runs_program_and_settings(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    pointer, files = keep(run), content(run)
    assert pointer["run"] == "run-1" and pointer["when"] == "always"
    assert files["trainer.zip"] == b"trainer.zip" and "journal.sqlite" not in files and "shipping.zip" not in files
    assert {"ansible/ansible.cfg", "ansible/bin/apply_here.py", "ansible/playbooks/prepare.yml"} < files.keys()
    variables = json.loads(files["variables.json"])
    assert variables["head_key"] == "ssh-ed25519 AAAA centavo-head" and variables["head"] == HEAD
    assert {"package": "boto3", "module": "boto3"} in variables["packages"]
    assert not any(str(tmp_path).encode() in one for one in files.values()), "no path of this machine"


def test_the_same_content_gives_the_same_bundle_wherever_the_run_lies(tmp_path: Path) -> None:
    one, two = a_run(tmp_path / "one"), a_run(tmp_path / "two")
    assert keep(one) == keep(two)
    written = (one / "boot.tar.gz").stat().st_mtime_ns
    keep(one)
    assert (one / "boot.tar.gz").stat().st_mtime_ns == written, "what has not changed is not written again"
    (two / "training.yml").write_text("another")
    assert keep(two)["sha256"] != keep(one)["sha256"]


@pytest.mark.parametrize("when", [*NodesPrepare])
def test_the_pointer_says_when_a_node_prepares_itself(tmp_path: Path, when: NodesPrepare) -> None:
    assert keep(a_run(tmp_path / "run"), when)["when"] == when.value


def test_before_a_worker_has_been_prepared_there_is_no_bundle(tmp_path: Path) -> None:
    run = a_run(tmp_path / "run")
    (run / "head_key.pub").unlink()
    assert not keep_boot_bundle(run, ANSIBLE, centavo(run), HEAD, NodesPrepare.ALWAYS)
    assert not (run / "boot.json").exists()
