"""A person's own text: prepared here once, copied to the bucket, and trained on by nodes that read it there."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml

from tests.support.raw_text import preparation
from tests.support.sandbox import client_of, edit_yaml, make_sandbox
from trainer.preparing.prepare import prepare_corpus

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

STEPS = 60


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as one:
        yield one


def test_a_corpus_that_was_prepared_here_is_trained_on_from_the_bucket(tmp_path: Path, stack: ExitStack) -> None:
    sandbox = make_sandbox(
        tmp_path / "checkout", stack, initial={"c5.large": 2}, speeds={"c5.large": 0.4}, steps=STEPS
    )  # fmt: skip
    settings = preparation(tmp_path, output=str(sandbox.root / "prepared"))
    prepare_corpus(settings, 1)
    corpus = {"kind": "prepared", "directory": "prepared"}
    edit_yaml(sandbox.environment / "training.yml", lambda it: it.update(corpus=corpus, vocabulary={}))
    edit_yaml(sandbox.environment / "training.yml", lambda it: it["batch"].update(tokens=1024))
    assert sandbox.centavo("apply").returncode == 0
    assert sandbox.centavo("configure").returncode == 0
    done = sandbox.centavo("optimize")
    assert done.returncode == 0

    manifest = Path(settings.output, "manifest.json").read_bytes()
    prefix = f"corpus/prepared/{hashlib.sha256(manifest).hexdigest()}"
    s3 = client_of(sandbox.root, sandbox.endpoint, "s3")
    (bucket,) = [one["Name"] for one in s3.list_buckets()["Buckets"]]
    keys = {one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")["Contents"]}
    here = {str(path.relative_to(settings.output)) for path in Path(settings.output).rglob("*") if path.is_file()}
    assert keys == {f"{prefix}/{name}" for name in here}

    results = sandbox.root / "runs" / "latest" / "results"
    assert yaml.safe_load((results / "training.yml").read_text())["corpus"]["directory"] == f"s3://{bucket}/{prefix}"
    scores = json.loads((results / "scores.json").read_text())
    assert (scores["steps"], scores["replicas_identical"]) == (STEPS, True)
    assert len(scores["parameters_sha256"]) == 2
    assert sandbox.report["training"]["steps_lost"] == 0
