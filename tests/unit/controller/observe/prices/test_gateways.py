"""When CloudWatch is asked for the bytes of NAT gateways, from when on, and what counts where it does not answer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from controller.domain.errors import AwsError
from controller.observe.prices.gateways import REFRESH_S, SETTLED_S, AskedGateways

STARTED_AT = 10_000.0
ONE = ("nat-1",)


class Office:
    """A CloudWatch that knows how many bytes have passed all gateways in which period, and a clock."""

    def __init__(self) -> None:
        self.now, self.fails = STARTED_AT, False
        self.asked: list[tuple[tuple[str, ...], float, float]] = []
        self.passed: dict[float, float] = {}
        self.told: list[str] = []
        self.bytes_of = AskedGateways(self, STARTED_AT, lambda: self.now, self.told.append).bytes_of

    def bytes_by_time(self, gateway_ids: Sequence[str], since: float, until: float) -> Mapping[float, float]:
        self.asked.append((tuple(gateway_ids), since, until))
        if self.fails:
            raise AwsError("AWS did not tell the bytes that have passed the NAT gateways: throttled", "")
        return {at: count for at, count in self.passed.items() if since <= at <= until}


def test_all_gateways_are_asked_for_at_once_from_the_beginning_of_the_run() -> None:
    office = Office()
    office.passed = {STARTED_AT - 300: 7.0, STARTED_AT: 5.0, STARTED_AT + 300: 4.0}
    office.now += 400
    assert office.bytes_of(("nat-1", "nat-2")) == 9.0
    assert office.asked == [(("nat-1", "nat-2"), STARTED_AT, STARTED_AT + 400)]


def test_a_cluster_without_a_gateway_asks_for_nothing() -> None:
    office = Office()
    assert office.bytes_of(()) == 0.0
    assert office.asked == []


def test_what_is_known_is_kept_until_there_are_new_figures() -> None:
    office = Office()
    office.passed = {STARTED_AT: 5.0}
    assert office.bytes_of(ONE) == 5.0
    office.passed[STARTED_AT] = 6.0
    office.now += REFRESH_S - 1
    assert office.bytes_of(ONE) == 5.0
    office.now += 1
    assert office.bytes_of(ONE) == 6.0
    assert len(office.asked) == 2


def test_no_byte_of_a_long_run_is_counted_twice_or_forgotten_and_old_ones_are_not_asked_for_again() -> None:
    office = Office()
    for _ in range(100):
        office.now += REFRESH_S
        office.passed[office.now - 1.0] = 1.0
        office.bytes_of(ONE)
    assert office.bytes_of(ONE) == 100.0
    assert all(until - since <= SETTLED_S + REFRESH_S for _, since, until in office.asked)


def test_figures_that_come_late_count() -> None:
    office = Office()
    office.now += 2 * SETTLED_S
    office.bytes_of(ONE)
    office.passed[office.now - SETTLED_S + 1] = 3.0
    office.now += REFRESH_S
    assert office.bytes_of(ONE) == 3.0


def test_where_cloudwatch_does_not_answer_what_is_known_stays_and_it_is_told_once() -> None:
    office = Office()
    office.passed = {STARTED_AT: 5.0}
    office.bytes_of(ONE)
    office.fails = True
    for _ in range(30):
        office.now += REFRESH_S
        office.passed[office.now] = 1.0
        assert office.bytes_of(ONE) == 5.0
    assert office.told == [
        "what has passed the NAT gateways is not counted for now: "
        "AWS did not tell the bytes that have passed the NAT gateways: throttled"
    ]
    office.fails = False
    office.now += REFRESH_S
    assert office.bytes_of(ONE) == 35.0, "what has passed meanwhile is asked for later"
