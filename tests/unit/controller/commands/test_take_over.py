"""`centavo take-over`: another checkout takes the lease, brings the run's state, and carries the run to its end."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from controller.commands.context import Context
from controller.commands.shared import owned
from controller.config.environment import Environment
from controller.config.load import load_environment
from controller.domain.errors import LockedError, StoppedError, SupersededError
from controller.edges.clock import SystemClock
from controller.owning import keys
from controller.owning.bringing import bring_cluster_key, bring_terraform_state
from controller.owning.lease_document import from_document, to_document
from controller.owning.ownership import Ownership
from controller.owning.sources import sources_of
from controller.record.journal import Journal, Stage
from controller.record.journal.runs import latest_run
from tests.unit.controller.commands.command_line import Captured, centavo
from tests.unit.controller.harness import Controller
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim, wait_until
from tests.unit.controller.world import World


class Held:
    def check(self) -> None:
        """Is held."""


class Terraform:
    """Terraform in the second checkout. It knows the cluster if its state is there."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def init(self) -> None:
        """Does nothing."""

    def outputs(self) -> object | None:
        return object() if self._file.is_file() else None


@pytest.fixture(autouse=True)
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """All waits, which take no time."""
    slept: list[float] = []
    monkeypatch.setattr(SystemClock, "sleep", lambda clock, seconds: slept.append(seconds))
    return slept


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> BucketInMemory:
    bucket = BucketInMemory()
    monkeypatch.setattr(owned, "bucket_of", lambda environment: bucket)
    monkeypatch.setattr(
        Context, "terraform", lambda context, *_: Terraform(context.environment.directory / "terraform.tfstate")
    )
    return bucket


@pytest.fixture
def first(
    world: World, tmp_path_factory: pytest.TempPathFactory, bucket: BucketInMemory
) -> tuple[Controller, Ownership]:
    """A controller in another checkout, which trains, owns the cluster and lives."""
    controller = Controller(world, tmp_path_factory.mktemp("first"))
    controller.bring_up()
    controller.journal.set_stage(Stage.TRAINING)
    environment = controller.environment
    (environment.directory / "terraform.tfstate").write_text(json.dumps({"lineage": "l", "serial": 7}))
    environment.public_key_file.write_text("ssh-ed25519 FIRST\n")
    own = Ownership(Held(), claim("first"), 1e9, lambda: NOW)
    own.own(bucket)
    controller.journal.take_over(own)
    run = controller.journal.info().run
    own.work_on(controller.journal, sources_of(environment, run, controller.journal.directory))
    wait_until(lambda: keys.RUNS in bucket.kept)
    return controller, own


def lease(bucket: BucketInMemory) -> object:
    return from_document(bucket.kept[keys.LEASE][0])


def environment(root: Path) -> Environment:
    return load_environment(root, "test")


def test_everything_that_the_run_needs_is_brought(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, capsys: Captured
) -> None:
    controller, _ = first
    bucket.put(keys.public_key("somebody-before"), b"ssh-ed25519 BEFORE\n", 1)
    assert centavo(root, "take-over", "--now") == 0
    told = capsys.readouterr().out
    assert "This checkout controls the cluster test from now on." in told
    assert "Before it was `centavo optimize` of ada@laptop (process 7), in its lease number 1." in told
    assert "Brought from the bucket: the run's folder, the capacity file, the state of Terraform." in told
    assert "is in its stage `training`" in told and "optimize` carries on" in told
    assert "let it in within a minute" in told
    here = environment(root)
    assert here.capacity_file.read_bytes() == controller.environment.capacity_file.read_bytes()
    assert json.loads((here.directory / "terraform.tfstate").read_text())["serial"] == 7
    journal = latest_run(here.runs_directory)
    assert journal is not None and journal.info() == controller.journal.info() and journal.generation == 2
    now = from_document(bucket.kept[keys.LEASE][0])
    assert (now.generation, now.released, now.stage) == (2, True, "training")
    (offered,) = (kept[0] for key, kept in bucket.kept.items() if key.startswith(keys.PUBLIC_KEYS))
    assert offered == here.public_key_file.read_bytes(), "and nobody else's"


def test_the_first_controller_is_fenced(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path
) -> None:
    controller, own = first
    assert centavo(root, "take-over", "--now") == 0
    journal_key = keys.of_run(controller.journal.info().run, keys.JOURNAL_NAME)
    assert bucket.kept[journal_key][3] == 2
    with pytest.raises(SupersededError):
        own._tenure._held.renew()  # type: ignore[attr-defined]
    with pytest.raises(SupersededError):
        controller.optimizer.run()
    kept = bucket.kept[journal_key]
    own.end()
    assert bucket.kept[journal_key] == kept


def test_a_controller_that_lives_has_noticed_before_anything_is_brought(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two controllers would change one cluster otherwise, until the first one's next renewal."""
    waits: list[tuple[float, bool]] = []

    def sleep(clock: SystemClock, seconds: float) -> None:
        waits.append((seconds, (root / "runs").exists()))
        first[1]._tenure._heartbeat.beat()  # type: ignore[attr-defined]

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    assert centavo(root, "take-over", "--now") == 0
    assert waits == [(pytest.approx(30.0), False)]
    with pytest.raises(SupersededError):
        first[1].check_surely()
    assert centavo(root, "take-over", "--now") == 0
    assert len(waits) == 1, "nobody lives whom this checkout could take the lease from"


def test_a_person_who_does_not_wait_for_that_gives_the_cluster_back(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def stop(clock: SystemClock, seconds: float) -> None:
        raise StoppedError("Stopped.")

    monkeypatch.setattr(SystemClock, "sleep", stop)
    assert centavo(root, "take-over", "--now") == StoppedError.exit_code
    now = from_document(bucket.kept[keys.LEASE][0])
    assert now.released and now.run_holder == claim("first").holder and not (root / "runs").exists()


def test_the_second_checkout_carries_the_run_to_its_end(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, world: World
) -> None:
    assert centavo(root, "take-over", "--now") == 0
    settings = yaml.safe_load((root / "terraform" / "environments" / "test" / "centavo.yml").read_text())
    second = Controller(world, root, settings=settings)
    assert second.journal.info() == first[0].journal.info()
    world.is_started = False
    second.journal.set_stage(Stage.STARTING)
    assert second.optimizer.run()["status"] == "finished" and world.fleet() == {}


def test_the_new_key_is_offered_and_the_old_one_stays_terraforms(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert centavo(root, "take-over", "--now") == 0
    here = environment(root)
    offered = [key for key in bucket.kept if key.startswith("control/keys/")]
    assert [bucket.kept[key][0] for key in offered] == [here.public_key_file.read_bytes()]
    assert offered == [keys.public_key((here.state_directory / "checkout").read_text().split()[0])]
    assert here.cluster_key_file.read_text() == "ssh-ed25519 FIRST\n"
    assert centavo(root, "status", "--remote") == 0
    assert __import__("os").environ["TF_VAR_ssh_public_key"] == "ssh-ed25519 FIRST"
    assert centavo(root, "take-over", "--now") == 0
    assert bucket.kept[keys.CLUSTER_KEY][0] == b"ssh-ed25519 FIRST\n"


def test_a_run_that_ended_long_ago_is_brought_and_not_gone_on_with(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, capsys: Captured
) -> None:
    journal, own = first[0].journal, first[1]
    journal.end("finished", None, NOW)
    journal.set_stage(Stage.ENDED)
    own.end()
    bucket.now += 1e7
    assert centavo(root, "take-over") == 0
    told = capsys.readouterr().out
    assert "is in its stage `ended`" in told and "carries on" not in told
    run = journal.info().run
    assert centavo(root, "optimize", "--run", run) == 0
    assert f"The run {run} has ended: there is nothing to do." in capsys.readouterr().out
    assert centavo(root, "stop") == 1
    assert "No run is under way in test." in capsys.readouterr().err


def test_without_now_it_waits_until_the_lease_is_free(
    first: tuple[Controller, Ownership],
    bucket: BucketInMemory,
    root: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first[1].forsake()  # killed
    slept: list[float] = []

    def sleep(clock: SystemClock, seconds: float) -> None:
        slept.append(seconds)
        bucket.now += 40

    monkeypatch.setattr(SystemClock, "sleep", sleep)
    assert centavo(root, "take-over") == 0
    told = capsys.readouterr().out
    assert len(slept) == 3 and told.count("Waiting until it is free") == 1 and "owns the cluster" in told


def test_a_lease_that_cannot_be_read_is_not_waited_for(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, capsys: Captured
) -> None:
    first[1].forsake()
    bucket.put(keys.LEASE, b"torn")
    assert centavo(root, "take-over") == LockedError.exit_code
    assert "can't be understood" in capsys.readouterr().err


def test_what_this_checkout_has_newer_stays_and_what_is_older_is_kept_aside(
    first: tuple[Controller, Ownership], bucket: BucketInMemory, root: Path, capsys: Captured
) -> None:
    assert centavo(root, "take-over", "--now") == 0
    assert centavo(root, "take-over", "--now") == 0
    assert "Brought from the bucket: nothing, all of it is here." in capsys.readouterr().out
    here = environment(root)
    journal = latest_run(here.runs_directory)
    assert journal is not None
    run = journal.info().run
    older = {key: kept for key, kept in bucket.kept.items() if key.startswith(run)}
    journal._database.execute("UPDATE run SET value = '99' WHERE key = 'generation'")
    journal.close()
    assert centavo(root, "take-over", "--now") == 0
    assert "nothing, all of it is here" in capsys.readouterr().out
    newer = Journal(here.runs_directory / run)
    assert newer.generation == 100
    newer._database.execute("UPDATE run SET value = '0' WHERE key = 'generation'")
    newer.close()
    bucket.kept |= older
    bucket.kept |= {key: (*kept[:3], 0) for key, kept in bucket.kept.items() if key.startswith(run)}
    assert centavo(root, "take-over", "--now") == 0
    assert "the run's folder" in capsys.readouterr().out
    assert (here.state_directory / "replaced" / f"{run}.1" / "journal.sqlite").is_file()
    assert Journal(here.runs_directory / run).generation > 0


@pytest.mark.parametrize(
    ("own", "is_brought"),
    [
        ({"lineage": "l", "serial": 6}, True),
        ({"lineage": "l", "serial": 7}, False),
        ({"lineage": "l", "serial": 8}, False),
        ({"lineage": "other", "serial": 9}, True),
        (None, True),
    ],
)
def test_an_older_state_of_terraform_is_replaced_and_kept(
    bucket: BucketInMemory, root: Path, own: dict[str, object] | None, is_brought: bool
) -> None:
    here = environment(root)
    file = here.directory / "terraform.tfstate"
    if own is not None:
        file.write_text(json.dumps(own))
    assert not bring_terraform_state(bucket, here)
    bucket.put(keys.TERRAFORM_STATE, json.dumps({"lineage": "l", "serial": 7}).encode())
    assert bring_terraform_state(bucket, here) is is_brought
    assert json.loads(file.read_text()) == (own if own and not is_brought else {"lineage": "l", "serial": 7})
    if own and is_brought:
        aside = here.state_directory / "replaced" / "terraform.tfstate.1"
        assert json.loads(aside.read_text()) == own


def test_the_checkout_that_made_the_cluster_needs_no_other_key(bucket: BucketInMemory, root: Path) -> None:
    here = environment(root)
    here.public_key_file.write_text("ssh-ed25519 OWN\n")
    bring_cluster_key(bucket, here)
    bucket.put(keys.CLUSTER_KEY, b"ssh-ed25519 OWN")
    bring_cluster_key(bucket, here)
    assert not here.taken_key_file.exists() and here.cluster_key_file == here.public_key_file


@pytest.mark.parametrize("what", ["bucket", "run", "state"])
def test_what_is_missing_is_told(
    first: tuple[Controller, Ownership],
    bucket: BucketInMemory,
    root: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    what: str,
) -> None:
    first[1].forsake()
    if what == "bucket":
        monkeypatch.setattr(owned, "bucket_of", lambda environment: None)
    elif what == "run":
        found = from_document(bucket.kept[keys.LEASE][0])
        bucket.put(keys.LEASE, to_document(replace(found, run=None)))
        del bucket.kept[keys.RUNS]
    else:
        del bucket.kept[keys.TERRAFORM_STATE]
    assert centavo(root, "take-over", "--now") != 0
    told = {"bucket": "nothing to take over", "run": "has had no run yet", "state": "copy backend.hcl"}[what]
    assert told in capsys.readouterr().err
    assert what == "bucket" or from_document(bucket.kept[keys.LEASE][0]).released
