"""A wheelhouse goes through localcloud's S3 to a node, by presigned URL, and the role `python` installs it there."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controller.domain.errors import AwsError
from controller.edges.supplying.store import Store
from tests.support.local_cloud import LocalCloud
from tests.support.wheelhouse import PACKAGES, TinyWheelhouse, tiny_wheelhouse, variables

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
PLAY = """
- hosts: localhost
  connection: local
  gather_facts: false
  roles:
    - python
"""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as one:
        one.client("s3").create_bucket(Bucket="cluster")
        yield one


@pytest.fixture
def store(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> Store:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    return Store("us-east-1")


def play_role(folder: Path, wheelhouse: dict[str, Any] | None) -> tuple[int, str]:
    """Runs the role `python` on this machine. Returns the exit code and what Ansible said."""
    playbook, extra = folder / "play.yml", folder / "extra.json"
    playbook.write_text(PLAY)
    node = folder / "node"
    extra.write_text(
        json.dumps({
            "centavo": {"wheelhouse": wheelhouse},
            "node_root": str(node),
            "node_python": str(node / "venv" / "bin" / "python"),
            "python_packages": PACKAGES,
        })
    )  # fmt: skip
    done = subprocess.run(
        [Path(sys.executable).with_name("ansible-playbook"), playbook, "-i", "localhost,", "-e", f"@{extra}"],
        env={**os.environ, "ANSIBLE_CONFIG": str(ROOT / "ansible" / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1",
             "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.returncode, done.stdout + done.stderr


@pytest.fixture
def house(store: Store, tmp_path: Path) -> TinyWheelhouse:
    """A wheelhouse in the bucket."""
    one = tiny_wheelhouse(tmp_path)
    store.upload("cluster", "wheelhouse/a/tiny.tar", one.archive)
    return one


def test_the_role_installs_what_the_bucket_has_and_a_second_run_changes_nothing(
    store: Store, house: TinyWheelhouse, tmp_path: Path
) -> None:
    url = store.url_to_read("cluster", "wheelhouse/a/tiny.tar", 600)
    code, said = play_role(tmp_path, variables(house, url))
    assert code == 0, said
    assert "changed=2" in said
    done = subprocess.run(
        [tmp_path / "node/venv/bin/python", "-c", "import tiny; print(tiny.ANSWER)"], capture_output=True, check=False
    )
    assert done.stdout == b"1\n"
    code, said = play_role(tmp_path, variables(house, url))
    assert code == 0 and "changed=0" in said, said


def test_a_wheelhouse_for_another_python_ends_the_role_with_what_to_do(
    store: Store, house: TinyWheelhouse, tmp_path: Path
) -> None:
    house.made_for["python"] = "3.9"
    code, said = play_role(tmp_path, variables(house, store.url_to_read("cluster", "wheelhouse/a/tiny.tar", 600)))
    assert code != 0 and "is for Python 3.9" in said and "nodes.wheelhouse in centavo.yml" in said
    assert not (tmp_path / "node").exists()


def test_an_object_that_is_gone_ends_the_role_without_telling_the_signature(
    store: Store, house: TinyWheelhouse, tmp_path: Path
) -> None:
    url = store.url_to_read("cluster", "wheelhouse/a/gone.tar", 600)
    code, said = play_role(tmp_path, variables(house, url))
    assert code != 0 and "answers 404" in said
    assert "Signature" not in said


def test_the_store_says_what_a_bucket_has(store: Store, tmp_path: Path) -> None:
    file = tmp_path / "corpus"
    file.write_bytes(b"x" * 9_000_000)  # uploaded in parts
    assert (store.has("cluster", "corpus/1"), store.read("cluster", "corpus/2")) == (False, None)
    store.upload("cluster", "corpus/1", file)
    store.write("cluster", "corpus/2", b"content")
    assert (store.has("cluster", "corpus/1"), store.read("cluster", "corpus/2")) == (True, b"content")


def test_a_bucket_or_a_file_that_is_missing_is_told(store: Store, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"x")
    with pytest.raises(AwsError, match="NoSuchBucket"):
        store.upload("no-such-bucket", "key", tmp_path / "file")
    with pytest.raises(AwsError, match="No such file"):
        store.upload("cluster", "key", tmp_path / "missing")


def test_nodes_reach_the_bucket_at_an_address_of_their_own_where_that_is_given(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert store.url_to_read("cluster", "key", 60).startswith("http://127.0.0.1:")
    monkeypatch.setenv("CENTAVO_NODES_S3_URL", "http://10.20.0.2:5590")
    assert Store("us-east-1").url_to_read("cluster", "key", 60).startswith("http://10.20.0.2:5590/cluster/key?")
