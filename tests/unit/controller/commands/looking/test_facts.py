"""`centavo facts`: what every node says of itself, and why a node is unknown."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from controller.record.journal import Journal
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.record import synthetic
from tests.unit.controller.record.synthetic import SyntheticRun


@pytest.mark.usefixtures("up")
def test_facts_are_told_of_every_node(root: Path, capsys: Captured) -> None:
    observation = added(root, synthetic.running_run, "one").observations()[-1]
    assert centavo(root, "facts", "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["fleet"] == dict(observation.fleet)
    assert [fact["instance_id"] for fact in document["facts"]] == [fact.instance_id for fact in observation.facts]
    assert document["facts"][0]["compute_time_s"] == observation.facts[0].compute_time_s
    assert centavo(root, "facts") == 0
    told = capsys.readouterr().out
    for fact in observation.facts:
        (line,) = (line for line in told.splitlines() if line.startswith(fact.instance_id))
        assert fact.compute_time_s is not None
        assert line.split()[1:4] == [fact.flavor, "training", f"{fact.rank}/6"]
        assert f"{1e3 * fact.compute_time_s:.0f}" in line.split()


@pytest.mark.usefixtures("up")
def test_of_a_node_of_which_nothing_is_known_the_facts_say_why(root: Path, capsys: Captured) -> None:
    def boot(runs: Path) -> Journal:
        run = SyntheticRun(runs)
        run.boot()
        return run.journal

    added(root, boot, "one")
    assert centavo(root, "facts") == 0
    told = capsys.readouterr().out
    assert max(map(len, told.splitlines())) <= 80
    assert told.count(" unknown ") == 6
    assert "i-c5.large-0000: it was not asked\n" in told
