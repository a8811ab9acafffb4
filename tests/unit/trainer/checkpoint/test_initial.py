"""Fine-tuning: a training that begins with the parameters of another one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import boto3
import numpy as np
import pytest
from moto import mock_aws

from tests.support.small_training import CORPUS, small
from trainer.checkpoint.checkpoint import CheckpointError
from trainer.checkpoint.initial import initial_parameters
from trainer.checkpoint.origin import fingerprint
from trainer.elastic.world import World
from trainer.messages.lines import Silent
from trainer.training.ending import finish
from trainer.training.errors import TrainingFailedError
from trainer.training.loop import Training
from trainer.training.prepare import prepare
from trainer.worker.rank import Rank

SMALL_MODEL = {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2, "dropout": 0.2}


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that has ended. Its parameters are those of step 6, with checkpoints of 3 and 6."""
    directory = tmp_path_factory.mktemp("first")
    one, world = prepared(directory, stop={"steps": 6}, checkpoint={"every_steps": 3}), World({})
    one.run(world)
    finish(one, world)
    return directory / "storage"


def prepared(directory: Path, resume: bool = False, **sections: Any) -> Training:
    training = Rank.of(small(directory, **sections)).prepare(Silent(), resume=resume)
    assert training is not None
    return training


def tuned(directory: Path, first: Path, init_from: Path | str, **sections: Any) -> Any:
    """What a training of other text, with the vocabulary of `first`, is prepared with."""
    other = {"corpus": {**CORPUS, "seed": 7}, "vocabulary": {"taken": str(first / "results" / "vocabulary")}}
    return small(directory, **{**other, "init_from": str(init_from), **sections})


def begun(settings: Any) -> dict[str, Any]:
    """What a training of these settings begins with."""
    ready = prepare(settings)
    shapes = {f"parameter.{name}": parameter.shape for name, parameter in ready.parameters.items()}
    return initial_parameters(settings.init_from, ready.checkpoints.origin, shapes)


def parameters_of(training: Training) -> dict[str, Any]:
    return {f"parameter.{name}": value.data().asnumpy() for name, value in training.prepared.parameters.items()}


def test_it_begins_with_the_results_and_learns_other_text_with_other_dropout(first: Path, tmp_path: Path) -> None:
    still = {"learning_rate": 1e-30}
    model = {**SMALL_MODEL, "dropout": 0.0}
    settings = tuned(tmp_path, first, first / "results", stop={"steps": 1}, optimizer=still, model=model)
    expected = begun(settings)
    one, world = prepared(tmp_path, **settings.model_dump(exclude_unset=True)), World({})
    one.run(world)
    assert one.state.snapshot().arrays["adam.updates"] == 1, "the optimizer begins anew"
    found = parameters_of(one)
    assert expected.keys() == found.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-20, err_msg=name)
    finish(one, world)
    scores = json.loads((tmp_path / "storage" / "results" / "scores.json").read_text())
    assert (scores["steps"], scores["init_from"]) == (1, str(first / "results"))


@pytest.mark.parametrize("place", ["results", "", "checkpoints/step-000000006"])
def test_results_storage_and_checkpoint_are_the_same_parameters(first: Path, tmp_path: Path, place: str) -> None:
    expected = begun(tuned(tmp_path, first, first / "results"))
    found = begun(tuned(tmp_path, first, f"{first}/{place}"))
    assert found.keys() == expected.keys()
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


def test_an_earlier_checkpoint_can_be_named(first: Path, tmp_path: Path) -> None:
    last = begun(tuned(tmp_path, first, first))
    earlier = begun(tuned(tmp_path, first, first / "checkpoints" / "step-000000003"))
    assert any(not np.array_equal(earlier[name], last[name]) for name in last)


def test_a_training_that_has_no_results_yet_is_begun_with_by_its_newest_whole_checkpoint(
    first: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    storage = tmp_path / "unfinished" / "checkpoints"
    storage.mkdir(parents=True)
    (storage / "step-000000003").write_bytes((first / "checkpoints" / "step-000000003").read_bytes())
    (storage / "step-000000006").write_bytes((first / "checkpoints" / "step-000000006").read_bytes()[:-9])
    expected = begun(tuned(tmp_path, first, first / "checkpoints" / "step-000000003"))
    found = begun(tuned(tmp_path, first, storage.parent))
    assert "step-000000006 is refused" in caplog.text
    for name in expected:
        np.testing.assert_array_equal(found[name], expected[name])


def test_it_begins_with_what_lies_in_s3(first: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("ACCESS_KEY_ID", "x"), ("SECRET_ACCESS_KEY", "x"), ("DEFAULT_REGION", "us-east-1")):
        monkeypatch.setenv(f"AWS_{name}", value)
    expected = begun(tuned(tmp_path, first, first))
    with mock_aws():
        client = boto3.client("s3")
        client.create_bucket(Bucket="bucket")
        for path in first.rglob("*"):
            if path.is_file():
                client.upload_file(str(path), "bucket", f"runs/1/{path.relative_to(first)}")
        for place in ("s3://bucket/runs/1", "s3://bucket/runs/1/checkpoints/step-000000006"):
            taken = {"taken": "s3://bucket/runs/1/results/vocabulary"}
            found = begun(tuned(tmp_path, first, place, vocabulary=taken))
            for name in expected:
                np.testing.assert_array_equal(found[name], expected[name])


@pytest.mark.parametrize("place", ["results", "checkpoints/step-000000006"])
def test_another_vocabulary_is_refused(first: Path, tmp_path: Path, place: str) -> None:
    settings = tuned(tmp_path, first, first / place, vocabulary={"size": 380})
    with pytest.raises(CheckpointError, match=r"it was made with another vocabulary"):
        begun(settings)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ({"layers": 2}, "only one of both has parameter.transformer_dec_transformer1_"),
        ({"hidden": 24}, "is .*16.*, and here .*24"),
    ],
)
@pytest.mark.parametrize("place", ["results", "checkpoints/step-000000006"])
def test_another_shape_is_refused(first: Path, tmp_path: Path, place: str, size: Any, message: str) -> None:
    settings = tuned(tmp_path, first, first / place, model={**SMALL_MODEL, **size})
    with pytest.raises(CheckpointError, match=f"of another model: .*{message}"):
        begun(settings)


@pytest.mark.parametrize("place", ["absent", "absent/checkpoints/step-000000006"])
def test_a_place_without_parameters_is_named_before_any_step(first: Path, tmp_path: Path, place: str) -> None:
    one = prepared(tmp_path, **tuned(tmp_path, first, tmp_path / place).model_dump(exclude_unset=True))
    with pytest.raises(
        TrainingFailedError, match=f"init_from: .*{place} cannot be begun with: (it has neither|there is no)"
    ):
        one.run(World({}))


def test_damaged_parameters_are_refused(first: Path, tmp_path: Path) -> None:
    torn = tmp_path / "torn"
    torn.mkdir()
    for name in ("vocabulary", "model.json"):
        (torn / name).write_bytes((first / "results" / name).read_bytes())
    (torn / "model.params").write_bytes(b"torn")
    with pytest.raises(CheckpointError, match="it is damaged"):
        begun(tuned(tmp_path, first, torn))


def test_a_training_that_is_resumed_continues_from_its_own_checkpoint(first: Path, tmp_path: Path) -> None:
    sections = tuned(tmp_path, first, first, stop={"steps": 4}, checkpoint={"every_steps": 4})
    one = prepared(tmp_path, **sections.model_dump(exclude_unset=True))
    one.run(World({}))
    one.prepared.checkpoints.finish()
    again = prepared(tmp_path, True, **{**sections.model_dump(exclude_unset=True), "init_from": str(tmp_path / "gone")})
    again.run(World({}))
    assert (again.state.progress.step, again.state.progress.restarts) == (4, 1)
    assert again.state.digest() == one.state.digest()
    assert again.state.progress.init_from == str(first)


def test_checkpoints_of_before_these_settings_are_still_continued(tmp_path: Path) -> None:
    """Compares with the fingerprint that the version before them made of the same settings."""
    settings = small(tmp_path, storage="storage")
    assert fingerprint(settings) == "52e71da9cfaa3dcefe04a93a7ea0d7ef96d79dc89d184be0bd9b40cb903815ab"
