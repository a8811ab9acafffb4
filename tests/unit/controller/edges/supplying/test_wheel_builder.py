"""The edge to the program that builds wheelhouses, and the playbook that runs it on the head."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import zipfile
from pathlib import Path

import pytest

from controller.domain.errors import StoppedError, SupplyError
from controller.edges.supplying import wheel_builder
from controller.edges.supplying.wheel_builder import WheelBuilder

ROOT = Path(__file__).resolve().parents[5]
MANIFEST = {"digest": "d" * 64, "sha256": "e" * 64}
PRINTS = f"""
import json, os, sys
print("wheelhouse: 1/4", file=sys.stderr)
asked = {{"arguments": sys.argv[1:], "url": os.environ.get("WHEELHOUSE_UPLOAD_URL")}}
print(json.dumps({{"digest": "d" * 64, "misfit": "", "archive": None, "manifest": {{**{MANIFEST}, "asked": asked}}}}))
"""


def builder(root: Path, program: str, stopping: threading.Event | None = None) -> WheelBuilder:
    (root / "requirements").mkdir()
    (root / "requirements" / "wheelhouse.py").write_text(program)
    return WheelBuilder(root, (stopping or threading.Event()).is_set)


def test_what_the_program_says_is_read(tmp_path: Path) -> None:
    built = builder(tmp_path, PRINTS).build("3.11", "2.36")
    assert (built.digest, built.misfit, built.archive) == ("d" * 64, "", None)
    assert built.manifest is not None
    assert built.manifest["asked"]["arguments"] == ["build", "--python", "3.11", "--glibc", "2.36"]


def test_the_real_program_describes_and_packs_its_sources(tmp_path: Path) -> None:
    real = WheelBuilder(ROOT)
    assert len(real.describe("3.11", "2.36").digest) == 64
    real.sources(tmp_path / "sources.zip")
    assert zipfile.is_zipfile(tmp_path / "sources.zip")


def test_a_build_that_fails_is_told_with_its_last_words(tmp_path: Path) -> None:
    with pytest.raises(SupplyError, match="could not be built:\n  g\\+\\+ was killed") as raised:
        builder(tmp_path, "import sys; sys.exit('g++ was killed')").build("3.11", "2.36")
    assert "requirements/wheelhouse.py build" in raised.value.next_step


def test_a_build_that_takes_too_long_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheel_builder, "BUILD_S", 0.5)
    with pytest.raises(SupplyError, match="not built within"):
        builder(tmp_path, "import time; time.sleep(600)").build("3.11", "2.36")


def test_a_person_can_stop_a_build(tmp_path: Path) -> None:
    stopping = threading.Event()
    stopping.set()
    with pytest.raises(StoppedError):
        builder(tmp_path, "import time; time.sleep(600)", stopping).build("3.11", "2.36")


class Head:
    """A head that is this machine with another home, and the sources of a build."""

    def __init__(self, folder: Path, program: str) -> None:
        self.home, self.manifest = folder / "home", folder / "manifest.json"
        self.home.mkdir()
        self.sources, self.variables = folder / "abc.zip", folder / "variables.json"
        with zipfile.ZipFile(self.sources, "w") as entries:
            entries.writestr("requirements/wheelhouse.py", program)
        self.inventory = folder / "inventory.json"
        host = {"ansible_connection": "local", "ansible_python_interpreter": sys.executable}
        self.inventory.write_text(json.dumps({"all": {"children": {"head": {"hosts": {"i-head": host}}}}}))

    def build(self) -> subprocess.CompletedProcess[str]:
        variables = {
            "centavo": {"root": "~/c", "boot_s": 30}, "build_packages": [],
            "sources": str(self.sources), "built_for": {"python": "3.11", "glibc": "2.36"},
            "manifest": str(self.manifest), "upload_url": "https://b.example/key?signed",
        }  # fmt: skip
        self.variables.write_text(json.dumps(variables))
        programs = Path(sys.executable).parent
        path = f"{programs}:{os.environ['PATH']}"
        play = [programs / "ansible-playbook", "playbooks/wheelhouse.yml"]
        return subprocess.run(
            [*play, "-i", self.inventory, "-e", f"@{self.variables}"],
            cwd=ROOT / "ansible", capture_output=True, text=True, check=False,
            env={**os.environ, "HOME": str(self.home), "PATH": path, "ANSIBLE_NOCOLOR": "1"},
        )  # fmt: skip


@pytest.mark.slow
def test_the_head_builds_and_uploads_and_the_manifest_comes_back(tmp_path: Path) -> None:
    head = Head(tmp_path, PRINTS)
    done = head.build()
    assert done.returncode == 0, done.stdout + done.stderr
    asked = {"arguments": ["build", "--python", "3.11", "--glibc", "2.36"], "url": "https://b.example/key?signed"}
    assert json.loads(head.manifest.read_text()) == {**MANIFEST, "asked": asked}
    assert (head.home / "c" / "build-abc" / "requirements" / "wheelhouse.py").is_file()


@pytest.mark.slow
def test_a_head_that_can_not_build_says_why(tmp_path: Path) -> None:
    head = Head(tmp_path, "import sys; sys.exit('there is no python3.11 here')")
    done = head.build()
    assert done.returncode != 0 and "there is no python3.11 here" in done.stdout
    assert not head.manifest.exists()
