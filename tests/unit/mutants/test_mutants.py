"""The tool around mutmut: what it mutates, what it keeps, and which survivors are explained."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from fnmatch import fnmatch
from pathlib import Path

import pytest

from tests.mutants import workspace
from tests.mutants.__main__ import Outcome, show, try_room, write
from tests.mutants.limits import HUNG
from tests.mutants.rooms import ROOMS, WORDING, Room
from tests.mutants.survivors import Equivalent, Survivor, line_of, read_equivalent, sides
from tests.mutants.workspace import ROOT, Workspace, settings

SOURCE = '''"""A module."""

LIMIT = 3


def first(a):
    """Returns one more."""
    b = a + 1
    return b


class Thing:
    @classmethod
    def first(cls, a):
        if a > LIMIT:
            return None
        return a
'''
SURVIVOR = Survivor("act", "controller/act/x.py", 9, "controller.act.x.x_f__mutmut_1", True, "-    a = 1\n+    a = 2")


def test_every_room_has_files_and_tests() -> None:
    files = [str(file.relative_to(ROOT)) for file in (ROOT / "controller").rglob("*.py")]
    for room in ROOMS:
        assert all(any(fnmatch(file, pattern) for file in files) for pattern in room.files)
        assert all(list((ROOT / folder).rglob("test_*.py")) for folder in room.tests)
        assert all(line in settings(room) for line in (*room.files, *room.tests, *WORDING))
    mutated = {file for file in files for room in ROOMS for pattern in room.files if fnmatch(file, pattern)}
    assert "controller/act/guard.py" in mutated and "controller/record/journal/journal.py" in mutated


@pytest.mark.parametrize("text", ['"Have a look at `centavo plan`."', 'f"{n} nodes of it run"', "raise GuardError("])
def test_wording_for_people_is_left_alone(text: str) -> None:
    assert any(re.search(pattern, text) for pattern in WORDING)


@pytest.mark.parametrize("code", ['group.get("desired_capacity")', "if planned > most:", 'kind = "a b" + key["c"]'])
def test_code_is_mutated(code: str) -> None:
    assert not any(re.search(pattern, code) for pattern in WORDING)


@pytest.mark.parametrize(
    ("mutant", "diff", "line"),
    [
        ("m.x_first__mutmut_1", ["--- m", "+++ m", "@@ -1,4 +1,4 @@", " def", " doc", "-    b", "+    c"], 8),
        ("m.xǁThingǁfirst__mutmut_2", ["--- m", "+++ m", "@@ -2,3 +2,3 @@", " def", "-    if", "+    if"], 15),
    ],
)
def test_a_survivor_is_shown_with_its_line(mutant: str, diff: list[str], line: int) -> None:
    assert line_of(SOURCE, mutant, diff) == line


def test_a_survivor_is_explained_by_what_it_changes_wherever_it_stands() -> None:
    explained = Equivalent("controller/act/x.py", "a = 1", "a = 2", "a is never read")
    assert explained.is_meant(SURVIVOR)
    assert not Equivalent("controller/act/x.py", "a = 1", "a = 3", "").is_meant(SURVIVOR)
    assert not Equivalent("controller/act/y.py", "a = 1", "a = 2", "").is_meant(SURVIVOR)
    assert sides("-a\n-  b\n+c") == ("a b", "c")


def test_every_explanation_says_why_and_is_about_code_that_is_there() -> None:
    """Where this fails, the code has changed: take the entry out of `equivalent.yml`, or correct it."""
    for one in read_equivalent():
        assert len(one.why) > 20, one
        code = " ".join(line.strip() for line in (ROOT / one.file).read_text(encoding="utf-8").splitlines())
        assert one.before in code and one.before != one.after, one


@pytest.mark.parametrize(
    ("mutants", "untried", "survivors", "status"),
    [(100, 0, (), 0), (100, 0, (SURVIVOR,), 0), (100, 1, (), 1), (10, 0, (SURVIVOR,), 1), (0, 0, (), 1)],
)
def test_the_exit_status_says_whether_enough_is_caught_and_all_is_explained(
    mutants: int, untried: int, survivors: tuple[Survivor, ...], status: int
) -> None:
    known = [Equivalent("controller/act/x.py", "a = 1", "a = 2", "a is never read")]
    assert show([Outcome("act", mutants, untried, survivors, 1.0)], known) == status
    if survivors:
        assert show([Outcome("act", mutants, untried, survivors, 1.0)], []) == 1


def test_the_result_is_written_for_programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutants.__main__.OUTPUT", tmp_path / "mutants.json")
    write([Outcome("act", 100, 0, (SURVIVOR,), 1.0)], [])
    document = json.loads((tmp_path / "mutants.json").read_text())
    assert (document["mutants"], document["caught"]) == (100, 99)
    (survivor,) = document["survivors"]
    assert (survivor["file"], survivor["line"], survivor["diff"]) == (SURVIVOR.file, 9, SURVIVOR.diff)
    assert survivor["equivalent"] is None


@pytest.fixture
def one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Workspace:
    monkeypatch.setattr(workspace, "KEPT", tmp_path)
    made = Workspace(Room("act", ("controller/act/*",), ("tests/unit/controller/act",)))
    made.prepare(keep=False)
    (made.folder / "mutants" / "controller").mkdir()
    (made.folder / "mutants" / "controller" / "x.py.meta").write_text(
        '{"exit_code_by_key": {"a": 1, "b": 0, "c": 33, "d": -24}}'
    )
    return made


def test_what_was_found_out_is_kept_for_the_next_run(one: Workspace) -> None:
    one.prepare(keep=False)
    assert one.results() == {"controller/x.py": {"a": 1, "b": 0, "c": 33, "d": -24}}


TESTS = """
def test_that_ends() -> None:
    pass

def test_that_loops() -> None:
    while True:
        pass
"""
RUN = """
import sys, pytest
from mutmut.state import state
from tests.mutants import limits
limits.LEAST_S = 0.2
state().duration_by_test.update({"test_it.py::test_that_ends": 0.0, "test_it.py::test_that_loops": 0.0})
sys.exit(pytest.main(["-ptests.mutants.limits", "-pno:cacheprovider", *sys.argv[1:]]))
"""


@pytest.mark.parametrize(("test", "code"), [("test_that_ends", 0), ("test_that_loops", HUNG)])
def test_a_mutant_that_has_a_test_loop_is_told_by_that_tests_processor_time(
    tmp_path: Path, test: str, code: int
) -> None:
    (tmp_path / "test_it.py").write_text(TESTS)
    (tmp_path / "pytest.ini").write_text("[pytest]\n")
    command = [sys.executable, "-c", RUN, f"test_it.py::{test}"]
    ended = subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, check=False)
    assert ended.returncode == code


def test_what_was_found_out_about_other_code_or_tests_is_forgotten(one: Workspace) -> None:
    (one.folder / "digest").write_text("of an earlier state")
    one.prepare(keep=False)
    assert one.results() == {}


def test_survivors_and_what_hung_are_tried_again_and_what_was_caught_is_kept(one: Workspace) -> None:
    (one.folder / "digest").write_text("of an earlier state")
    one.prepare(keep=True)
    one.forget_survivors()
    assert one.results() == {"controller/x.py": {"a": 1, "b": None, "c": None, "d": None}}


def test_what_is_known_is_shown_without_trying_anything(one: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tests.mutants.__main__.survivors", lambda workspace: ())
    (one.folder / "digest").write_text("of an earlier state")
    (one.folder / "seconds").write_text("12.5")
    outcome = try_room(one.room, again=False, end=0.0)
    assert (outcome.mutants, outcome.untried, outcome.seconds) == (4, 0, 12.5)


def test_what_was_being_written_when_mutmut_was_stopped_is_made_again(one: Workspace) -> None:
    file = one.folder / "mutants" / "controller" / "x.py"
    file.write_text("x = 1\n")
    file.with_name("x.py.meta").write_text('{"exit_code_by_')
    one.prepare(keep=False)
    assert one.results() == {} and not file.exists()


def test_a_folder_that_was_copied_from_another_checkout_is_about_this_one(one: Workspace, tmp_path: Path) -> None:
    link = one.folder / "tests"
    link.unlink()
    link.symlink_to(tmp_path / "another" / "tests")
    one.prepare(keep=True)
    assert link.readlink() == ROOT / "tests"
