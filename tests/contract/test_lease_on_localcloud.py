"""The lease and a look from a second clone, against the S3 that localcloud serves."""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import yaml

from controller.domain.errors import LockedError, SupersededError
from controller.edges.bucket.find import find_bucket
from controller.edges.bucket.objects import BucketObjects
from controller.owning import keys
from controller.owning.held import HeldLease
from controller.owning.ownership import Ownership
from controller.owning.sources import JournalSource
from controller.owning.taking import see, take
from tests.support.local_cloud import REPOSITORY, LocalCloud, wait_until
from tests.unit.controller.owning.bucket_in_memory import NOW, claim
from tests.unit.controller.record import synthetic

pytestmark = pytest.mark.slow
BUCKET = "centavo-local-1"
MOST_S = 30.0
"""A look takes a second on an idle machine. The limit is for one whose cores are all taken."""


class Held:
    def check(self) -> None:
        """Is held."""


@pytest.fixture(scope="module")
def cloud(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        s3 = cloud.client("s3")
        s3.create_bucket(Bucket=BUCKET)
        s3.put_bucket_tagging(Bucket=BUCKET, Tagging={"TagSet": [{"Key": "centavo:cluster", "Value": "centavo-local"}]})
        yield cloud


@pytest.fixture
def objects(cloud: LocalCloud, monkeypatch: pytest.MonkeyPatch) -> BucketObjects:
    for name, value in cloud.environment.items():
        monkeypatch.setenv(name, value)
    assert find_bucket("us-east-1", "centavo-local") == BUCKET
    return BucketObjects("us-east-1", BUCKET)


def test_a_lease_is_taken_renewed_lost_and_followed(objects: BucketObjects) -> None:
    first = HeldLease(objects, take(objects, claim("one"), NOW))
    first.renew()
    with pytest.raises(LockedError, match="owns the cluster"):
        take(objects, claim("two"), NOW)
    seen = see(objects)
    assert seen is not None and 0 <= seen.kept.age_s < 60
    second = HeldLease(objects, take(objects, claim("two"), NOW, by_force=True))
    with pytest.raises(SupersededError):
        first.renew()
    second.release()
    assert take(objects, claim("three"), NOW).lease.generation == 3


def test_of_eight_racing_takers_one_wins_each_time(objects: BucketObjects) -> None:
    for round_ in range(5):
        seen = see(objects)
        generation = 0 if seen is None or seen.lease is None else seen.lease.generation

        def try_it(number: int, names: str = f"round {round_}, taker") -> int | None:
            try:
                return take(objects, claim(f"{names} {number}"), NOW).lease.generation
            except LockedError:
                return None

        HeldLease(objects, take(objects, claim("before"), NOW, by_force=True)).release()
        with ThreadPoolExecutor(8) as threads:
            won = [number for number in threads.map(try_it, range(8)) if number is not None]
        assert won == [generation + 2]


def test_status_from_a_second_clone_is_quick_and_wakes_nothing(
    cloud: LocalCloud, objects: BucketObjects, tmp_path: Path
) -> None:
    journal = synthetic.running_run(tmp_path / "elsewhere")
    own = Ownership(Held(), claim("four"), 1e9, lambda: NOW)
    own.own(objects, by_force=True)
    key = keys.of_run(journal.info().run, keys.JOURNAL_NAME)
    own.work_on(journal, [JournalSource(key, journal.directory / "journal.sqlite")])
    own.end()
    wait_until(lambda: objects.head(key), "the copy of the journal")
    clone = second_clone(cloud, tmp_path / "clone")
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "controller", "--root", str(clone), "--env", "local", "status"],
        capture_output=True, text=True, cwd=REPOSITORY, check=False, timeout=120,
    )  # fmt: skip
    took_s = time.monotonic() - began
    assert done.returncode == 0, done.stderr
    assert f"run  {journal.info().run}" in done.stdout and "lease  given back" in done.stdout
    assert took_s < MOST_S and not (clone / "runs").exists()
    print(f"status from a second clone took {took_s:.1f} s")


def second_clone(cloud: LocalCloud, root: Path) -> Path:
    """A checkout with the settings alone."""
    source, target = REPOSITORY / "terraform/environments/local", root / "terraform/environments/local"
    target.mkdir(parents=True)
    for name in ("prices.yml", "training.yml", "localcloud.yml"):
        shutil.copy(source / name, target / name)
    settings = yaml.safe_load((source / "centavo.yml").read_text())
    settings["aws"]["environment"]["AWS_ENDPOINT_URL"] = cloud.endpoint
    settings["aws"]["credentials_file"] = str(cloud.state_dir / "aws-credentials")
    key = cloud.credentials.user
    (cloud.state_dir / "aws-credentials").write_text(
        f"[default]\naws_access_key_id = {key.access_key_id}\naws_secret_access_key = {key.secret_access_key}\n"
    )
    (target / "centavo.yml").write_text(yaml.safe_dump(settings))
    return root
