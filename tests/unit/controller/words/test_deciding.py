"""The wording of every reason that deciding gives, in one golden file; and the same reasons through JSON.

`UPDATE_GOLDEN=1` writes the golden file anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from controller.domain import Fleet
from controller.domain.reasons import REASONS, Reason, Said
from controller.domain.reasons import deciding as d
from controller.domain.reasons import flavors as f
from controller.domain.reasons import limits as lim
from controller.record.journal import codec
from controller.record.journal.reasons import reason_from_plain
from controller.words.reasons import reason_in_words

GOLDEN = Path(__file__).resolve().parents[3] / "golden" / "words" / "deciding.txt"

NOW, BEST = Fleet({"c5.2xlarge": 1, "t2.medium": 5}), Fleet({"c5.large": 6})
CHEAPER = d.CheaperPerToken(BEST, NOW, 0.52, 0.0259, 0.0712, 0.0074)
LATE = lim.DeadlineOutOfReach(BEST, 7500.0, 3600.0)
EXAMPLES: tuple[Reason, ...] = (
    d.MoveUnderWay(3, BEST, "joining"),
    d.CoolingDown(3, 290.0),
    d.NoWorkerRuns(),
    d.WaitingForFacts(),
    d.WaitingForFacts(("t2.large", "t2.medium")),
    d.SpeedHasFallen(("t2.large",)),
    d.ProgressUnknown(),
    d.NoStepsLeft(),
    d.FewStepsLeft(0.021, 0.03),
    d.EndsSoon(150.0, 210.0),
    d.SpeedUnknown(),
    d.PricesUnknown({"c5.large": f.NoPrice(), "t2.large": f.PriceStale(90_000.0, 86_400.0)}),
    d.NoMeasuredFleetAllowed(),
    d.BestAlready(BEST),
    d.BestAlready(BEST, shortfall=LATE),
    d.SavesTooLittle(BEST, 0.0012, 0.0712, 0.0074, 0.0037),
    d.SavesTooLittleTime(BEST, 10.0, 36.0),
    d.WithinUncertainty(BEST, 0.021, 0.034, "cost"),
    d.WithinUncertainty(BEST, 0.021, 0.034, "time"),
    CHEAPER,
    d.EndsSooner(BEST, NOW, 1860.0, -0.5, 12.5, 0.25),
    d.EndsSooner(BEST, NOW, 1860.0, 0.5, 12.5, 0.25, shortfall=LATE),
    d.LeavesBadNodes(BEST, ("i-0a", "i-0b"), 0.0259, 0.0712, 0.0074),
    d.MeasuresFlavors({"c5.large": 1.25, "m5.large": 0.5}, 0.0123),
    d.MeasuresFlavors({"c5.large": 1.25}, 0.0123, also=CHEAPER),
    d.LeapsToUnmeasured(BEST, "c5.large", 1.25, 0.125, 0.5),
    d.LeapsToUnmeasured(BEST, "c5.large", 1.25, 0.0, 0.0),
    d.LeapsWithinLimits(BEST, "c5.large", 0.875, 1.25),
    d.LeapsWithinLimits(BEST, "c5.large", 0.5, -0.25),
    d.AllOneFlavor(BEST),
    d.NoRoomForCheaperFlavor("c5.2xlarge"),
    d.OneNodeToCheapest("c5.large", "c5.2xlarge", 0.42),
    d.CheapestByList(BEST, "price per vCPU"),
    d.TooFewListed("price per vCPU"),
    d.WaitingForFleet(BEST),
    d.ExpectedToImprove(BEST, 0.23),
    d.NothingTriedAllowed(),
    d.BestOfTried(BEST, 7),
    f.NoPrice(),
    f.PriceNotPositive("nan"),
    f.PriceTooHigh(1e6, 500.0),
    f.PriceStale(90_000.0, 86_400.0),
    f.Excluded("excluded in centavo.yml"),
    f.UnavailableForNow(600.0),
    f.MemoryTooSmall(1 << 30, 800 << 20, 512 << 20, is_measured=True),
    f.MemoryTooSmall(1 << 30, 3 << 30, 512 << 20, is_measured=False),
    f.FlavorsTooSmall({"t3.micro": f.MemoryTooSmall(1 << 30, 3 << 30, 512 << 20, is_measured=False)}),
    f.NotMeasured(),
    f.TooFewSteps(12, 20),
    f.BadNodesLeftOut(("i-0a", "i-0b")),
    f.CreditsSpent(),
    f.JudgedByBaseline(0.2),
    f.CreditsLast(2250.0, 0.2),
    f.FellForGood(("i-0a",), 0.21, 3),
    f.FellForGood(("i-0a", "i-0b"), 0.21, 1),
    f.FellForGood(("i-0a", "i-0b"), 0.21, 0),
    f.KeepsItsSpeed(),
    f.PaysForSurplus(0.08),
    f.KnownFromEarlierRun(),
    f.FlavorsNotObtained(("c5.large", "m5.large")),
    lim.MaxNodesBelowMinNodes(5, 6),
    lim.NoUsableFlavor(),
    lim.FlavorLimitsTooLow(6, 3, {"c5.large": 2, "c5.xlarge": 1}),
    lim.HourlyLimitTooLow(0.2, 6, 0.3701),
    lim.TooFewNodes(2, 6),
    lim.TooManyNodes(7, 6),
    lim.TooManyNodesOfFlavor("c5.large", 6, 4),
    lim.TooExpensiveAnHour(0.3701, 0.2),
    lim.FirstOfSeveralMoves(Fleet({"c5.2xlarge": 1, "c5.large": 2, "t2.medium": 3}), 2, CHEAPER),
    lim.SurgeForbidsMove(0, CHEAPER),
    lim.FirstWithinHourlyLimit(Fleet({"c5.large": 3}), 1.02, 1.53, CHEAPER),
    lim.HourlyLimitForbidsMove(1.02, 1.53, CHEAPER),
    lim.BreaksLimit(NOW, lim.TooManyNodes(7, 6)),
    lim.TooSlowForDeadline(NOW, 7500.0, 3600.0),
    lim.TooSlowForDeadline(NOW, 7500.0, -60.0, shortfall=lim.DeadlineOutOfReach(BEST, 5000.0, -60.0)),
    lim.TooExpensiveForBudget(NOW, 12.5, 11.75),
    LATE,
    lim.DeadlineOutOfReach(BEST, 7500.0, -60.0),
    lim.BudgetOutOfReach(BEST, 12.5, 11.75),
    lim.DeadlineAndBudgetOutOfReach(),
)


def test_every_reason_of_deciding_has_an_example() -> None:
    families = {d.__name__, f.__name__, lim.__name__}
    assert {kind for kind in REASONS.values() if kind.__module__ in families} == {type(one) for one in EXAMPLES}


def test_the_wording_is_that_of_the_golden_file() -> None:
    text = "".join(f"{reason.code}: {reason_in_words(reason)}\n" for reason in EXAMPLES)
    if os.environ.get("UPDATE_GOLDEN"):
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


@pytest.mark.parametrize("reason", EXAMPLES, ids=lambda reason: reason.code)
def test_a_reason_comes_back_from_json_as_it_was(reason: Reason) -> None:
    assert reason_from_plain(json.loads(codec.to_json(reason))) == reason


def test_codes_are_lower_case_words_joined_by_hyphens_and_unique() -> None:
    for code, kind in REASONS.items():
        assert all(word.isalnum() and word == word.lower() for word in code.split("-")), kind
    kinds = [kind for kind in _subclasses(Reason) if "code" in vars(kind)]
    assert len({kind.code for kind in kinds}) == len(kinds)


def test_the_notes_of_an_older_journal_are_kept_as_words() -> None:
    estimate = {"flavor": "c5.large", "usd_per_hour": 0.085, "tokens_per_s": None, "note": "not measured yet"}
    plain = {"at": 0.0, "policy": "cheapest-fleet", "verdict": "stay", "current": {}, "target": {}, "reason": "waiting"}
    decision = codec.read_decision(json.dumps({**plain, "flavors": [estimate]}))
    assert decision.reason == Said("waiting")
    assert decision.flavors[0].notes == (Said("not measured yet"),)


def _subclasses(kind: type[Reason]) -> list[type[Reason]]:
    direct = kind.__subclasses__()
    return direct + [below for one in direct for below in _subclasses(one)]
