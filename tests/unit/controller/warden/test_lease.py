"""A lease is data from outside: it is bounded and checked."""

from __future__ import annotations

import json

import pytest

from controller.warden.lease import MOST_BYTES, LeaseError, parse_document, parse_lease
from controller.warden.waits import LEAST_S, MOST_S, HeadEnd, Waits
from tests.unit.controller.warden.stand_ins import document


def test_a_lease_is_read_as_the_controller_writes_it() -> None:
    lease = parse_lease(document(lasts_s=60, switch={"worker_s": 120, "head": "terminate"}, news=1), "unit")
    assert (lease.run, lease.generation, lease.lasts_s, lease.step, lease.stage) == ("run-1", 1, 60, 7, "training")
    assert lease.waits == Waits(worker_s=120, head=HeadEnd.TERMINATE)
    assert lease.is_owned and lease.holder == "ada on laptop"


@pytest.mark.parametrize("entries", [{"released": True}, {"fired": {"by": "person"}}, {"fired": "nonsense"}])
def test_a_lease_that_was_given_back_or_fired_is_not_owned(entries: dict[str, object]) -> None:
    assert not parse_lease(document(**entries), "unit").is_owned


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        (1e300, MOST_S),
        (10**400, MOST_S),
        (-(10**400), LEAST_S),
        (float("inf"), MOST_S),
        (float("nan"), 900),
        (-5, LEAST_S),
        (True, 900),
        ("900", 900),
        (None, 900),
        ([], 900),
    ],
)
def test_no_wait_is_endless_whatever_a_lease_says(given: object, taken: float) -> None:
    lease = parse_lease(document(lasts_s=given, switch={"lease_s": given}), "unit")
    assert lease.lasts_s == lease.waits.lease_s == taken


@pytest.mark.parametrize(
    "entries",
    [
        {"switch": "none"},
        {"switch": {"head": "explode"}},
        {"run": "../../etc"},
        {"run": 5},
        {"run": "a\nb"},
        {"generation": "x"},
        {"generation": -1},
        {"step": 1e99},
        {"holder": []},
        {"holder": {"user": {}, "host": "x" * 10_000}},
        {"stage": 7},
        {"fired": []},
    ],
)
def test_what_makes_no_sense_has_a_default(entries: dict[str, object]) -> None:
    lease = parse_lease(document(**entries), "unit")
    assert lease.waits == Waits()
    assert lease.run in (None, "run-1") and lease.generation in (0, 1) and len(lease.holder) < 500


@pytest.mark.parametrize("entries", [{"version": 2}, {"version": None}, {"cluster": "another"}, {"cluster": None}])
def test_a_lease_of_another_version_or_cluster_is_not_understood(entries: dict[str, object]) -> None:
    with pytest.raises(LeaseError):
        parse_lease(document(**entries), "unit")


@pytest.mark.parametrize(
    "text",
    [b"", b"\xff", b"{", b"[]", b"7", b"[" * 20_000, b" " * (MOST_BYTES + 1), json.dumps(document()).encode()[:90]],
)
def test_a_torn_lease_is_not_understood(text: bytes) -> None:
    with pytest.raises(LeaseError):
        parse_document(text)
