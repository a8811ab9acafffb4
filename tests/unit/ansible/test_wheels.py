"""The module `wheels`: an environment is made from a wheelhouse alone, and counts as made once its imports work."""

from __future__ import annotations

import json
import marshal
import os
import shutil
import subprocess
import sys
from importlib.util import MAGIC_NUMBER, cache_from_source, source_hash
from pathlib import Path
from typing import Any

import pytest

from tests.support.wheelhouse import PACKAGES, TinyWheelhouse, pack, tiny_wheelhouse

MODULE = Path(__file__).resolve().parents[3] / "ansible" / "library" / "wheels.py"


class Node:
    """A node with a place for an environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "node" / "venv" / "bin" / "python"

    def visit(
        self, wheelhouse: TinyWheelhouse | None, *, with_archive: bool = False, check: bool = False, **options: Any
    ) -> dict[str, Any]:
        """Runs the module as Ansible does; returns what it says."""
        arguments: dict[str, Any] = {"python": str(self.python), "packages": PACKAGES, "_ansible_check_mode": check}
        if wheelhouse is not None:
            arguments["wheelhouse"] = wheelhouse.made_for
        if wheelhouse is not None and with_archive:
            arguments["archive"] = str(shutil.copy(wheelhouse.archive, self.folder / "fetched.tar"))
        given = json.dumps({"ANSIBLE_MODULE_ARGS": {**arguments, **options}})
        done = subprocess.run([sys.executable, str(MODULE), given], capture_output=True, text=True, check=False)
        return dict(json.loads(done.stdout))

    def answer(self) -> str:
        """What the package in the environment says."""
        command = [self.python, "-c", "import tiny; print(tiny.ANSWER)"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return (done.stdout or done.stderr).strip()

    @property
    def names(self) -> set[str]:
        return {path.name for path in self.python.parents[2].iterdir()}


@pytest.fixture
def node(tmp_path: Path) -> Node:
    return Node(tmp_path)


def test_an_environment_is_made_from_the_wheelhouse_and_a_second_visit_changes_nothing(node: Node) -> None:
    house = tiny_wheelhouse(node.folder)
    assert node.visit(house)["needed"] is True
    made = node.visit(house, with_archive=True)
    assert (made.get("msg"), made["changed"], node.answer()) == (None, True, "1")
    assert (node.python.parents[1] / "lib" / "centavo" / "kernels.so").read_bytes() == b"kernels"
    assert not (node.folder / "fetched.tar").exists()
    again = node.visit(house)
    assert (again["changed"], again["needed"]) == (False, False)
    assert node.names == {"venv", "venv-aaaaaaaaaaaa"}


def test_what_the_wheelhouse_has_compiled_is_not_compiled_again(node: Node) -> None:
    """The compiled form in this wheelhouse says something else than its source, which shows that Python uses it."""
    hash_of_source = source_hash(b"ANSWER = 1\n")
    compiled = MAGIC_NUMBER + (0b11).to_bytes(4, "little") + hash_of_source  # by PEP 552
    compiled += marshal.dumps(compile("ANSWER = 'compiled'", "tiny.py", "exec"))
    house = tiny_wheelhouse(node.folder, bytecode={cache_from_source("tiny.py"): compiled})
    node.visit(house, with_archive=True)
    assert node.answer() == "compiled"


def test_another_wheelhouse_takes_the_place_of_the_first(node: Node) -> None:
    node.visit(tiny_wheelhouse(node.folder), with_archive=True)
    second = tiny_wheelhouse(node.folder, "ANSWER = 2\n", "b" * 64)
    assert node.visit(second)["needed"] is True
    node.visit(second, with_archive=True)
    assert node.answer() == "2"
    third = tiny_wheelhouse(node.folder, "ANSWER = 3\n", "c" * 64)
    node.visit(third, with_archive=True)
    assert (node.answer(), node.names) == ("3", {"venv", "venv-bbbbbbbbbbbb", "venv-cccccccccccc"})


def test_packages_that_are_installed_and_can_not_be_imported_are_no_environment(node: Node) -> None:
    """GluonNLP's stale C file gave metadata in good order, and an import that failed."""
    broken = tiny_wheelhouse(node.folder, "raise ImportError('tiny.so: undefined symbol: _PyGen_Send')\n")
    said = node.visit(broken, with_archive=True)
    assert said["failed"] and "undefined symbol: _PyGen_Send" in said["msg"]
    assert node.visit(broken)["needed"] is True and not node.python.exists()
    whole = tiny_wheelhouse(node.folder, digest="b" * 64)
    node.visit(whole, with_archive=True)
    assert node.answer() == "1"


def test_an_environment_whose_making_was_cut_off_is_made_anew(node: Node) -> None:
    house = tiny_wheelhouse(node.folder)
    half = node.folder / "node" / "venv-aaaaaaaaaaaa"
    half.mkdir(parents=True)
    (half / "pyvenv.cfg").write_text("nonsense")
    (half / "left").write_text("left")
    assert node.visit(house)["needed"] is True
    node.visit(house, with_archive=True)
    assert node.answer() == "1" and not (half / "left").exists()


def test_a_folder_that_lies_in_the_environments_place_is_replaced(node: Node) -> None:
    (node.python.parent).mkdir(parents=True)
    node.python.write_text("an earlier environment")
    node.visit(tiny_wheelhouse(node.folder), with_archive=True)
    assert node.answer() == "1"


@pytest.mark.parametrize(
    ("part", "value", "said"),
    [
        ("python", "3.9", "is for Python 3.9 on"),
        ("glibc", "9.99", "with glibc 9.99 or later"),
        ("machine", "riscv64", "on riscv64 with"),
    ],
)
def test_a_wheelhouse_for_other_nodes_is_refused_before_it_is_fetched(
    node: Node, part: str, value: str, said: str
) -> None:
    house = tiny_wheelhouse(node.folder)
    house.made_for[part] = value
    answer = node.visit(house)
    own = "{}.{}".format(*sys.version_info[:2])
    assert answer["failed"] and said in answer["msg"]
    assert f"This node has Python {own} on" in answer["msg"] and "nodes.wheelhouse in centavo.yml" in answer["msg"]


def test_a_wheel_that_is_not_the_listed_one_is_not_installed(node: Node) -> None:
    house = tiny_wheelhouse(node.folder)
    other = tiny_wheelhouse(node.folder, "ANSWER = 666\n", "b" * 64)
    unpacked = node.folder / "mixed"
    shutil.unpack_archive(other.archive, unpacked, "tar")
    shutil.copy(node.folder / "house-aaaaaa" / "requirements.txt", unpacked)
    pack(unpacked, house.archive)
    said = node.visit(house, with_archive=True)
    assert said["failed"] and "hash" in said["msg"].lower() and not node.python.exists()


def test_an_archive_that_is_no_wheelhouse_is_told(node: Node) -> None:
    house = tiny_wheelhouse(node.folder)
    house.archive.write_bytes(b"nonsense" * 1000)
    said = node.visit(house, with_archive=True)
    assert said["failed"] and "could not be installed" in said["msg"]


def test_checking_alone_installs_nothing(node: Node) -> None:
    node.python.parents[2].mkdir()
    assert node.visit(tiny_wheelhouse(node.folder), with_archive=True, check=True)["changed"] is True
    assert node.names == set()


def test_a_node_that_installs_nothing_is_asked_once_and_again_after_a_change(node: Node) -> None:
    environment = node.folder / "own"
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(environment)], check=True)
    packages = next(environment.glob("lib/python*/site-packages"))
    python = str(environment / "bin" / "python")
    said = node.visit(None, python=python)
    assert said["failed"] and "No module named 'tiny'" in said["msg"] and "no nodes.wheelhouse" in said["msg"]
    shutil.unpack_archive(
        next(tiny_wheelhouse(node.folder).archive.parent.glob("house-*/wheels/tiny*")), packages, "zip"
    )
    assert node.visit(None, python=python).get("msg") is None
    (packages / "tiny.py").write_text("raise ImportError\n")
    assert node.visit(None, python=python).get("msg") is None, "it was asked a second time"
    os.utime(packages, ns=(1, 1))
    assert "failed" in node.visit(None, python=python)


def test_a_library_of_the_system_that_is_missing_is_named_with_what_to_do(node: Node) -> None:
    code = "raise OSError('libquadmath.so.0: cannot open shared object file: No such file or directory')\n"
    said = node.visit(tiny_wheelhouse(node.folder, code), with_archive=True)
    assert "libquadmath.so.0" in said["msg"] and "system_packages in main.tf" in said["msg"]
