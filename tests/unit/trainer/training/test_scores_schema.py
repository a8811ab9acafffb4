"""What rank 0 really writes to scores.json is what its schema describes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import trainer.training
from tests.support.small_training import small
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.node.fact import MembershipChange
from trainer.training.ending import finish
from trainer.worker.rank import Rank

SCHEMA = json.loads(Path(trainer.training.__path__[0], "scores.schema.json").read_text())


def test_the_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_the_scores_have_every_field_of_the_schema_and_no_other(tmp_path: Path) -> None:
    one = Rank.of(
        small(tmp_path, stop={"steps": 2, "validate_every_steps": 2}, validation={"decode": "greedy"})
    ).prepare(Silent(), resume=False)
    assert one is not None
    world = World({})
    one.run(world)
    one.state.progress.changes.append(vars(MembershipChange("2026-11-21T06:00:00.250Z", 2, 1, 0.5, 3)))
    finish(one, world)
    written = (tmp_path / "storage" / "results" / "scores.json").read_text()
    scores = json.loads(written, parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
    jsonschema.validate(scores, SCHEMA)
    assert set(scores) == set(SCHEMA["properties"])
    for name in ("validation", "last"):
        validation = scores["validation"] if name == "validation" else scores["validation"]["last"]
        fields = SCHEMA["properties"]["validation"]["properties"]
        assert set(validation) == set(fields if name == "validation" else fields["last"]["properties"])
    assert set(scores["changes"][0]) == set(SCHEMA["properties"]["changes"]["items"]["properties"])
