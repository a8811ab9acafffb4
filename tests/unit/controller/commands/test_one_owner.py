"""Commands that change things own the cluster: the lease is taken before anything is made, and given back at last."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from controller import cli
from controller.commands.context import Context
from controller.commands.shared import owned
from controller.commands.shared.command import Command
from controller.commands.shared.owned import PLACE, Owner, checkout_id, holder_of
from controller.config.environment import Environment
from controller.config.load import load_environment
from controller.domain.errors import AwsError, ConfigError, JournalError, LockedError, SupersededError
from controller.domain.lease import Fired, Lease, Place
from controller.edges.clock import SystemClock
from controller.owning import keys
from controller.owning.lease_document import from_document, to_document
from controller.owning.taking import take
from controller.record.journal import Stage
from tests.contract.test_schemas import check
from tests.unit.controller.commands.command_line import Captured, centavo
from tests.unit.controller.harness import Controller
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim, wait_until
from tests.unit.controller.record import synthetic

ALONE = ["apply", "configure", "train", "optimize", "destroy"]


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> BucketInMemory:
    bucket = BucketInMemory()
    monkeypatch.setattr(owned, "bucket_of", lambda environment: bucket)
    return bucket


def kept(bucket: BucketInMemory) -> Lease:
    return from_document(bucket.kept[keys.LEASE][0])


@pytest.mark.parametrize("command", ALONE)
def test_a_cluster_that_another_machine_owns_is_left_alone(
    bucket: BucketInMemory, root: Path, capsys: Captured, command: str
) -> None:
    take(bucket, claim("other"), NOW)
    assert centavo(root, command) == LockedError.exit_code
    assert "owns the cluster centavo-test" in capsys.readouterr().err
    assert not (root / "runs").exists() and bucket.writes == [keys.LEASE]


def test_the_refusal_is_a_line_of_json_where_the_log_is(bucket: BucketInMemory, root: Path, capsys: Captured) -> None:
    take(bucket, claim("other"), NOW)
    assert centavo(root, "optimize", "--log-format", "json") == LockedError.exit_code
    line = json.loads(capsys.readouterr().err)
    check(line, "log line")
    assert (line["reason_code"], line["exit_code"], line["reason_facts"]["host"]) == ("lease-held", 16, "laptop")


@pytest.mark.parametrize("command", ALONE)
def test_a_bucket_that_cannot_be_reached_ends_a_command_before_anything_costs(
    bucket: BucketInMemory, root: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    slept: list[float] = []
    monkeypatch.setattr(SystemClock, "sleep", lambda clock, seconds: slept.append(seconds))
    bucket.is_reachable = False
    assert centavo(root, command) == AwsError.exit_code
    assert not (root / "runs").exists()
    assert slept == [3.0] * 3 and capsys.readouterr().out.count("is not known, and asked again") == 1


@pytest.mark.parametrize("command", ALONE)
def test_a_bucket_that_cannot_be_written_ends_a_command_before_anything_costs(
    bucket: BucketInMemory, root: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def refuse(key: str) -> None:
        raise AwsError(f"AWS did not write {key}: AccessDenied: ada may not s3:PutObject", "Check the credentials.")

    monkeypatch.setattr(SystemClock, "sleep", lambda clock, seconds: None)
    bucket.before_write = refuse
    assert centavo(root, command) == AwsError.exit_code
    told = capsys.readouterr().err
    assert "control/lease.json: AccessDenied: ada may not s3:PutObject" in told and "Check the credentials." in told
    assert not (root / "runs").exists() and bucket.kept == {}


@pytest.mark.parametrize("command", [*ALONE, "take-over", "stop"])
def test_two_clusters_of_one_name_end_a_command_before_anything_costs(
    root: Path, command: str, monkeypatch: pytest.MonkeyPatch, capsys: Captured
) -> None:
    def find(environment: Environment) -> None:
        cluster = environment.settings.cluster
        raise ConfigError(f"Several buckets carry the tag centavo:cluster = {cluster}: a, b.", "Destroy one of them.")

    monkeypatch.setattr(owned, "bucket_of", find)
    assert centavo(root, command) == ConfigError.exit_code
    told = capsys.readouterr().err
    assert "carry the tag centavo:cluster = test: a, b." in told and "Destroy one of them." in told
    assert not (root / "runs").exists()


def test_a_bucket_that_is_away_for_a_moment_ends_no_command(
    bucket: BucketInMemory, one: Controller, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bucket.is_reachable = False
    monkeypatch.setattr(SystemClock, "sleep", lambda clock, seconds: setattr(bucket, "is_reachable", True))
    assert centavo(root, "configure") == 0


def test_a_run_that_another_checkout_has_controlled_since_is_brought_before_anything_is_done(
    bucket: BucketInMemory, one: Controller, root: Path, capsys: Captured
) -> None:
    assert centavo(root, "configure") == 0
    assert centavo(root, "configure") == 0
    run = one.journal.info().run
    copy = keys.of_run(run, keys.JOURNAL_NAME)
    bucket.put(copy, b"what another checkout wrote", generation=9)
    assert centavo(root, "train") == JournalError.exit_code
    assert f"Another checkout has controlled the run {run} since" in capsys.readouterr().err
    assert not one.world.is_started and bucket.kept[copy][0] == b"what another checkout wrote"


def test_what_another_checkout_has_controlled_since_can_be_destroyed_all_the_same(
    bucket: BucketInMemory, one: Controller, root: Path, capsys: Captured
) -> None:
    bucket.put(keys.of_run(one.journal.info().run, keys.JOURNAL_NAME), b"theirs", generation=9)
    one.terraform.extra_changes = [{"address": "aws_vpc.this", "type": "aws_vpc", "change": {"actions": ["delete"]}}]
    assert centavo(root, "destroy") == 0
    assert "the run is left as it is here: Another checkout has controlled the run" in capsys.readouterr().out
    assert one.journal.stage() is Stage.STARTING and "apply" in one.world.calls


@pytest.mark.parametrize(("stage", "host", "code"), [("training", "x", 13), ("ended", "x", 0), ("training", "", 0)])
def test_no_new_run_begins_beside_one_that_goes_on_elsewhere(
    bucket: BucketInMemory, root: Path, monkeypatch: pytest.MonkeyPatch, stage: str, host: str, code: int
) -> None:
    own = holder_of(load_environment(root, "test"), "centavo optimize")
    holder = replace(own, id="before", host=host or own.host)
    before = replace(claim("x").first(NOW), run_holder=holder, run="theirs", stage=stage, released=True)
    bucket.put(keys.LEASE, to_document(before), generation=1)

    def configure(context: Context, options: object) -> int:
        context.journal()
        return 0

    monkeypatch.setattr(cli, "COMMANDS", (Command("configure", "x", configure, changes_things=True),))
    assert centavo(root, "configure") == code
    assert (root / "runs").exists() is (code == 0)


@pytest.mark.parametrize(
    ("stage", "place", "is_refused"),
    [("training", "machine", True), ("ended", "machine", False), ("training", "head", True), ("ended", "head", True)],
)
def test_an_unfinished_run_is_not_gone_on_with_beside_one_that_was_begun_elsewhere(
    bucket: BucketInMemory,
    one: Controller,
    root: Path,
    capsys: Captured,
    monkeypatch: pytest.MonkeyPatch,
    stage: str,
    place: str,
    is_refused: bool,
) -> None:
    monkeypatch.setenv(PLACE, place)
    before = replace(claim("x").first(NOW), run="theirs", stage=stage, released=True)
    bucket.put(keys.LEASE, to_document(replace(before, run_holder=before.holder)), generation=1)
    assert centavo(root, "train") == (JournalError.exit_code if is_refused else 0)
    assert one.world.is_started is not is_refused
    assert ("has begun theirs since" in capsys.readouterr().err) is is_refused
    assert (kept(bucket).run == "theirs") is is_refused


def test_a_command_that_was_refused_is_refused_again_and_is_not_who_controlled_the_run_last(
    bucket: BucketInMemory, root: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = replace(claim("x").first(NOW), run="theirs", stage="training", released=True)
    bucket.put(keys.LEASE, to_document(replace(before, run_holder=before.holder)), generation=1)
    monkeypatch.setattr(
        cli, "COMMANDS", (Command("configure", "x", lambda context, _: bool(context.journal()), changes_things=True),)
    )
    for generation in (2, 3):
        assert centavo(root, "configure") == JournalError.exit_code
        assert f"{before.holder} controlled it last" in capsys.readouterr().err
        assert kept(bucket).generation == generation and not (root / "runs").exists()


def test_a_command_gives_the_lease_back_and_says_where_the_run_is(
    bucket: BucketInMemory, one: Controller, root: Path
) -> None:
    assert centavo(root, "train") == 0
    lease = kept(bucket)
    assert (lease.released, lease.stage, lease.run) == (True, "training", one.journal.info().run)
    assert (lease.holder.command, lease.cluster, lease.lasts_s) == ("centavo train", "test", 900.0)
    assert bucket.kept[keys.of_run(one.journal.info().run, keys.JOURNAL_NAME)][3] == 1
    assert centavo(root, "train") == 0
    assert kept(bucket).generation == 2


def test_a_command_that_loses_the_lease_in_the_middle_changes_nothing_more(
    bucket: BucketInMemory, one: Controller, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody takes the cluster over while the nodes are prepared. The heartbeat finds it."""
    configure_all = one.cluster.nodes.configure_all

    def taken_meanwhile() -> object:
        outcome = configure_all()
        take(bucket, claim("other"), NOW, by_force=True)
        assert one.journal._lock._tenure._heartbeat.beat()  # type: ignore[attr-defined]
        return outcome

    monkeypatch.setattr(one.cluster.nodes, "configure_all", taken_meanwhile)
    assert centavo(root, "train") == SupersededError.exit_code
    assert not one.world.is_started and one.journal.stage() is Stage.STARTING
    assert kept(bucket).holder.id == "other" and not kept(bucket).released


def test_what_the_switch_did_meanwhile_is_told(
    bucket: BucketInMemory, one: Controller, root: Path, capsys: Captured
) -> None:
    fired = Fired("head", "no-controller", NOW)
    bucket.put(keys.LEASE, to_document(replace(claim("gone").first(NOW), fired=fired, released=True)))
    assert centavo(root, "configure") == 0
    assert "while nobody owned the cluster, the head gave it back (no-controller)" in capsys.readouterr().out
    assert kept(bucket).fired is None


def test_a_destroyed_cluster_leaves_no_lease_behind(bucket: BucketInMemory, one: Controller, root: Path) -> None:
    one.terraform.extra_changes = [{"address": "aws_vpc.this", "type": "aws_vpc", "change": {"actions": ["delete"]}}]
    original = one.terraform.apply

    def apply(file: Path) -> None:
        original(file)
        bucket.kept.clear()

    one.terraform.apply = apply  # type: ignore[method-assign]
    assert centavo(root, "destroy") == 0
    assert bucket.kept == {}


def test_the_first_apply_takes_the_lease_of_the_bucket_that_it_made(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = BucketInMemory()
    monkeypatch.setattr(owned, "BucketObjects", lambda region, name: made if name == "made-1" else None)
    owner = Owner(load_environment(root, "test"), SystemClock(), print, print)
    journal = synthetic.running_run(tmp_path / "elsewhere")
    owner.found("made-1", journal)  # a command that only looks owns nothing
    assert made.kept == {}
    with owner.alone("centavo apply"):
        owner.take_over(journal)
        assert made.kept == {}
        owner.found("made-1", journal)
        wait_until(lambda: kept(made).run == journal.info().run)
        assert not kept(made).released
    assert (kept(made).run, kept(made).released) == (journal.info().run, True)


def test_a_new_bucket_whose_key_does_not_serve_yet_is_asked_for_six_minutes(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """KMS may take five minutes until a key's alias counts for IAM."""
    made, slept = BucketInMemory(), [0.0]

    def sleep(clock: SystemClock, seconds: float) -> None:
        slept[0] += seconds
        made.is_reachable = slept[0] >= 300

    monkeypatch.setattr(owned, "BucketObjects", lambda region, name: made)
    monkeypatch.setattr(SystemClock, "sleep", sleep)
    made.is_reachable = False
    owner = Owner(load_environment(root, "test"), SystemClock(), print, print)
    with owner.alone("centavo apply"):
        owner.found("made-1", synthetic.running_run(root / "elsewhere"))
        assert not kept(made).released
    assert slept == [300.0]


def test_a_process_that_was_killed_is_followed_at_once_by_the_next_one_of_its_checkout(
    bucket: BucketInMemory, one: Controller, root: Path
) -> None:
    environment = load_environment(root, "test")
    killed = replace(claim("killed"), holder=replace(holder_of(environment, "centavo optimize"), pid=1))
    take(bucket, killed, NOW)
    assert centavo(root, "configure") == 0
    assert kept(bucket).generation == 2


@pytest.mark.parametrize("is_moved", [False, True])
def test_a_copy_of_a_checkout_is_another_one_also_in_the_place_of_the_original(tmp_path: Path, is_moved: bool) -> None:
    """The original has its lock and may work, so that its lease is not free for the copy."""
    original, copy = tmp_path / "original", tmp_path / "cöpy"
    known = checkout_id(original)
    shutil.copytree(original, copy)
    if is_moved:
        original.rename(tmp_path / "aside")
        copy = copy.rename(original)
    made = checkout_id(copy)
    assert made != known and checkout_id(copy) == made


def test_a_checkout_keeps_its_id_and_no_two_processes_share_one(
    root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    environment = load_environment(root, "test")
    one, other = holder_of(environment, "x"), holder_of(environment, "x")
    assert one.checkout == other.checkout == checkout_id(environment.state_directory) and one.id != other.id
    assert checkout_id(tmp_path / "another") != one.checkout and one.place is Place.MACHINE
    (environment.state_directory / "checkout").write_text("\n")
    assert checkout_id(environment.state_directory)
    monkeypatch.setenv(PLACE, "head")
    assert holder_of(environment, "x").place is Place.HEAD
