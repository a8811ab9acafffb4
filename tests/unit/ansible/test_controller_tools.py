"""What the role `controller` does beside the service: Terraform under its digest, and a check of the state."""

from __future__ import annotations

import hashlib
import io
import json
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[3]
DIGEST = "a1b2c3d4e5f6" + "0" * 52
PLAY = """
- hosts: head
  gather_facts: true
  gather_subset: ["!all", "!min", env]
  tasks:
    - ansible.builtin.include_role: { name: controller, tasks_from: STEP }
"""
TERRAFORM = """#!/bin/sh
echo "$PWD $*" >> "$CALLS"
[ "${DENIED:-}" = "" ] || { echo "Error: AccessDenied: s3:GetObject on the state" >&2; exit 1; }
echo '{ "version": 4, "lineage": "the-lineage", "serial": 3 }'
"""
REFUSED = 'echo "ada@10.0.0.1: Permission denied (publickey)." >&2; exit 255'


class Head:
    """A head that is this machine with another home, and has a placed bundle."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.root, self.calls = folder, folder / "home" / "c", folder / "calls"
        self.checkout = self.root / "controllers" / DIGEST[:12]
        (self.checkout / "terraform").mkdir(parents=True)
        (self.root / "bin").mkdir()
        self.archive = folder / "tools.tar.gz"
        with tarfile.open(self.archive, "w:gz") as entries:
            entry = tarfile.TarInfo("bin/terraform")
            entry.size, entry.mode = len(TERRAFORM), 0o755
            entries.addfile(entry, io.BytesIO(TERRAFORM.encode()))
        init = self.checkout / "terraform" / "init"
        init.write_text('#!/bin/sh\necho "init $*" >> "$CALLS"\n')
        init.chmod(0o755)
        self.environment: dict[str, str] = {}
        self.lineage, self.machine = "the-lineage", platform.machine()

    @property
    def key(self) -> Path:
        return self.checkout / ".centavo" / "unit" / "key"

    @property
    def public(self) -> Path:
        """Where the hand-over's machine gets the public half."""
        return self.folder / "public"

    def ssh(self, script: str) -> None:
        """Takes the place of ssh on the head."""
        (self.folder / "ssh").write_text(f'#!/bin/sh\necho "$*" >> "$CALLS"\n{script}\n')
        (self.folder / "ssh").chmod(0o755)

    @property
    def tools(self) -> Path:
        return self.root / f"tools-{DIGEST[:12]}"

    def play(self, step: str) -> subprocess.CompletedProcess[str]:
        content = self.archive.read_bytes()
        tools = {
            "digest": DIGEST, "machine": self.machine, "url": self.archive.as_uri(),
            "sha256": hashlib.sha256(content).hexdigest(), "size": len(content),
        }  # fmt: skip
        (self.root / "bin" / "controller.environment").write_text(f'export PATH={self.tools}/bin:"$PATH"\n')
        controller = {
            "sha256": DIGEST, "tools": tools, "name": "unit", "lineage": self.lineage, "python": "python3",
            "identity_on_head": ".centavo/unit/key", "packages": None, "public": str(self.public),
        }  # fmt: skip
        variables: dict[str, Any] = {
            "controller": controller, "node_root": str(self.root), "centavo": {"region": "r", "ssh_port": 2222},
            "controller_admitted_tries": 1,
        }  # fmt: skip
        host = {
            "ansible_connection": "local", "ansible_python_interpreter": sys.executable, "ansible_user": "ada",
            "private_ip": "10.0.0.1",
        }  # fmt: skip
        files = {
            "inventory.json": json.dumps({"all": {"children": {"head": {"hosts": {"i-head": host}}}}}),
            "variables.json": json.dumps(variables),
            "play.yml": PLAY.replace("STEP", step),
        }
        for name, text in files.items():
            (self.folder / name).write_text(text)
        programs = Path(sys.executable).parent
        more = {
            "HOME": str(self.root.parent), "PATH": f"{self.folder}:{programs}:{os.environ['PATH']}",
            "CALLS": str(self.calls), "ANSIBLE_NOCOLOR": "1", "ANSIBLE_ROLES_PATH": str(ROOT / "ansible" / "roles"),
            "ANSIBLE_LIBRARY": str(ROOT / "ansible" / "library"), **self.environment,
        }  # fmt: skip
        inputs = ["-i", self.folder / "inventory.json", "-e", f"@{self.folder / 'variables.json'}"]
        return subprocess.run(
            [programs / "ansible-playbook", self.folder / "play.yml", *inputs],
            cwd=ROOT / "ansible", env={**os.environ, **more}, capture_output=True, text=True, check=False,
        )  # fmt: skip


@pytest.fixture
def head(tmp_path: Path) -> Head:
    return Head(tmp_path)


@pytest.mark.slow
def test_tools_take_the_place_of_earlier_ones_and_lead_to_the_state(head: Head) -> None:
    (head.root / "tools-000000000000").mkdir()
    done = head.play("tools")
    assert done.returncode == 0, done.stdout + done.stderr
    assert [path.name for path in head.root.glob("tools-*")] == [head.tools.name]
    assert os.access(head.tools / "bin" / "terraform", os.X_OK)
    again = head.play("tools")
    assert again.returncode == 0 and "changed=0" in again.stdout

    done = head.play("check")
    assert done.returncode == 0, done.stdout + done.stderr
    initialised, read = head.calls.read_text().splitlines()
    assert initialised == "init unit"
    assert read == f"{head.checkout} -chdir=terraform/environments/unit state pull"


@pytest.mark.slow
def test_a_head_that_reads_another_state_or_none_is_told(head: Head) -> None:
    assert head.play("tools").returncode == 0
    head.lineage = "another"
    done = head.play("check")
    assert done.returncode != 0 and "reads the state the-lineage, and here another" in done.stdout
    head.environment["DENIED"] = "yes"
    done = head.play("check")
    assert done.returncode != 0 and "AccessDenied: s3:GetObject" in done.stdout


@pytest.mark.slow
def test_tools_for_another_processor_are_not_placed(head: Head) -> None:
    head.machine = "riscv128"
    done = head.play("tools")
    assert done.returncode != 0 and not head.tools.exists()


@pytest.mark.slow
def test_the_controllers_key_is_made_on_the_head_and_only_its_public_half_leaves_it(head: Head) -> None:
    done = head.play("key")
    assert done.returncode == 0, done.stdout + done.stderr
    private, public = head.key.read_text(), head.key.with_suffix(".pub").read_text()
    assert private.startswith("-----BEGIN OPENSSH PRIVATE KEY-----") and public.startswith("ssh-ed25519 ")
    assert head.key.stat().st_mode & 0o777 == 0o600 and head.key.parent.stat().st_mode & 0o777 == 0o700
    assert head.public.read_text() == public
    assert private.splitlines()[2] not in done.stdout
    head.key.with_suffix(".pub").unlink()  # as where the head was cut off before
    assert head.play("key").returncode == 0
    assert (head.key.read_text(), head.key.with_suffix(".pub").read_text()) == (private, public)


@pytest.mark.slow
def test_the_controller_is_started_as_soon_as_the_head_lets_its_key_in(head: Head) -> None:
    head.ssh(f'[ "$(wc -l < "$CALLS")" -ge 2 ] || {{ {REFUSED}; }}')
    done = head.play("admitted")
    assert done.returncode == 0, done.stdout + done.stderr
    first, _ = head.calls.read_text().splitlines()
    assert first.endswith(f"-i {head.key} -p 2222 ada@10.0.0.1 true")


@pytest.mark.slow
def test_a_head_that_does_not_let_the_key_in_is_told(head: Head) -> None:
    head.ssh(REFUSED)
    done = head.play("admitted")
    assert done.returncode != 0
    assert "does not let the SSH key of its controller in: ada@10.0.0.1: Permission denied" in done.stdout
