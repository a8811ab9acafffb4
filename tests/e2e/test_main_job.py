"""The whole job on localcloud: real Terraform, SSH, Ansible, Horovod, MXNet and training, with small numbers."""

from __future__ import annotations

import hashlib
import json
import os
import signal
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path

import pytest
import yaml
from raw_text import preparation, write_pairs
from sandbox import Sandbox, client_of, edit_yaml, make_sandbox, move_phases, running_instances, wait_until

from trainer.data.corpus.generated import distinct_pairs
from trainer.preparing.prepare import prepare_corpus

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

STEPS = 300
"""Twice as many as are made until the move is done, on a machine with nothing else to do."""
INITIAL = {"t2.medium": 1, "c5.large": 1, "c5.xlarge": 1}


def phases(sandbox: Sandbox) -> list[str]:
    """Returns the phase of every move in the journal of the latest run."""
    return move_phases(sandbox.root / "runs" / "latest")


def assert_trained_without_loss(sandbox: Sandbox, steps: int) -> None:
    report = sandbox.report
    scores = json.loads((sandbox.root / "runs" / "latest" / "results" / "scores.json").read_text())
    assert report["status"] == "finished"
    assert report["training"]["steps"] == steps
    assert report["training"]["steps_lost"] == 0
    assert scores["replicas_identical"] is True
    assert len(set(scores["parameters_sha256"].values())) == 1
    assert len(scores["parameters_sha256"]) == sum(INITIAL.values())
    assert (sandbox.root / "runs" / "latest" / "results" / "model.params").stat().st_size > 0


def train_on_own_text(sandbox: Sandbox, folder: Path) -> None:
    """Prepares raw text in the checkout, and has the training use it."""
    texts = [write_pairs(folder, "own", distinct_pairs(4000, "en", "pt", seed=1), ".gz")]
    output = str(sandbox.root / "prepared")
    prepare_corpus(preparation(folder, train=texts, vocabulary={"size": 600}, shard_pairs=1500, output=output), 1)
    corpus = {"kind": "prepared", "directory": "prepared"}
    batch = {"tokens": 1536, "max_tokens": 64}
    edit_yaml(sandbox.environment / "training.yml", lambda it: it.update(corpus=corpus, vocabulary={}, batch=batch))


def keep_results_of_destroyed(sandbox: Sandbox) -> None:
    """Has the environment keep a bucket with results, as `aws` does."""
    main = sandbox.environment / "main.tf"
    text = main.read_text()
    main.write_text(text.replace("destroy_results = true", "destroy_results = false"))
    assert main.read_text() != text


def bucket_of(sandbox: Sandbox) -> str:
    (bucket,) = client_of(sandbox.root, sandbox.endpoint, "s3").list_buckets()["Buckets"]
    return str(bucket["Name"])


def assert_trained_on_the_copy_in_the_bucket(sandbox: Sandbox) -> None:
    here, bucket = sandbox.root / "prepared", bucket_of(sandbox)
    prefix = f"corpus/prepared/{hashlib.sha256((here / 'manifest.json').read_bytes()).hexdigest()}"
    s3 = client_of(sandbox.root, sandbox.endpoint, "s3")
    keys = {one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix=f"{prefix}/")["Contents"]}
    assert keys == {f"{prefix}/{path.relative_to(here)}" for path in here.rglob("*") if path.is_file()}
    training = yaml.safe_load((sandbox.root / "runs" / "latest" / "results" / "training.yml").read_text())
    assert training["corpus"]["directory"] == f"s3://{bucket}/{prefix}"


def assert_results_are_only_deleted_when_told(sandbox: Sandbox) -> None:
    """Destroys the environment, whose bucket holds results."""
    bucket = bucket_of(sandbox)
    refused = sandbox.centavo("destroy")
    assert refused.returncode != 0
    assert f"The bucket {bucket} holds " in refused.stdout
    assert "DELETE_DATA=1" in refused.stdout and "nothing was destroyed" in refused.stdout
    assert bucket_of(sandbox) == bucket, "the refused destroy has left everything as it was"
    assert len(running_instances(sandbox.ec2(), "head")) == 1

    done = sandbox.centavo("destroy", "--delete-data")
    assert done.returncode == 0
    assert f"objects in the bucket {bucket}." in done.stdout and "Nothing of it costs money any more." in done.stdout
    assert client_of(sandbox.root, sandbox.endpoint, "s3").list_buckets()["Buckets"] == []
    assert sandbox.centavo("destroy").stdout.strip().endswith("Nothing was up.")


def test_a_training_on_own_text_moves_to_the_cheapest_flavor_and_leaves_nothing_behind(
    tmp_path: Path, stack: ExitStack
) -> None:
    sandbox = make_sandbox(
        tmp_path / "centavo",
        stack,
        initial=INITIAL,
        steps=STEPS,
        speeds={"t2.medium": 0.025, "c5.large": 0.165, "c5.xlarge": 0.06},  # half a core when the move is done
    )
    train_on_own_text(sandbox, tmp_path / "text")
    keep_results_of_destroyed(sandbox)
    applied = sandbox.centavo("apply")
    assert applied.returncode == 0
    assert sandbox.running_workers() == INITIAL
    assert sandbox.centavo("plan").returncode == 0, "a second plan right after an apply shows a change"
    assert sandbox.centavo("configure").returncode == 0
    assert "changed=0" in sandbox.centavo("configure").stdout

    assert sandbox.centavo("optimize").returncode == 0

    assert_trained_without_loss(sandbox, steps=STEPS)
    assert_trained_on_the_copy_in_the_bucket(sandbox)
    report = sandbox.report
    assert report["fleet"]["initial"] == INITIAL
    assert {f: n for f, n in report["fleet"]["final"].items() if n} == {"c5.large": 3}
    assert [move["outcome"] for move in report["moves"]] == ["done"]
    assert report["moves"][0]["pause_s"] > 0
    assert report["cost"]["usd_per_million_tokens"]["final"] < report["cost"]["usd_per_million_tokens"]["initial"]
    assert sandbox.running_workers() == {}
    assert "rank 0 of 3 trains from step 0" in sandbox.centavo("logs", "--rank", "0").stdout
    assert "the training has finished" in sandbox.centavo("logs", "--stream", "controller").stdout

    assert_results_are_only_deleted_when_told(sandbox)
    assert sandbox.localcloud("down").returncode == 0
    assert sandbox.processes() == {}


@pytest.mark.long
def test_a_controller_killed_in_the_middle_of_a_move_carries_on(tmp_path: Path, stack: ExitStack) -> None:
    sandbox = make_sandbox(
        tmp_path / "centavo",
        stack,
        initial=INITIAL,
        steps=900,
        speeds={"t2.medium": 0.30, "c5.large": 0.12, "c5.xlarge": 0.20},
    )
    first = sandbox.start("optimize", "--policy", "price-time")
    try:
        wait_until(lambda: "joining" in phases(sandbox) or first.poll() is not None, 400, "a move that is joining")
    finally:
        if first.poll() is None:
            os.killpg(first.pid, signal.SIGKILL)
        output, _ = first.communicate(timeout=60)
    print(output)
    assert first.returncode == -signal.SIGKILL
    assert phases(sandbox) == ["joining"]

    assert sandbox.centavo("optimize", "--policy", "price-time").returncode == 0

    assert_trained_without_loss(sandbox, steps=900)
    report = sandbox.report
    assert {f: n for f, n in report["fleet"]["final"].items() if n} == {"t2.medium": 3}
    assert [move["outcome"] for move in report["moves"]] == ["done", "done"]


def test_an_environment_that_does_not_exist_is_named_with_those_that_do(tmp_path: Path) -> None:
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "controller",
            "--root",
            str(Path(__file__).resolve().parents[2]),
            "--env",
            "moon",
            "status",
        ],
        text=True,
        capture_output=True,
        check=False,
    )
    assert done.returncode != 0
    assert "moon" in done.stderr and "local" in done.stderr
    assert "Traceback" not in done.stderr
