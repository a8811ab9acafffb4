"""The trainer's archive: the same for the same sources, and, where it is to be kept, the same for a whole run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[4]


def pack(package: Path, destination: Path, **options: Any) -> dict[str, Any]:
    """Run the Ansible module as Ansible does; what it says."""
    arguments = {"ANSIBLE_MODULE_ARGS": {"src": str(package), "dest": str(destination), **options}}
    command = [sys.executable, str(ROOT / "ansible" / "library" / "pack.py"), json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout))


def test_an_archive_follows_its_sources_unless_it_is_to_be_kept(tmp_path: Path) -> None:
    package, archive = tmp_path / "package", tmp_path / "run" / "package.zip"
    package.mkdir()
    source = package / "__init__.py"
    source.write_text("ANSWER = 1\n")
    first = pack(package, archive, keep=True)
    assert first["changed"] and archive.is_file()
    source.write_text("ANSWER = 2\n")
    kept = pack(package, archive, keep=True)
    assert (kept["changed"], kept["sha256"]) == (False, first["sha256"])
    renewed = pack(package, archive)
    assert renewed["changed"] and renewed["sha256"] != first["sha256"]
    assert not pack(package, archive)["changed"]


def test_a_folder_that_is_no_package_is_refused(tmp_path: Path) -> None:
    assert "it has no __init__.py" in pack(tmp_path, tmp_path / "out.zip")["msg"]
