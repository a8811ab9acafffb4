"""The bundle: all that a run needs elsewhere, nothing that is secret, and the same bytes for the same files."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path
from typing import Any

import pytest
import yaml

from controller.config.load import load_environment
from controller.domain.errors import ConfigError
from controller.handover.bundle import Bundle, check_files, make_bundle
from controller.record.journal import Journal
from tests.unit.controller.harness import SETTINGS
from tests.unit.controller.record import synthetic

PLACES = "terraform/environments/test"
TAKEN = {
    "controller/__main__.py": "program",
    "ansible/bin/bounded-ssh": "#!/bin/sh",
    "terraform/main.tf": "module",
    "terraform/modules/head/main.tf": "head",
    f"{PLACES}/main.tf": "environment",
    f"{PLACES}/backend.hcl": "backend",
    f"{PLACES}/.terraform.lock.hcl": "lock",
    f"{PLACES}/terraform.tfstate": "state",
    f"{PLACES}/capacity.auto.tfvars.json": "{}",
    ".centavo/test/speeds.json": "[]",
    ".centavo/test/known_hosts": "host",
    "pyproject.toml": "[project]",
    "runs/one/supplies.json": "{}",
}
LEFT = {
    "key": "PRIVATE",
    "controller/__pycache__/cli.pyc": "compiled",
    "controller/README.md": "text",
    "terraform/tests/all.tftest.hcl": "test",
    "terraform/environments/other/main.tf": "other",
    f"{PLACES}/.terraform/providers/aws": "provider",
    f"{PLACES}/terraform.tfstate.backup": "old",
    f"{PLACES}/credentials": "SECRET",
    ".centavo/test/checkout": "id",
    ".centavo/test/controller.lock": "",
    "docs/house.md": "docs",
    "runs/two/supplies.json": "{}",
    "runs/one/ansible/artifacts/1/stdout": "said",
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A checkout with a run, secrets in wrong places, and much that a controller does not need."""
    settings: dict[str, Any] = yaml.safe_load(yaml.safe_dump(SETTINGS))
    settings["aws"]["credentials_file"] = f"{PLACES}/credentials"
    settings["ssh"]["identity_file"] = f"{PLACES}/id"
    own = {f"{PLACES}/id": "PRIVATE", f"{PLACES}/id.pub": "PUBLIC", "training.yml": "model: {}\n"}
    for name, content in {**TAKEN, **LEFT, **own}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(content)
    (tmp_path / "ansible/bin/bounded-ssh").chmod(0o755)
    (tmp_path / PLACES / "centavo.yml").write_text(yaml.safe_dump(settings))
    journal = synthetic.running_run(tmp_path / "made")
    journal.close()
    for file in journal.directory.iterdir():
        file.rename(tmp_path / "runs/one" / file.name)
    return tmp_path


def bundle_of(root: Path) -> Bundle:
    return make_bundle(load_environment(root, "test"), root / "runs" / "one")


def opened(bundle: Bundle) -> tarfile.TarFile:
    return tarfile.open(fileobj=io.BytesIO(bundle.content), mode="r:gz")


def test_it_has_all_that_a_run_needs_and_nothing_else(root: Path) -> None:
    names = set(opened(bundle_of(root)).getnames())
    assert names >= {*TAKEN, f"{PLACES}/centavo.yml", "training.yml", "runs/one/journal.sqlite"}
    assert not names & {*LEFT, f"{PLACES}/id"}
    assert not [name for name in names if name.startswith("/") or ".." in name]


def test_no_secret_is_in_it_wherever_it_lies(root: Path) -> None:
    archive = opened(bundle_of(root))
    contents = [file.read() for entry in archive if (file := archive.extractfile(entry)) is not None]
    assert contents and not [content for content in contents if b"PRIVATE" in content or b"SECRET" in content]


@pytest.mark.parametrize("taken", [None, "OF THE FIRST CHECKOUT"])
def test_it_has_the_public_key_of_the_cluster_whoever_made_that(root: Path, taken: str | None) -> None:
    """Terraform would replace the key of the cluster by the one of the head's controller otherwise."""
    if taken is not None:
        (root / ".centavo/test/cluster_key.pub").write_text(taken)
    found = opened(bundle_of(root)).extractfile(".centavo/test/cluster_key.pub")
    assert found is not None and found.read().decode() == (taken or "PUBLIC")


def test_the_same_files_give_the_same_bytes_whatever_their_times(root: Path) -> None:
    first = bundle_of(root)
    (root / "terraform/main.tf").touch()
    second = bundle_of(root)
    assert first == second and first.key == f"control/bundles/{first.sha256}.tar.gz"
    (root / "terraform/main.tf").write_text("changed")
    assert bundle_of(root).sha256 != first.sha256


def test_programs_stay_programs(root: Path) -> None:
    archive = opened(bundle_of(root))
    assert archive.getmember("ansible/bin/bounded-ssh").mode == 0o755
    assert archive.getmember("terraform/main.tf").mode == 0o644


def test_the_journal_in_it_is_whole_while_another_writes(root: Path, tmp_path: Path) -> None:
    journal = Journal(root / "runs" / "one")
    journal.add_event(1.0, "note", "in the write-ahead log only")
    copied = opened(bundle_of(root)).extractfile("runs/one/journal.sqlite")
    assert copied is not None
    there = tmp_path / "there"
    there.mkdir()
    (there / "journal.sqlite").write_bytes(copied.read())
    assert Journal(there).info() == journal.info()
    assert [event["message"] for event in Journal(there).events()][-1] == "in the write-ahead log only"


def test_a_file_outside_of_the_repository_is_refused_before_anything_is_made(root: Path) -> None:
    file = root / PLACES / "centavo.yml"
    settings = yaml.safe_load(file.read_text())
    settings["training"]["config"] = "/etc/hostname"
    file.write_text(yaml.safe_dump(settings))
    with pytest.raises(ConfigError, match="/etc/hostname, which lies outside of the repository"):
        check_files(load_environment(root, "test"))
