"""Ranks that are unequal train what one process would train on the same tokens, under Horovod without elastic."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import mxnet as mx
import numpy as np
import pytest
import yaml

from tests.support.ranks import run_world
from trainer.messages.lines import Silent
from trainer.settings.section import section_from
from trainer.settings.training import Settings
from trainer.worker.rank import Rank

TRAINING = {
    "stop": {"steps": 8},
    "corpus": {"kind": "generated", "pairs": 400, "held_out": 12},
    "vocabulary": {"size": 400},
    "model": {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2, "dropout": 0.0},
    "batch": {"tokens": 512, "max_tokens": 120},
    "optimizer": {"learning_rate": 0.003, "warmup_steps": 4, "clip_norm": 1.0},
    "translate": {"beam_size": 1, "max_length": 8},
}


def run_ranks(directory: Path, speeds: list[float | None], **sections: Any) -> dict[str, Any]:
    """Trains with one rank for each speed, as plain horovodrun would start them. Returns the scores."""
    codes, outputs = end_ranks(directory, speeds, [[] for _ in speeds], **sections)
    assert codes == [0] * len(speeds), "\n".join(outputs)
    return dict(json.loads((directory / "storage" / "results" / "scores.json").read_text()))


def end_ranks(
    directory: Path, speeds: list[float | None], options: list[list[str]], **sections: Any
) -> tuple[list[int], list[str]]:
    """Trains like `run_ranks`, with options for each rank. Returns the exit codes and what the ranks said."""
    directory.mkdir(exist_ok=True)
    config = directory / "training.yml"
    places = {"storage": str(directory / "storage"), "cache": str(directory.parent / "cache")}
    config.write_text(yaml.safe_dump({**TRAINING, **places, **sections}))

    def command_of(rank: int) -> list[str]:
        command = [sys.executable, "-m", "trainer", "train", "--config", str(config)]
        return [*command, "--fact-path", str(directory / f"facts{rank}"), *options[rank]]

    def environment_of(rank: int) -> dict[str, str]:
        return {} if speeds[rank] is None else {"CENTAVO_EMULATED_SPEED": str(speeds[rank])}

    codes, _, said = run_world(len(speeds), command_of, environment_of)
    return codes, said


def parameters(directory: Path) -> dict[str, Any]:
    arrays = mx.nd.load(str(directory / "storage" / "results" / "model.params"))
    return {name: array.asnumpy() for name, array in arrays.items()}


@pytest.mark.slow
def test_two_unequal_ranks_are_one_process_on_the_same_tokens(tmp_path: Path) -> None:
    alone = run_ranks(tmp_path / "one", [None])
    together = run_ranks(tmp_path / "two", [0.5, 0.15], balance={"every_steps": 2})
    shares = [
        json.loads((tmp_path / "two" / f"facts{rank}" / "iteration.fact").read_text())["share"] for rank in (0, 1)
    ]
    assert shares[0] > 1.3 * shares[1], "the ranks are to have unequal batches"
    assert together["replicas_identical"]
    assert (together["steps"], together["tokens"]) == (alone["steps"], alone["tokens"])
    assert together["final_loss"] == pytest.approx(alone["final_loss"], rel=1e-5)
    expected, found = parameters(tmp_path / "one"), parameters(tmp_path / "two")
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=3e-5, err_msg=name)


@pytest.mark.slow
def test_gradients_can_travel_compressed(tmp_path: Path) -> None:
    result = run_ranks(tmp_path / "half", [None, None], horovod={"compression": "fp16"}, stop={"steps": 3})
    assert result["replicas_identical"]


@pytest.mark.slow
def test_horovod_s_autotune_and_timeline_leave_their_files(tmp_path: Path) -> None:
    log, timeline = tmp_path / "autotune.csv", tmp_path / "timeline.json"
    options = {"autotune": True, "autotune_log": str(log), "timeline": str(timeline)}
    result = run_ranks(tmp_path / "two", [None, None], horovod=options, stop={"steps": 320})
    assert result["replicas_identical"]
    header, *tried = log.read_text().splitlines()
    assert "cycle_time_ms" in header and "tensor_fusion_threshold" in header
    assert tried, "autotune is to have tried something by then"
    assert '"NEGOTIATE_ALLREDUCE"' in timeline.read_text()
    assert 'gradients.12"' in timeline.read_text(), "each gradient is Horovod's to fuse"


def test_an_option_that_this_horovod_lacks_is_refused(tmp_path: Path) -> None:
    settings = section_from(
        Settings,
        {
            "stop": {"steps": 1},
            "facts": {"path": str(tmp_path)},
            "horovod": {"hierarchical_allreduce": True},
        },
    )
    assert Rank.of(settings).prepare(Silent()) is None
    fact = json.loads((tmp_path / "iteration.fact").read_text())
    assert (fact["state"], "built with NCCL" in fact["reason"]) == ("failed", True)


def test_a_cache_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    places = {"cache": str(tmp_path / "file" / "cache"), "facts": {"path": str(tmp_path)}}
    assert Rank.of(section_from(Settings, {**TRAINING, **places})).prepare(Silent()) is None
    fact = json.loads((tmp_path / "iteration.fact").read_text())
    assert (fact["state"], "Not a directory" in fact["reason"]) == ("failed", True)


def test_ranks_with_other_settings_do_not_train_together(tmp_path: Path) -> None:
    kept = tmp_path / "two" / "storage" / "checkpoints" / "step-000000200"
    kept.parent.mkdir(parents=True)
    kept.write_text("of an earlier training")
    codes, outputs = end_ranks(tmp_path / "two", [None, None], [[], ["--set", "seed=7"]])
    assert codes == [1, 1]
    for output in outputs:
        assert "rank 1 cannot train with rank 0: its training.yml, corpus or version of Centavo differs" in output
    storage = tmp_path / "two" / "storage"
    assert [path for path in storage.rglob("*") if path.is_file()] == [kept], "nothing was trained in its place"
