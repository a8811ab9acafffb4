"""The layer of real edges: its faults are well named, and its stub writes what the trainer's schemas ask for."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.faults.edges import layer
from tests.faults.edges.stub import worker
from tests.faults.fault import Fault, Result
from tests.faults.table import violations

LEAST_FAULTS = 40
ROOT = Path(__file__).parents[2]
ROLES = ROOT / "ansible" / "roles"
SCHEMA = json.loads((ROOT / "trainer" / "node" / "fact.schema.json").read_text())


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"stop": {"steps": 100}, "facts": {"path": str(tmp_path)}, "stub": {"log": str(tmp_path / "log")}}


def test_there_are_enough_faults_and_the_last_one_ends_its_run() -> None:
    names = [fault.name for fault in layer.singles()]
    assert len(names) >= LEAST_FAULTS
    assert len({*names}) == len(names)
    assert names[-1].startswith("end/")


def test_every_fault_is_in_one_lane_and_each_lane_ends_its_runs() -> None:
    faults = tuple(layer.singles())
    lanes = [[fault.name for fault in lane] for lane in layer.lanes(faults)]
    assert sorted(name for lane in lanes for name in lane) == sorted(fault.name for fault in faults)
    for names in lanes:
        moments = [name.partition("/")[0] for name in names]
        begins = [place for place, moment in enumerate(moments) if moment == "start" != ["", *moments][place]]
        assert begins[0] == 0
        assert all(moments[place - 1] == "end" for place in (*begins[1:], len(moments)))


def test_nothing_follows_a_lack_of_capacity_but_the_end_of_the_run() -> None:
    (script,) = (script for script in layer.SCRIPTS if "grow/no-capacity" in script)
    assert script[script.index("grow/no-capacity") + 1].startswith("end/")


def test_a_violation_shows_what_repeats_it_and_what_was_told_before() -> None:
    fault = Fault("train/throttle", "throttle")
    assert violations([Result(fault, True, told=("a word",))]) == []
    found = violations([Result(fault, True, ("it hung",), told=("a word", "another"))])
    assert found == ["make faults FAULT='train/throttle'\n    it hung", "      | a word", "      | another"]


def test_a_fault_that_does_not_exist_is_named() -> None:
    with pytest.raises(LookupError, match="no fault nonsense"):
        layer.run(Fault("nonsense", ""))


@pytest.mark.parametrize(
    ("command", "template"),
    [("warm", "worker/templates/worker.conf.j2"), ("attach", "worker/templates/attach.j2"),
     ("launch", "head/templates/launcher.conf.j2")],
)  # fmt: skip
def test_the_stub_takes_the_options_that_the_nodes_give_the_trainer(command: str, template: str) -> None:
    given = {*re.findall(r" (--[a-z-]+) ", " ".join((ROLES / template).read_text().split()))}
    taken = subprocess.run(
        [sys.executable, "-m", "tests.faults.edges.stub", command, "--help"],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=60,
    ).stdout  # fmt: skip
    assert given and given <= {*re.findall(r"--[a-z-]+", taken)}


def test_the_stub_writes_facts_of_the_trainers_schema(
    settings: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(worker, "_metadata", lambda name: f"an-{name}")
    one, path = worker.Worker(settings, tmp_path / "wanted"), tmp_path / "iteration.fact"
    facts = []
    one._write("starting", "warm: ready to join")
    facts.append(json.loads(path.read_text()))
    one._step({"rank": 0, "size": 3, "step": 7})
    facts.append(json.loads(path.read_text()))
    one._end("drained")
    facts.append(json.loads(path.read_text()))
    for fact in facts:
        jsonschema.validate(fact, SCHEMA)
    assert [fact["state"] for fact in facts] == ["starting", "training", "draining"]
    assert [fact["step"] for fact in facts] == [0, 7, 7]
