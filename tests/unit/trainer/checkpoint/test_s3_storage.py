"""Checkpoints in the S3 of localcloud: a training killed, its newest checkpoint torn, ends as if nothing had been."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support.local_cloud import REPOSITORY, LocalCloud, wait_until

pytestmark = pytest.mark.slow

TRAINING: dict[str, Any] = {
    "stop": {"steps": 100},
    "corpus": {"kind": "generated", "pairs": 400, "held_out": 12},
    "vocabulary": {"size": 400},
    "model": {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2, "dropout": 0.2},
    "batch": {"tokens": 512, "max_tokens": 120},
    "checkpoint": {"every_steps": 10, "keep": 3},
    "translate": {"beam_size": 1, "max_length": 8},
}
BUCKET, PREFIX = "trainings", "runs/1"


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as started:
        started.client("s3").create_bucket(Bucket=BUCKET)
        yield started


def train(directory: Path, cloud: LocalCloud, storage: str, *options: str, **environment: str) -> subprocess.Popen[str]:
    """Starts a training with its own settings file. It leaves no checkpoint out, however slow the storage is."""
    config = directory / "training.yml"
    config.write_text(yaml.safe_dump({**TRAINING, "storage": storage, "cache": str(directory / "cache")}))
    program = REPOSITORY / "tests" / "support" / "unhurried_training.py"
    command = [sys.executable, "-W", "ignore", str(program), "train", "--config", str(config), *options]
    return subprocess.Popen(
        [*command, "--fact-path", str(directory / "facts")],
        env={
            **os.environ,
            **cloud.environment,
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": "http://127.0.0.1:9",
            "PYTHONPATH": str(REPOSITORY),
            "OMP_NUM_THREADS": "1",
            **environment,
        },
        stderr=subprocess.PIPE,
        text=True,
    )


def checkpoints(cloud: LocalCloud) -> list[str]:
    """Returns the keys of the checkpoints in the bucket, sorted."""
    listed = cloud.client("s3").list_objects_v2(Bucket=BUCKET, Prefix=f"{PREFIX}/checkpoints/")
    return sorted(entry["Key"] for entry in listed.get("Contents", []))


def test_killed_torn_and_resumed_it_ends_bitwise_equal_to_an_uninterrupted_one(
    tmp_path: Path, cloud: LocalCloud
) -> None:
    whole = train(tmp_path, cloud, str(tmp_path / "whole"))
    assert whole.wait(200) == 0
    expected = json.loads((tmp_path / "whole" / "results" / "scores.json").read_text())

    storage, s3 = f"s3://{BUCKET}/{PREFIX}", cloud.client("s3")
    killed = train(tmp_path, cloud, storage, CENTAVO_EMULATED_SPEED="0.1")
    wait_until(lambda: len(checkpoints(cloud)) == 3, "three checkpoints", 200)
    killed.kill()
    killed.wait()
    left = checkpoints(cloud)
    torn = s3.get_object(Bucket=BUCKET, Key=left[-1])["Body"].read()[:-100]
    s3.put_object(Bucket=BUCKET, Key=left[-1], Body=torn)

    resumed = train(tmp_path, cloud, storage, "--resume", "--results", str(tmp_path / "results"))
    log = resumed.communicate(timeout=200)[1]
    assert resumed.returncode == 0, log
    assert f"checkpoint s3://{BUCKET}/{left[-1]} is refused: its checksum does not match" in log
    assert f"resumed from the checkpoint of step {int(left[-2][-9:])}" in log
    scores = json.loads((tmp_path / "results" / "scores.json").read_text())
    assert scores["parameters_sha256"] == expected["parameters_sha256"]
    assert (scores["steps"], scores["tokens"], scores["restarts"]) == (100, expected["tokens"], 1)
    assert [key[-3:] for key in checkpoints(cloud)] == ["080", "090", "100"]


def test_a_bucket_that_is_not_there_is_said_to_be(tmp_path: Path, cloud: LocalCloud) -> None:
    absent = train(tmp_path, cloud, "s3://absent/runs", "--resume")
    log = absent.communicate(timeout=200)[1]
    assert absent.returncode == 1
    assert re.search(r"s3://absent/runs/checkpoints/step- cannot be listed: .*NoSuchBucket", log), log
