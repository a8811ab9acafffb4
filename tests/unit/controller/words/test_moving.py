"""The wording of the reasons of moves, plans, nodes, endings and faults, in one golden file; the same through JSON.

`UPDATE_GOLDEN=1` writes the golden file anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from controller.domain import Fleet
from controller.domain.health import Ailment, RemedyKind
from controller.domain.reasons import REASONS, Reason, Said
from controller.domain.reasons import ending as e
from controller.domain.reasons import health as h
from controller.domain.reasons import moving as m
from controller.domain.reasons import nodes as n
from controller.domain.reasons import plans as p
from controller.domain.reasons import spot as s
from controller.domain.reasons import writing as w
from controller.record.journal import codec
from controller.record.journal.reasons import reason_from_plain
from controller.words.reasons import reason_in_words
from controller.words.reasons.health import REMEDIES, ailment_in_words
from controller.words.reasons.sentences import as_sentence

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "words" / "moving.txt"
FILE = "capacity.auto.tfvars.json"
LATE = {"i-0b": "c5.large", "i-0a": "c5.large"}
NO_SPACE = m.PlaybookFailed(
    "site.yml", "failed", {"i-0a": "Install the trainer: no space left on device"}, "fatal: ..."
)

EXAMPLES: tuple[Reason, ...] = (
    m.MergedByPeople(),
    m.WaitsAfterFailure(Fleet({"c5.large": 6}), 1_800_000_000.0),
    m.NoCapacity({"t2.large": "quota exceeded", "c5.large": "InsufficientInstanceCapacity"}),
    m.NotRunning(Fleet({"c5.large": 2}), 600.0),
    m.NoAnswer({"i-0b": "connection refused", "i-0a": "no answer within 20 s"}, 600.0),
    m.ConfiguringFailed(NO_SPACE),
    m.DidNotJoin(LATE, 3, 300.0),
    m.RankFailed("i-0a", "c5.large", "out of memory"),
    m.RankFailed("i-0a", "c5.large", None),
    m.TrainingEnded(),
    m.TrainingEndedInShrinking(),
    NO_SPACE,
    m.PlaybookFailed("hosts.yml", "timeout", {}, "the last line"),
    m.TerraformFailed("apply", "Error acquiring the state lock"),
    m.TerraformTookTooLong("apply", 3600.0),
    m.StateLocked("eve@elsewhere", "OperationTypeApply", 1_800_000_000.0, "e4b0"),
    w.HeldByAnother("aws", "eve", "elsewhere", 4711, "centavo optimize", 1_800_000_000.0),
    w.HeldBySomebody("aws", ".centavo/aws/controller.lock"),
    w.LockLost(".centavo/aws/controller.lock"),
    w.RunTakenOver("20270115T080000Z", 1, 2),
    w.LeaseHeld("centavo", "eve", "elsewhere", 4711, "centavo optimize", 1_800_000_000.0, 12.4, 900.0),
    w.LeaseUnreadable("centavo", "control/lease.json", "JSONDecodeError: Expecting value"),
    w.LeaseTaken("centavo", "`centavo take-over` of eve@elsewhere (process 4711)"),
    w.LeaseFired("centavo", "head", "no-controller"),
    w.LeaseUncertain("centavo", "AWS did not write control/lease.json"),
    w.NotWritten("runs/20270115T080000Z", "database or disk is full"),
    m.AwsFailed("list the cluster's instances", "Could not connect to the endpoint URL"),
    p.PlanRefused((p.TouchesResource("aws_vpc.this", "destroy"), p.OtherCapacity("group", 4, 3))),
    p.PlanErrored(),
    p.TouchesResource("aws_vpc.this", "replace"),
    p.TouchesResource("aws_vpc.this", "unknown"),
    p.TouchesGroup("aws_autoscaling_group.this", "create"),
    p.ChangesAttributes("aws_autoscaling_group.this", ("max_size", "tag")),
    p.ForeignGroup("aws_autoscaling_group.other"),
    p.OtherCapacity("aws_autoscaling_group.this", None, 3),
    p.AboveMaximum("aws_autoscaling_group.this", 13, 12),
    p.CapacityFileChanged(FILE),
    p.CapacityFileCorrupt(FILE, "it is not JSON"),
    p.UndeclaredFlavor(FILE, "m5.large"),
    p.TooMuchCapacity(FILE, "c5.large", 13, 12),
    p.AbsurdCapacity(FILE, "c5.large", 1001, 1000),
    p.CapacityNotApplied(FILE, Fleet({"c5.large": 3}), Fleet({"c5.large": 2})),
    n.NotAsked(),
    n.TakesNoPart(),
    n.Ec2Unreachable(m.AwsFailed("list the cluster's instances", "no route")),
    n.AnsibleUnusable(Said("ansible-runner was not found")),
    n.NodeUnreachable("unreachable: connection refused"),
    n.FactMissing(),
    n.FactTorn("step is None"),
    n.ForeignSchema("2 instead of 1"),
    n.FactOfAnotherNode("i-0b"),
    n.FactOfAnotherFlavor("c5.large", "c5.xlarge"),
    n.FactOld(70.0, 30.0),
    n.FactFromTheFuture(50.0),
    n.ClockOff("i-0002", 300.2),
    n.ClockOff("the head", -20.0),
    e.LauncherFailed("the loss became nan at step 41: lower optimizer.learning_rate"),
    e.LauncherFailed(None),
    e.BudgetReached(5.0, 4.86, 0.13),
    e.GivenUp(h.NoNewStep(1480, 1900.0, 900.0), ("restart_launcher", "restart_launcher")),
    e.GivenUp(h.HeadGone("terminated")),
    e.StopAsked("ada@laptop", 1_800_000_000.0),
    e.ResultsMissing(),
    e.EnvironmentDestroyed(),
    h.NoNewStep(1480, 930.0, 900.0),
    h.NoNewStep(None, 930.0, 900.0),
    h.LauncherDied(70.0),
    h.LauncherNotStarted(70.0),
    h.HeadSilent(630.0, 600.0),
    h.HeadGone("stopped"),
    h.RankHangs("i-0a", "c5.large", 610.0, 600.0),
    h.NeverBecameRank("i-0a", "c5.large", 610.0, 600.0),
    h.WorkerDied("i-0a", "c5.large", 70.0),
    h.NodeSilent("i-0a", "c5.large", 310.0, 300.0),
    s.NodesTakenBack(Fleet({"c5.large": 2}), Fleet({"c5.large": 1, "c5.xlarge": 1}), 0),
    s.NodesTakenBack(Fleet({"c5.large": 2}), Fleet({"c5.xlarge": 2}), 3),
    s.NodesTakenBack(
        Fleet({"c5.large": 2}),
        Fleet({"m5.large": 2}),
        0,
        s.OnDemandForDeadline(Fleet({"m5.large": 2}), 3900, 4200, False),
    ),
    s.OnDemandForDeadline(Fleet({"m5.large": 2}), 3900.0, 9000.0, True),
    s.SpotForDeadline(Fleet({"c5.large": 3}), 3900.0, 9000.0),
    s.WaitsForSpot(1_800_000_900.0, 3900.0, 9000.0),
    s.NoSpotForDeadline(Fleet({"c5.large": 3}), 3900.0, 4200.0, True),
    s.NoSpotForDeadline(Fleet({"c5.large": 3}), 3900.0, 9000.0, False),
    s.OnDemandInstead(912.0),
    s.WaitsForCapacity(Fleet({"c5.large": 6}), 0, 1_800_000_000.0, 1_800_000_900.0),
    s.WaitsForCapacity(Fleet({"c5.large": 2}), 4, 1_800_000_000.0, None),
    s.ReplacementUnaffordable(Fleet({"c5.large": 2}), 4.0),
)
MODULES = {module.__name__ for module in (e, h, m, n, p, s, w)}


def test_each_reason_is_worded_as_it_always_has_been() -> None:
    written = "".join(f"{reason.code}: {reason_in_words(reason)}\n" for reason in EXAMPLES)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(written)
    assert written == GOLDEN.read_text()


@pytest.mark.parametrize("reason", EXAMPLES, ids=lambda reason: reason.code)
def test_each_reason_comes_back_from_json_equal(reason: Reason) -> None:
    assert reason_from_plain(json.loads(codec.to_json(reason))) == reason


def test_each_kind_has_an_example() -> None:
    kinds = {kind for kind in REASONS.values() if kind.__module__ in MODULES}
    assert {type(reason) for reason in EXAMPLES} == kinds and len(kinds) > 30


def test_a_sentence_begins_with_a_capital_letter_and_ends_with_a_period() -> None:
    assert as_sentence(m.TrainingEnded()) == "The training ended before the move was done."
    assert as_sentence(Said("Who knows?")) == "Who knows?"


def test_an_ailment_is_told_with_what_is_done_about_it() -> None:
    died = h.LauncherDied(70.0)
    assert ailment_in_words(Ailment(died, None)) == reason_in_words(died)
    told = ailment_in_words(Ailment(died, RemedyKind.RESTART_LAUNCHER))
    assert told == f"{reason_in_words(died)}; restarting the launcher from the last checkpoint"


def test_each_remedy_has_words() -> None:
    assert set(REMEDIES) == {kind.value for kind in RemedyKind}
