"""Playing traces, and reading them."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from controller.decide.deadlines.paper import greedy, on_demand_only
from controller.decide.deadlines.situation import ON_DEMAND, WAIT, Job, Spot
from controller.simulate.traces.play import play
from controller.simulate.traces.trace import read_trace, read_traces

JOB = Job(
    work_s=350.0,
    time_s=1000.0,
    change_over_s=150.0,
    step_s=100.0,
    on_demand_usd_per_hour=36.0,
    spot_usd_per_hour=(18.0,),
)


def column(*flags: int) -> np.ndarray:
    return np.array(flags, dtype=bool)[:, None]


def test_on_demand_pays_its_change_over_and_whole_steps() -> None:
    played = play(on_demand_only, JOB, column(*[0] * 10))
    assert played.usd == pytest.approx(5.0) and played.is_in_time and played.change_overs == 1


def test_what_is_taken_back_keeps_its_work_and_starts_anew() -> None:
    played = play(greedy, JOB, column(1, 1, 1, 0, 0, 1, 1, 1, 1, 1))
    # 150 s of work before the loss, 200 s after it: each start takes 150 s
    assert played.usd == pytest.approx(7 * 0.5) and played.change_overs == 2 and played.waited_s == 200.0


def test_a_job_that_waits_for_ever_is_late() -> None:
    played = play(lambda now: WAIT, JOB, column(*[1] * 10))
    assert not played.is_in_time and played.usd == 0 and played.waited_s == 1000.0


def test_the_last_step_ends_at_the_deadline() -> None:
    job = Job(350.0, 490.0, 150.0, 100.0, 36.0, (18.0,))
    assert not play(lambda now: ON_DEMAND, job, column(*[0] * 5)).is_in_time
    assert play(lambda now: ON_DEMAND, Job(340.0, 490.0, 150.0, 100.0, 36.0, (18.0,)), column(*[0] * 5)).is_in_time


def test_a_pool_without_capacity_is_refused() -> None:
    with pytest.raises(ValueError, match="no capacity at step 0"):
        play(lambda now: Spot(0), JOB, column(*[0] * 10))


def test_traces_that_are_too_short_are_refused() -> None:
    with pytest.raises(ValueError, match="end before"):
        play(on_demand_only, JOB, column(1, 1))


def written(folder: Path, name: str, document: object) -> Path:
    path = folder / name
    path.write_bytes(
        gzip.compress(json.dumps(document).encode()) if name.endswith(".gz") else json.dumps(document).encode()
    )
    return path


@pytest.mark.parametrize("ending", ["json", "json.gz"])
def test_a_trace_is_read_with_the_pool_of_its_name(tmp_path: Path, ending: str) -> None:
    document = {"metadata": {"gap_seconds": 60}, "data": [0, 1, 4, 0]}
    written(tmp_path, f"availability_1-node_aws-02-15-2023_us-east-1a_v100_1.{ending}", document)
    (trace,) = read_traces(tmp_path)
    assert (trace.zone, trace.region, trace.kind, trace.step_s) == ("us-east-1a", "us-east-1", "v100_1", 60.0)
    assert trace.available.tolist() == [False, True, True, False]


def test_a_thinned_step_has_capacity_where_all_of_it_has(tmp_path: Path) -> None:
    document = {"metadata": {"gap_seconds": 60}, "data": [1, 1, 1, 0, 1]}
    trace = read_trace(written(tmp_path, "us-east-1a_v100_1.json", document)).thinned(2)
    assert trace.step_s == 120.0 and trace.available.tolist() == [True, False]


@pytest.mark.parametrize("document", [[], {"data": [1]}, {"metadata": {"gap_seconds": 0}, "data": [1]}])
def test_another_file_is_refused(tmp_path: Path, document: object) -> None:
    path = written(tmp_path, "us-east-1a_v100_1.json", document)
    with pytest.raises(ValueError, match=r"us-east-1a_v100_1\.json is no trace"):
        read_trace(path)
