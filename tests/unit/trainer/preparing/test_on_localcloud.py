"""A corpus in the S3 of localcloud: prepared there by the command, and trained on as one in a folder is."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.local_cloud import REPOSITORY, LocalCloud
from tests.support.raw_text import preparation

pytestmark = pytest.mark.slow

BUCKET = "corpora"
TRAINING: dict[str, Any] = {
    "stop": {"steps": 12},
    "model": {"preset": "tiny", "layers": 1, "units": 16, "hidden": 16, "heads": 2},
    "batch": {"tokens": 512, "max_tokens": 120},
    "translate": {"beam_size": 1, "max_length": 8},
}


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as started:
        started.client("s3").create_bucket(Bucket=BUCKET)
        yield started


def trainer(cloud: LocalCloud, *arguments: str) -> None:
    """Runs a command of the trainer to its end."""
    environment = {**os.environ, **cloud.environment, "PYTHONPATH": str(REPOSITORY), "OMP_NUM_THREADS": "1"}
    environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] = "http://127.0.0.1:9"
    command = [sys.executable, "-W", "ignore", "-m", "trainer", *arguments]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr


def trained(folder: Path, corpus: str, cloud: LocalCloud) -> Any:
    """Trains on a corpus. Returns the digests of the parameters."""
    config = folder / "training.yml"
    places = {"storage": str(folder / "storage"), "cache": str(folder / "cache"), "facts": {"path": str(folder)}}
    folder.mkdir()
    config.write_text(json.dumps({**TRAINING, **places, "corpus": {"kind": "prepared", "directory": corpus}}))
    trainer(cloud, "train", "--config", str(config))
    return json.loads((folder / "storage" / "results" / "scores.json").read_text())["parameters_sha256"]


def test_a_corpus_in_s3_is_prepared_and_trained_on_as_one_in_a_folder_is(tmp_path: Path, cloud: LocalCloud) -> None:
    here = preparation(tmp_path)
    there = f"s3://{BUCKET}/en-pt"
    (tmp_path / "corpus.yml").write_text(here.model_dump_json())
    for output in (here.output, there):
        options = ["--set", f"output={output}", "--processes", "2"]
        trainer(cloud, "prepare", "--config", str(tmp_path / "corpus.yml"), *options)
    assert trained(tmp_path / "b", there, cloud) == trained(tmp_path / "a", here.output, cloud)
    fetched = list((tmp_path / "b" / "cache").rglob("*.ids"))
    assert len(fetched) >= 3


@pytest.mark.needs_tool("spark")
def test_spark_prepares_text_in_s3_to_the_same_objects_as_the_built_in_engine(
    tmp_path: Path, cloud: LocalCloud
) -> None:
    client, settings = cloud.client("s3"), preparation(tmp_path)
    (raw,) = settings.train
    for path in map(Path, (str(raw.source), str(raw.target))):
        client.put_object(Bucket=BUCKET, Key=f"raw/{path.name}", Body=path.read_bytes())
    there = {side: f"s3://{BUCKET}/raw/train.{side}.gz" for side in ("source", "target")}
    document = {**json.loads(settings.model_dump_json()), "train": [there]}
    (tmp_path / "corpus.yml").write_text(json.dumps(document))
    engines = {"here": ["--processes", "1"], "spark": ["--engine", "spark", "--master", "local[2]"]}
    for name, options in engines.items():
        output = f"output=s3://{BUCKET}/by-{name}"
        trainer(cloud, "prepare", "--config", str(tmp_path / "corpus.yml"), "--set", output, *options)
    contents = [objects_of(client, f"by-{name}/") for name in engines]
    assert contents[0] == contents[1] and len(contents[0]) == 12


def objects_of(client: Any, prefix: str) -> dict[str, bytes]:
    """The objects below a prefix, by the rest of their names."""
    found = client.list_objects_v2(Bucket=BUCKET, Prefix=prefix)["Contents"]
    names = [one["Key"] for one in found]
    return {name.removeprefix(prefix): client.get_object(Bucket=BUCKET, Key=name)["Body"].read() for name in names}
