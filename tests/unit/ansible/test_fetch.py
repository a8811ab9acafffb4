"""The playbook that fetches the results, played on this machine in place of the head."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ANSIBLE = Path(__file__).resolve().parents[3] / "ansible"


def fetch(root: Path, destination: Path) -> subprocess.CompletedProcess[str]:
    """Plays fetch.yml on a head whose folder is `root`."""
    destination.mkdir()
    given = {"node_root": str(root), "destination": str(destination), "ansible_python_interpreter": sys.executable}
    playbook = [str(Path(sys.executable).with_name("ansible-playbook")), str(ANSIBLE / "playbooks" / "fetch.yml")]
    return subprocess.run(
        [*playbook, "-i", "head,", "-c", "local", "-e", json.dumps(given)],
        cwd=ANSIBLE, env={**os.environ, "ANSIBLE_CONFIG": str(ANSIBLE / "ansible.cfg")},
        capture_output=True, text=True, timeout=300, check=False,
    )  # fmt: skip


def test_every_result_is_fetched(tmp_path: Path) -> None:
    results = tmp_path / "node" / "results"
    results.mkdir(parents=True)
    for name in ("scores.json", "model.params"):
        (results / name).write_text(name)
    done = fetch(tmp_path / "node", tmp_path / "here")
    assert done.returncode == 0, done.stdout
    assert {file.name: file.read_text() for file in (tmp_path / "here").iterdir()} == {
        "scores.json": "scores.json",
        "model.params": "model.params",
    }


@pytest.mark.parametrize("made", [[], ["node"], ["node", "node/results"]])
def test_a_head_without_results_is_no_failure_of_the_playbook(tmp_path: Path, made: list[str]) -> None:
    for folder in made:
        (tmp_path / folder).mkdir()
    done = fetch(tmp_path / "node", tmp_path / "here")
    assert done.returncode == 0, done.stdout
    assert list((tmp_path / "here").iterdir()) == []
