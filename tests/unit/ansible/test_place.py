"""The module `place`: what is asked for is there afterwards, and a second time nothing changes."""

from __future__ import annotations

import base64
import io
import json
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

MODULE = Path(__file__).resolve().parents[3] / "ansible" / "library" / "place.py"


def place(**options: Any) -> dict[str, Any]:
    """Runs the module as Ansible does; returns what it says."""
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": options})
    done = subprocess.run([sys.executable, str(MODULE), arguments], capture_output=True, text=True, check=False)
    return dict(json.loads(done.stdout))


def zipped(**files: str) -> str:
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w") as entries:
        for name, content in files.items():
            entries.writestr(name, content)
    return base64.encodebytes(archive.getvalue()).decode()


def mode_of(path: Path) -> str:
    return oct(path.stat().st_mode & 0o7777)


@pytest.fixture
def wanted(tmp_path: Path) -> dict[str, Any]:
    root = tmp_path / "node"
    return {
        "folders": [{"path": str(root), "mode": "0700"}, {"path": str(root / "log"), "mode": "0755"}],
        "archives": [{"folder": str(root / "trainer-1"), "content": zipped(trainer="ANSWER = 1\n")}],
        "files": [{"path": str(root / "run.sh"), "content": "#!/bin/sh\n", "mode": "0755"}],
        "lines": [{"path": str(root / ".ssh" / "keys"), "line": "key of the head", "mode": "0600"}],
    }


def test_all_of_it_is_there_and_a_second_visit_changes_nothing(wanted: dict[str, Any], tmp_path: Path) -> None:
    assert place(**wanted)["changed"] is True
    root = tmp_path / "node"
    assert (mode_of(root), mode_of(root / "log"), mode_of(root / "run.sh")) == ("0o700", "0o755", "0o755")
    assert (root / "run.sh").read_text() == "#!/bin/sh\n"
    assert (root / "trainer-1" / "trainer").read_text() == "ANSWER = 1\n"
    assert (root / ".ssh" / "keys").read_text() == "key of the head\n"
    again = place(**wanted)
    assert (again["changed"], again["paths"]) == (False, [])


def test_only_what_differs_is_changed_and_named(wanted: dict[str, Any], tmp_path: Path) -> None:
    place(**wanted)
    file = tmp_path / "node" / "run.sh"
    file.write_text("something else\n")
    file.chmod(0o600)
    assert place(**wanted)["paths"] == [str(file)]
    assert (file.read_text(), mode_of(file)) == ("#!/bin/sh\n", "0o755")


def test_a_line_is_added_after_those_that_are_there(wanted: dict[str, Any], tmp_path: Path) -> None:
    keys = tmp_path / "node" / ".ssh" / "keys"
    keys.parent.mkdir(parents=True)
    keys.write_text("key of the person")
    keys.chmod(0o644)
    place(**wanted)
    assert keys.read_text() == "key of the person\nkey of the head\n"
    assert mode_of(keys) == "0o644"


def test_a_check_changes_nothing_and_tells_what_it_would(wanted: dict[str, Any], tmp_path: Path) -> None:
    told = place(**wanted, _ansible_check_mode=True)
    assert told["changed"] is True and len(told["paths"]) == 5
    assert not (tmp_path / "node").exists()


def test_a_damaged_archive_leaves_no_folder_behind(wanted: dict[str, Any], tmp_path: Path) -> None:
    wanted["archives"][0]["content"] = base64.b64encode(b"no archive").decode()
    told = place(**wanted)
    assert told["failed"] is True and "BadZipFile" in told["msg"]
    assert sorted(path.name for path in (tmp_path / "node").iterdir()) == ["log"]


def test_the_archive_is_not_in_what_the_module_says(wanted: dict[str, Any]) -> None:
    told = place(**wanted)
    assert wanted["archives"][0]["content"].strip() not in json.dumps(told)
    assert wanted["archives"][0]["folder"] in told["paths"]
