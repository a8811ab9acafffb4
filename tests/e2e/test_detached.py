"""Runs that are handed to the head, on localcloud: all is real but the trainer, which is a stub."""

from __future__ import annotations

import gzip
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from sandbox import client_of, move_phases, processes_of, wait_until

from tests.faults.edges.place import HEAD, HEAD_USD, PRICES_HERE, PRICES_THERE, Place

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(2400)]


class Laptop:
    """A second checkout, which may be deleted, and the cloud that goes on without it."""

    def __init__(self, folder: Path) -> None:
        self.place = Place(folder / "cloud")
        self.root = folder / "laptop"
        checkout = self.place.sandbox.root
        left_out = shutil.ignore_patterns(".centavo", "runs", ".terraform", ".localcloud")
        shutil.copytree(checkout, self.root, ignore=left_out)
        (self.root / ".localcloud").mkdir()
        shutil.copy(checkout / ".localcloud" / "credentials", self.root / ".localcloud")
        self.s3 = client_of(checkout, self.place.sandbox.endpoint, "s3")

    @property
    def environment(self) -> Path:
        return self.root / "terraform" / "environments" / "local"

    def centavo(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        variables = {**self.place.sandbox.process_environment(), "PYTHONPATH": str(self.root)}
        done = subprocess.run(
            [sys.executable, "-m", "controller", "--root", str(self.root), "--env", "local", *arguments],
            cwd=self.root, env=variables, text=True, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, timeout=900, check=False,
        )  # fmt: skip
        print(done.stdout)
        return done

    def set_prices(self, prices: dict[str, float]) -> None:
        lines = {HEAD: HEAD_USD, **prices}
        (self.environment / "prices.yml").write_text("".join(f"{flavor}: {usd}\n" for flavor, usd in lines.items()))

    def delete(self) -> None:
        """Deletes all that the machine has of the run, its key included."""
        shutil.rmtree(self.root)

    def bucket(self) -> str:
        return next(one["Name"] for one in self.s3.list_buckets()["Buckets"])

    def object(self, key: str) -> bytes | None:
        with suppress(self.s3.exceptions.NoSuchKey):
            return bytes(self.s3.get_object(Bucket=self.bucket(), Key=key)["Body"].read())
        return None

    def lease(self) -> dict[str, Any]:
        return dict(json.loads(self.object("control/lease.json") or b"{}"))

    def phases(self, folder: Path) -> list[str]:
        """Returns the phase of every move in the journal that lies in the bucket."""
        packed = self.object(f"{self.lease()['run']}/control/journal.sqlite.gz")
        if packed is None:
            return []
        (folder / "journal.sqlite").write_bytes(gzip.decompress(packed))
        return move_phases(folder)

    def controllers(self) -> list[str]:
        """Returns the command lines of the controllers that run."""
        return [line for line in processes_of(self.place.root).values() if "-m controller" in line]

    def home(self, instance_id: str) -> Path:
        """Returns the home folder of a node."""
        return self.place.sandbox.root / ".localcloud" / "instances" / instance_id / "home"

    def files_with(self, content: bytes, instance_id: str) -> list[Path]:
        """Returns the files of a node that have this content in them."""
        found = []
        for path in self.home(instance_id).rglob("*"):
            with suppress(OSError):  # the node goes on working
                found += [path] if path.is_file() and not path.is_symlink() and content in path.read_bytes() else []
        return found

    def lets_the_heads_controller_in(self, instance_id: str) -> bool:
        return " centavo:head." in (self.home(instance_id) / ".ssh" / "authorized_keys").read_text()

    def has_ended(self) -> bool:
        lease = self.lease()
        return bool(lease["released"]) and lease["stage"] == "ended"


@pytest.fixture
def laptop(tmp_path: Path) -> Iterator[Laptop]:
    made = Laptop(tmp_path)
    yield made
    for log in made.place.root.glob("**/log/controller.log"):
        print(log, log.read_text()[-5000:], sep="\n")
    made.place.close()


def a_run_at_the_head_ends_when_a_person_asks_for_it(laptop: Laptop) -> None:
    laptop.set_prices(PRICES_HERE)
    assert laptop.centavo("optimize", "--detach").returncode == 0
    run, head = laptop.lease()["run"], laptop.place.head().id
    own = laptop.root / ".centavo" / "local" / "id_ed25519"
    assert laptop.files_with(own.with_suffix(".pub").read_bytes().split()[1], head), "Terraform needs the public half"
    assert laptop.files_with(own.read_bytes(), head) == [], "no private key is copied"
    assert laptop.lets_the_heads_controller_in(head)
    wait_until(lambda: any(event["event"] == "step" for event in laptop.place.events()), 600, "a step")

    workers = [worker.id for worker in laptop.place.workers()]
    assert workers and all(map(laptop.lets_the_heads_controller_in, workers))
    stopped = laptop.centavo("stop")
    assert stopped.returncode == 0 and f"Asked the controller on the head to end the run {run}" in stopped.stdout
    wait_until(laptop.has_ended, 600, "the end of the run")

    assert laptop.place.workers() == [] and laptop.place.desired() == {}
    report = json.loads(laptop.object(f"{run}/control/report.json") or b"{}")
    assert (report["status"], report["status_code"]) == ("stopped", "stop-asked")
    wait_until(lambda: not laptop.lets_the_heads_controller_in(head), 120, "the end of the head's key")
    assert "No run is under way" in laptop.centavo("stop").stdout


def a_run_goes_on_at_the_head_when_its_machine_is_gone(laptop: Laptop, folder: Path) -> None:
    laptop.set_prices(PRICES_THERE)
    done = laptop.centavo("optimize", "--detach", "--budget", "50")
    assert done.returncode == 0
    lease = laptop.lease()
    assert lease["holder"]["place"] == "head" and not lease["released"]
    assert f"The run {lease['run']} goes on at the head" in done.stdout and "at most $50" in done.stdout
    refused = laptop.centavo("optimize")
    assert refused.returncode == 16 and "take-over" in refused.stdout
    laptop.delete()

    wait_until(lambda: laptop.phases(folder) == ["done"], 900, "a move that the head has made")
    laptop.place.end_file(laptop.place.head().id).touch()
    wait_until(laptop.has_ended, 600, "the end of the run")

    assert laptop.place.workers() == [] and laptop.place.desired() == {}
    report = json.loads(laptop.object(f"{lease['run']}/control/report.json") or b"{}")
    assert report["status"] == "finished" and report["training"]["steps"] > 0
    assert [move["outcome"] for move in report["moves"]] == ["done"]
    assert laptop.object(f"{lease['run']}/control/report.html") and laptop.object(
        f"{lease['run']}/results/model.params"
    )
    wait_until(lambda: not laptop.controllers(), 60, "the end of the controller's process")


def test_two_runs_at_the_head_one_after_the_other(laptop: Laptop, tmp_path: Path) -> None:
    a_run_at_the_head_ends_when_a_person_asks_for_it(laptop)
    a_run_goes_on_at_the_head_when_its_machine_is_gone(laptop, tmp_path)
