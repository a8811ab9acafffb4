"""What the launcher really writes to done.json is what its schema describes."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema
import pytest

import trainer.launch
from trainer.launch.done import End, write_end

SCHEMA = json.loads(Path(trainer.launch.__path__[0], "done.schema.json").read_text())


def test_the_schema_itself_is_valid() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


@pytest.mark.parametrize(
    "end", [End("finished"), End("failed", "out of memory " * 1000), End("stopped", "10.0.0.5: told to stop")], ids=str
)
def test_every_end_is_valid_and_readable_by_all(tmp_path: Path, end: End) -> None:
    write_end(tmp_path, end)
    done = json.loads((tmp_path / "done.json").read_text())
    jsonschema.validate(done, SCHEMA)
    assert done["status"] == end.status
    assert (tmp_path / "done.json").stat().st_mode & 0o777 == 0o644


@pytest.mark.parametrize(
    "wrong", [{"status": "lost", "reason": "x"}, {"status": "failed", "reason": None}, {}], ids=str
)
def test_the_schema_refuses_an_end_that_says_nothing(wrong: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, SCHEMA)
