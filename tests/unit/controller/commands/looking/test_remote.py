"""Looking at a run from a second clone: no run, no Terraform, no node, only what the bucket has."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from controller.commands.context import Context
from controller.commands.looking.watch import _Refreshing
from controller.commands.shared import owned
from controller.domain.errors import AwsError, JournalError
from controller.owning import keys
from controller.owning.lease_document import from_document, to_document
from controller.owning.ownership import Ownership
from controller.owning.remote import Remote, RunCopy
from controller.owning.sources import JournalSource
from controller.record.journal import Journal
from tests.contract.test_schemas import check
from tests.unit.controller.commands.command_line import Captured, added, centavo
from tests.unit.controller.owning.bucket_in_memory import NOW, BucketInMemory, claim
from tests.unit.controller.record import synthetic

RUN = "20270115T080000Z"


class Held:
    def check(self) -> None:
        """Is held."""


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> BucketInMemory:
    """A bucket that every command finds, and no Terraform and no node that could be asked."""
    bucket = BucketInMemory()
    monkeypatch.setattr(owned, "bucket_of", lambda environment: bucket)

    def asked(*given: object) -> None:
        raise AssertionError("a look at the bucket asks nobody else")

    monkeypatch.setattr(Context, "terraform", asked)
    monkeypatch.setattr(Context, "cluster", asked)
    return bucket


@pytest.fixture
def journal(bucket: BucketInMemory, tmp_path_factory: pytest.TempPathFactory) -> Journal:
    """A run that another machine controls."""
    journal = synthetic.running_run(tmp_path_factory.mktemp("elsewhere"))
    own = Ownership(Held(), claim("one"), 1e9, lambda: NOW)
    own.own(bucket)
    own.work_on(journal, [JournalSource(keys.of_run(RUN, keys.JOURNAL_NAME), journal.directory / "journal.sqlite")])
    own.end()
    copied(bucket, journal)
    lease = from_document(bucket.kept[keys.LEASE][0])
    assert lease.run == RUN and lease.released
    bucket.put(keys.LEASE, to_document(type(lease)(**{**vars(lease), "released": False})))
    bucket.writes.clear()
    return journal


def copied(bucket: BucketInMemory, journal: Journal) -> None:
    content = JournalSource("", journal.directory / "journal.sqlite").content()
    assert content is not None
    bucket.put(keys.of_run(RUN, keys.JOURNAL_NAME), content)


def test_status_tells_of_the_run_and_of_who_owns_the_cluster(
    bucket: BucketInMemory, journal: Journal, root: Path, capsys: Captured
) -> None:
    bucket.now += 30
    assert centavo(root, "status") == 0
    told = capsys.readouterr().out
    assert f"run  {RUN}" in told and "fleet  1 x c5.2xlarge, 1 x c5.large" in told
    assert "owner  `centavo optimize` of ada@laptop (process 7) since 2027-01-15T08:00:00Z" in told
    assert "lease  valid: renewed 30 s ago, and lasts 100 s" in told and "copied s ago  30" in told
    assert centavo(root, "status", "--json") == 0
    document: dict[str, Any] = json.loads(capsys.readouterr().out)
    check(document, "status")
    assert document["spent_usd"] == pytest.approx(journal.spent_usd(), abs=1e-6)
    assert bucket.writes == [] and not (root / "runs").exists()


@pytest.mark.parametrize(
    ("age_s", "is_released", "told"),
    [(100.5, False, "run out: renewed 100 s ago"), (100.5, True, "given back 100 s ago"), (1, True, "given back 1 s")],
)
def test_status_tells_when_nobody_owns_the_cluster(
    bucket: BucketInMemory, journal: Journal, root: Path, capsys: Captured, age_s: float, is_released: bool, told: str
) -> None:
    lease = from_document(bucket.kept[keys.LEASE][0])
    bucket.put(keys.LEASE, to_document(lease.given_back() if is_released else lease))
    bucket.now += age_s
    assert centavo(root, "status", "--remote") == 0
    assert told in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [["explain"], ["explain", "--list"], ["facts"], ["watch", "--once"], ["report", "--json"]]
)
def test_every_look_works_from_a_second_clone(
    bucket: BucketInMemory, journal: Journal, root: Path, capsys: Captured, command: list[str]
) -> None:
    assert centavo(root, *command) == 0
    assert capsys.readouterr().out
    assert bucket.writes == [] and not (root / "runs").exists()


def test_a_report_has_the_scores_that_the_bucket_has(
    bucket: BucketInMemory, journal: Journal, root: Path, capsys: Captured
) -> None:
    bucket.put(keys.of_run(RUN, "results/scores.json"), b'{"bleu": 31.4}')
    assert centavo(root, "report", "--json") == 0
    assert json.loads(capsys.readouterr().out)["training"]["bleu"] == 31.4


def test_a_run_of_this_checkout_comes_first_unless_the_bucket_is_asked_for(
    bucket: BucketInMemory, journal: Journal, root: Path, capsys: Captured
) -> None:
    own = added(root, synthetic.moved_run, "own")
    own.close()
    assert centavo(root, "explain") == 0
    here = capsys.readouterr().out
    assert centavo(root, "explain", "--remote") == 0
    assert capsys.readouterr().out != here
    assert centavo(root, "explain", "--run", "own", "--remote") != 0
    assert "no journal of the run own" in capsys.readouterr().err


def test_before_the_first_run_that_is_told(
    bucket: BucketInMemory, root: Path, capsys: Captured, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert centavo(root, "status") == JournalError.exit_code
    assert "There is no run yet." in capsys.readouterr().err
    monkeypatch.setattr(owned, "bucket_of", lambda environment: None)
    assert centavo(root, "status", "--remote") == JournalError.exit_code
    assert "There is no run yet." in capsys.readouterr().err


def test_a_bucket_that_cannot_be_reached_is_told_with_what_to_do(
    bucket: BucketInMemory, root: Path, capsys: Captured
) -> None:
    bucket.is_reachable = False
    assert centavo(root, "status") == JournalError.exit_code
    assert "no run in this checkout, and the cluster's bucket can't be asked" in capsys.readouterr().err
    assert centavo(root, "status", "--remote") == AwsError.exit_code


@pytest.mark.parametrize(
    "content", [b"torn", gzip.compress(b"no database" * 99, mtime=0), gzip.compress(b"x" * 99, mtime=0)[:-9], b""]
)
def test_a_torn_copy_is_told_and_the_last_whole_one_stays(
    bucket: BucketInMemory, journal: Journal, root: Path, tmp_path: Path, content: bytes
) -> None:
    copy = Remote(bucket, tmp_path / "copies").copy_of(RUN)
    copy.refresh()
    bucket.put(keys.of_run(RUN, keys.JOURNAL_NAME), content)
    with pytest.raises(JournalError, match="can't be read"):
        copy.refresh()
    assert Journal(copy.directory).info().run == RUN


def test_a_copy_follows_the_run_under_whoever_reads_it(
    bucket: BucketInMemory, journal: Journal, tmp_path: Path
) -> None:
    copy = Remote(bucket, tmp_path / "copies").copy_of(RUN)
    copy.refresh()
    reader = Journal(copy.directory)
    before = len(reader.events())
    journal.add_event(NOW, "note", "news")
    copied(bucket, journal)
    refreshing = _Refreshing(copy)
    for _ in range(5):
        assert len(reader.events()) == before
        refreshing()
    assert reader.events()[-1]["message"] == "news"
    bucket.is_reachable = False
    for _ in range(5):
        refreshing()


def test_a_copy_is_brought_once_while_it_does_not_change(
    bucket: BucketInMemory, journal: Journal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    RunCopy(bucket, RUN, tmp_path / "copy").refresh()
    monkeypatch.setattr(RunCopy, "_restore", lambda self, kept: pytest.fail("the same copy was brought again"))
    RunCopy(bucket, RUN, tmp_path / "copy").refresh()


@pytest.mark.parametrize("name", ["", "..", "a/b"])
def test_no_name_of_a_run_leads_out_of_its_folder(bucket: BucketInMemory, tmp_path: Path, name: str) -> None:
    with pytest.raises(JournalError):
        Remote(bucket, tmp_path).copy_of(name)


def test_without_a_readable_lease_the_index_names_the_newest_run(bucket: BucketInMemory, tmp_path: Path) -> None:
    remote = Remote(bucket, tmp_path)
    assert remote.newest_run() is None
    runs = [{"run": "b", "started_at": "2", "status": "x"}, {"run": "a", "started_at": "1", "status": "x"}]
    bucket.put(keys.RUNS, json.dumps(runs).encode())
    bucket.put(keys.LEASE, b"torn")
    assert remote.newest_run() == "b"
