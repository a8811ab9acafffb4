"""Terraform and its providers for the head: the very files in use, the same name for the same files, nothing half."""

from __future__ import annotations

import hashlib
import os
import platform
import tarfile
import time
from pathlib import Path

import pytest

from controller.domain.errors import StoppedError, SupplyError
from controller.edges.supplying.terraform_tools import TerraformTools

AWS = "registry.terraform.io/hashicorp/aws"
LOCK = f'provider "{AWS}" {{\n  version     = "5.100.0"\n  constraints = "5.100.0"\n  hashes = ["h1:x="]\n}}\n'
HERE = "linux_amd64"


class Machine:
    """A machine with Terraform and an environment whose provider is a link into a mirror, as Terraform makes it."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.environment, self.cache, self.program = root / "environment", root / "cache", root / "bin" / "terraform"
        self.program.parent.mkdir()
        self.program.write_bytes(b"\x7fELF the program")
        self.program.chmod(0o755)
        self.mirror = root / "mirror"
        self.mirror.mkdir()
        self.provider = self.mirror / "terraform-provider-aws_v5.100.0_x5"
        self.provider.write_bytes(b"the provider" * 1000)
        self.provider.chmod(0o755)
        self.versions = self.environment / ".terraform" / "providers" / AWS
        (self.versions / "5.100.0").mkdir(parents=True)
        (self.versions / "5.100.0" / HERE).symlink_to(self.mirror)
        (self.environment / ".terraform.lock.hcl").write_text(LOCK)
        self.stopping = False
        monkeypatch.setenv("PATH", str(self.program.parent))
        monkeypatch.delenv("TF_DATA_DIR", raising=False)
        monkeypatch.setattr(platform, "system", lambda: "Linux")
        monkeypatch.setattr(platform, "machine", lambda: "x86_64")

    def tools(self) -> TerraformTools:
        return TerraformTools(self.environment, lambda: self.stopping, self.cache)


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Machine:
    return Machine(tmp_path, monkeypatch)


def test_the_archive_has_the_program_and_a_mirror_of_what_init_has_chosen(machine: Machine) -> None:
    (machine.versions / "5.99.0" / HERE).mkdir(parents=True)
    (machine.versions / "5.99.0" / HERE / "terraform-provider-aws_v5.99.0").write_text("an old one that was left")
    packed = machine.tools().pack(machine.tools().find())
    with tarfile.open(packed.path) as archive:
        found = {entry.name: (entry.mode, entry.size) for entry in archive}
    assert found == {
        "bin/terraform": (0o755, 16),
        f"mirror/{AWS}/5.100.0/{HERE}/{machine.provider.name}": (0o755, 12_000),
    }
    assert (
        packed.size == packed.path.stat().st_size
        and packed.sha256 == hashlib.sha256(packed.path.read_bytes()).hexdigest()
    )


def test_the_same_files_have_the_same_name_and_are_packed_once(machine: Machine) -> None:
    first = machine.tools().find()
    packed = machine.tools().pack(first)
    at = packed.path.stat().st_mtime_ns
    for name, age_s in (("old.coming", 7200.0), ("new.coming", 60.0)):
        (machine.cache / name).touch()
        os.utime(machine.cache / name, (time.time() - age_s,) * 2)
    assert machine.tools().find().digest == first.digest
    assert machine.tools().pack(first).path.stat().st_mtime_ns == at
    machine.provider.write_bytes(b"another provider")
    another = machine.tools().find()
    assert another.digest != first.digest
    machine.tools().pack(another)
    assert [path.name for path in machine.cache.glob("*.coming")] == ["new.coming"], (
        "a build that goes on is left alone"
    )


def test_a_provider_that_is_missing_is_told_with_what_gets_it(machine: Machine) -> None:
    machine.provider.unlink()
    with pytest.raises(SupplyError, match="are not all in") as raised:
        machine.tools().find()
    assert "`terraform/init environment` gets them" in raised.value.next_step
    (machine.environment / ".terraform.lock.hcl").unlink()
    with pytest.raises(SupplyError, match="are not all in"):
        machine.tools().find()


def test_what_is_packed_when_a_person_stops_it_is_not_kept(machine: Machine) -> None:
    found = machine.tools().find()
    machine.stopping = True
    with pytest.raises(StoppedError):
        machine.tools().pack(found)
    assert list(machine.cache.iterdir()) == []


def test_a_head_of_another_kind_than_this_machine_is_told(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    assert machine.tools().misfit("x86_64") == ""
    assert "the head is Linux on arm64, and this machine is Linux on x86_64" in machine.tools().misfit("arm64")
    monkeypatch.setattr(platform, "system", lambda: "Darwin")
    assert "this machine is Darwin on x86_64" in machine.tools().misfit("x86_64")


def test_a_script_in_terraforms_place_is_told_and_so_is_none(machine: Machine) -> None:
    machine.program.write_text("#!/bin/sh\nexec tfenv exec terraform\n")
    assert "is a script that starts another Terraform" in machine.tools().misfit("x86_64")
    machine.program.unlink()
    assert machine.tools().misfit("x86_64") == "there is no terraform on the PATH"
    with pytest.raises(SupplyError, match="no terraform on the PATH"):
        machine.tools().find()
