"""What the rehearsals of a watched and of a detached run compare: seconds a step, from the journal."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.rehearse.pace import Pace, pace_of
from tests.unit.controller.record import synthetic


def test_the_pace_is_that_of_the_steps_that_were_seen(tmp_path: Path) -> None:
    journal = synthetic.running_run(tmp_path)
    seen = journal.observations()
    journal.close()
    pace = pace_of(journal.directory)
    assert pace is not None and seen and pace.steps > 0 and pace.first_step_s > 0
    assert pace.seconds <= seen[-1].at - seen[0].at
    assert str(pace).startswith(f"{pace.seconds / pace.steps:.3f} s a step over {pace.steps} steps")


@pytest.mark.parametrize("steps", [0])
def test_a_run_without_two_looks_has_no_pace_a_step(steps: int) -> None:
    assert str(Pace(30.0, steps, 0.0)) == "no steps, the first one seen after 30 s"
