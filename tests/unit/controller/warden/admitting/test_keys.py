"""Whose SSH keys a node lets in, from the bucket."""

from __future__ import annotations

import base64
import subprocess
from pathlib import Path
from typing import Any

import pytest

from controller.owning import keys
from controller.record.journal import Stage
from controller.warden.admitting.keys import (
    BEGIN,
    END,
    ENDED,
    FOLLOW_S,
    HEAD,
    KEYS_PREFIX,
    MOST_KEYS,
    Door,
    public_key,
    with_keys,
)
from controller.warden.bucket import Bucket
from tests.unit.controller.warden.stand_ins import S3

OWN = "ssh-rsa AAAAB3Nza the-clusters-key\n# a note\nssh-ed25519 AAAAC3Nza centavo-head\n"
"""What is never touched; the last line is the launcher's key (ansible/roles/head)."""


def key(letter: str, kind: str = "ssh-ed25519") -> str:
    blob = len(kind).to_bytes(4, "big") + kind.encode() + b"\0\0\0\x20" + letter.encode() * 32
    return f"{kind} {base64.b64encode(blob).decode()}"


class World:
    """A node with a file of keys, a bucket, and a clock."""

    def __init__(self, folder: Path) -> None:
        self.s3, self.now, self.told = S3(), 0.0, list[str]()
        self.file = folder / ".ssh" / "authorized_keys"
        self.file.parent.mkdir()
        self.file.write_text(OWN)
        self.bucket = Bucket("unit", "unit-bucket", "us-east-1", self.s3)
        self.door = Door(self.bucket, self.file, self.told.append, lambda: self.now)
        self.s3.lease(generation=1)
        self.look()

    def look(self, after_s: float = 10.0) -> str:
        self.now += after_s
        self.door.follow(self.bucket.look())
        return self.file.read_text()

    def offer(self, name: str, content: str, **lease: Any) -> None:
        self.s3.now_s += 1
        self.s3.write(f"control/keys/{name}.pub", content.encode())
        if lease:
            self.s3.lease(**lease)


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)


def test_a_new_holders_key_is_let_in_and_goes_with_its_holder(world: World) -> None:
    assert world.file.read_text() == OWN
    world.offer("b", f"{key('b')} ada@desk\n", generation=2)
    assert world.look() == f"{OWN}{BEGIN}\n{key('b')} centavo:b\n{END}\n"
    assert world.file.stat().st_mode & 0o777 == 0o600
    world.offer("c", key("c"), generation=3)
    del world.s3.objects["control/keys/b.pub"]
    assert world.look() == f"{OWN}{BEGIN}\n{key('c')} centavo:c\n{END}\n"
    del world.s3.objects["control/keys/c.pub"]
    assert world.look() == OWN
    assert len(world.told) == 3


def test_what_lies_there_already_is_read_at_the_start(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.offer("b", key("b"))
    again = Door(world.bucket, world.file, world.told.append, lambda: 0.0)
    again.follow(world.bucket.look())
    assert "centavo:b" in world.file.read_text()


def test_the_bucket_is_asked_for_keys_only_for_a_while_after_a_change(world: World) -> None:
    world.look(FOLLOW_S + 1)
    world.offer("b", key("b"))
    assert world.look() == OWN, "the holder is the same, and long ago its key could have come"
    world.s3.lease(generation=2)
    world.look()
    assert "centavo:b" in world.file.read_text()


def test_a_bucket_that_does_not_answer_changes_nothing(world: World) -> None:
    world.offer("b", key("b"), generation=2)
    world.look()
    world.s3.is_there = False
    assert "centavo:b" in world.look()
    world.s3.is_there = True
    world.door.follow(world.bucket.look())
    assert "centavo:b" in world.file.read_text()


def test_the_heads_key_counts_while_its_run_goes_on(world: World) -> None:
    let_in = f"{OWN}{BEGIN}\n{key('h')} centavo:head.run-1\n{END}\n"
    world.offer("head.run-1", key("h"))
    assert world.look() == let_in, "the hand-over's machine still holds the lease"
    for stage in ("training", "ending"):
        world.s3.lease(generation=2, stage=stage)
        assert world.look() == let_in
    world.look(FOLLOW_S + 1)
    world.s3.lease(generation=2, stage="ended")
    assert world.look() == OWN, "its object still lies in the bucket"
    world.s3.lease(generation=3, run="run-2")
    assert world.look() == OWN, "the next run is another's"


@pytest.mark.parametrize("lease", [{"run": None}, {"fired": {"by": "worker"}}, {"run": "../run-1"}])
def test_the_heads_key_does_not_count_where_its_run_does_not_go_on(world: World, lease: dict[str, Any]) -> None:
    world.offer("head.run-1", key("h"), generation=2)
    assert "centavo:head.run-1" in world.look()
    world.s3.lease(generation=2, **lease)
    assert world.look() == OWN
    del world.s3.objects["control/lease.json"]
    world.offer("head.None", key("x"))
    assert world.look() == OWN


def test_a_lease_that_is_given_back_makes_the_nodes_look_for_keys(world: World) -> None:
    world.look(FOLLOW_S + 1)
    world.offer("head.run-1", key("h"))
    assert world.look() == OWN
    world.s3.lease(generation=1, released=True)
    assert "centavo:head.run-1" in world.look()


def test_controller_and_warden_have_the_same_names() -> None:
    assert keys.head_key("run-1") == f"{KEYS_PREFIX}{HEAD}run-1.pub"
    assert keys.public_key("a") == f"{KEYS_PREFIX}a.pub"
    assert Stage.ENDED.value == ENDED


@pytest.mark.parametrize(
    "content",
    [
        "",
        "ssh-ed25519",
        f'command="rm -rf /" {key("x")}',
        f"{key('x')}\n{key('y')}",
        key("x").replace("ssh-ed25519", "ssh-rsa", 1),
        key("x", "ssh-dss"),
        "ssh-ed25519 not*base64",
        f"{key('x')}\rssh-rsa AAAA",
        f"{key('x')} " + "x" * 5000,
        "ssh-ed25519 " + base64.b64encode(b"\0\0\0\x0bssh-ed25519").decode(),
        "ssh-ed25519 AAAÄ",
    ],
)
def test_what_is_no_public_key_lets_nobody_in(world: World, content: str) -> None:
    world.offer("x", content, generation=2)
    assert world.look() == OWN
    assert "lets nobody in" in world.told[-1]
    assert public_key(content.encode(), "x.pub") is None


def test_a_strange_name_or_too_many_keys_are_left_out(world: World) -> None:
    world.offer("x\nssh-rsa AAAA", key("x"), generation=2)
    for number in range(MOST_KEYS + 3):
        world.offer(f"n{number}", key(chr(97 + number)))
    lines = world.look().splitlines()
    assert [line.rpartition(":")[2] for line in lines if line.endswith(tuple("0123456789"))] == ["n3", "n4", "n5", "n6"]
    assert "ssh-rsa AAAA" not in lines


def test_the_comment_of_a_key_is_not_taken_over() -> None:
    line = public_key(f"{key('a')} evil comment".encode(), "name.pub")
    assert line == f"{key('a')} centavo:name"


def test_a_file_whose_end_mark_is_lost_is_mended() -> None:
    torn = f"{BEGIN}\n{key('a')} centavo:a\n{OWN}"
    assert with_keys(torn, []) == OWN
    assert with_keys(torn, [key("b")]) == f"{OWN}{BEGIN}\n{key('b')}\n{END}\n"


def test_a_key_of_ssh_keygen_is_let_in(tmp_path: Path) -> None:
    for kind in ("ed25519", "rsa", "ecdsa"):
        subprocess.run(["ssh-keygen", "-q", "-t", kind, "-N", "", "-f", tmp_path / kind], check=True)
        line = public_key((tmp_path / f"{kind}.pub").read_bytes(), "me.pub")
        assert line is not None and line.endswith("centavo:me")
