"""Iteration facts: what is trusted, and what makes a node unknown."""

from __future__ import annotations

import json
from datetime import datetime, timezone
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controller.domain import Fact, Instance, MembershipChange, TrainingState
from controller.domain.observed.fact import Notice, NoticeKind
from controller.domain.reasons import Reason
from controller.domain.reasons.nodes import (
    FactFromTheFuture,
    FactMissing,
    FactOfAnotherFlavor,
    FactOfAnotherNode,
    FactOld,
    FactTorn,
    ForeignSchema,
    NodeUnreachable,
)
from controller.domain.times import parse_time
from controller.observe.facts import (
    LARGEST_NUMBER,
    LONGEST_REASON,
    LONGEST_WINDOW,
    MOST_RANKS,
    FactError,
    LocalFacts,
    parse_fact,
    read_facts,
)

NOW = parse_time("2026-11-21T06:00:10Z")
GOOD: dict[str, Any] = {
    "schema": 1,
    "instance_id": "i-1",
    "flavor": "c5.xlarge",
    "rank": 3,
    "world_size": 6,
    "state": "training",
    "step": 1480,
    "iteration_time_s": 0.412,
    "compute_time_s": 0.301,
    "samples": 64,
    "tokens": 2710,
    "window": 50,
    "peak_memory_bytes": 812646400,
    "updated_at": "2026-11-21T06:00:00.000Z",
    "reason": None,
    "total_steps": 3000,
    "total_tokens": 4000000,
    "loss": 2.5,
    "share": 0.25,
    "emulated_speed": 0.25,
    "steal_share": 0.125,
    "gradient_bytes": 44_000_000,
    "last_change": {"at": "2026-11-21T05:59:00.5Z", "from_size": 6, "to_size": 11, "pause_s": 1.5, "steps_lost": 0},
}
NODE = Instance("i-1", "c5.xlarge", "worker", "running", "127.20.1.1")


def parse(**changes: Any) -> Any:
    return parse_fact({**GOOD, **changes}, now=NOW, max_age_s=30)


def test_a_whole_fact_is_read_with_its_times_in_seconds() -> None:
    fact = parse()
    assert (fact.rank, fact.world_size, fact.state) == (3, 6, TrainingState.TRAINING)
    assert fact.compute_time_s == 0.301
    assert fact.updated_at == NOW - 10
    assert fact.last_change.pause_s == 1.5
    assert fact.last_change.at == NOW - 69.5


def test_every_field_of_a_fact_is_read() -> None:
    assert parse() == Fact(
        "i-1",
        "c5.xlarge",
        3,
        6,
        TrainingState.TRAINING,
        1480,
        0.412,
        0.301,
        64.0,
        2710.0,
        50,
        NOW - 10,
        812646400,
        None,
        3000,
        4000000,
        2.5,
        0.25,
        0.25,
        MembershipChange(NOW - 69.5, 6, 11, 1.5, 0),
        0.125,
        None,
        44_000_000,
    )


def test_a_trainer_that_does_not_say_how_large_its_gradients_are_leaves_them_unknown() -> None:
    other = {name: value for name, value in GOOD.items() if name != "gradient_bytes"}
    assert parse_fact(other, now=NOW, max_age_s=30).gradient_bytes is None
    assert parse(gradient_bytes=None).gradient_bytes is None


@pytest.mark.parametrize(
    ("field", "most", "more"),
    [
        ("instance_id", "x" * 255, "x" * 256),
        ("flavor", "x" * 64, "x" * 65),
        ("rank", MOST_RANKS - 1, MOST_RANKS),
        ("world_size", MOST_RANKS, MOST_RANKS + 1),
        ("window", LONGEST_WINDOW, LONGEST_WINDOW + 1),
        ("share", 1.0, 1.001),
        ("emulated_speed", 1.0, 1.001),
        ("steal_share", 1.0, 1.001),
        ("samples", LARGEST_NUMBER, 2 * LARGEST_NUMBER),
        ("iteration_time_s", LARGEST_NUMBER, 2 * LARGEST_NUMBER),
        ("total_steps", 2**53 - 1, 2**60),
    ],
)
def test_a_field_is_read_up_to_its_bound(field: str, most: Any, more: Any) -> None:
    assert getattr(parse(**{field: most}), field) == most
    with pytest.raises(FactError) as error:
        parse(**{field: more})
    assert isinstance(error.value.reason, FactTorn)


@pytest.mark.parametrize(
    ("notice", "read"),
    [
        (None, None),
        (
            {"kind": "interruption", "seen_at": "2026-11-21T06:00:05Z", "ends_at": "2026-11-21T06:02:00Z"},
            Notice(NoticeKind.INTERRUPTION, NOW - 5, NOW + 110),
        ),
        ({"kind": "rebalance", "seen_at": "2026-11-21T06:00:05Z"}, Notice(NoticeKind.REBALANCE, NOW - 5)),
        ({"kind": "what only a newer trainer knows"}, None),
    ],
)
def test_a_notice_of_the_spot_service_is_read(notice: dict[str, str] | None, read: Notice | None) -> None:
    assert parse(notice=notice).notice == read


@pytest.mark.parametrize("notice", ["interruption", {"kind": "rebalance"}, {"kind": "rebalance", "seen_at": "soon"}])
def test_a_notice_that_is_torn_makes_the_fact_torn(notice: Any) -> None:
    with pytest.raises(FactError) as error:
        parse(notice=notice)
    assert isinstance(error.value.reason, FactTorn)


@pytest.mark.parametrize("field", ["from_size", "to_size"])
@pytest.mark.parametrize(("size", "is_read"), [(0, False), (1, True), (MOST_RANKS, True), (MOST_RANKS + 1, False)])
def test_a_change_is_between_worlds_that_can_be(field: str, size: int, is_read: bool) -> None:
    change = {**GOOD["last_change"], field: size, "steps_lost": 7}
    if is_read:
        read = parse(last_change=change).last_change
        assert (getattr(read, field), read.steps_lost) == (size, 7)
    else:
        with pytest.raises(FactError):
            parse(last_change=change)


@pytest.mark.parametrize(
    ("loss", "read"),
    [
        (-2.5, -2.5),
        (0, 0.0),
        (LARGEST_NUMBER, LARGEST_NUMBER),
        (-LARGEST_NUMBER, -LARGEST_NUMBER),
        (2 * LARGEST_NUMBER, None),
        (-2 * LARGEST_NUMBER, None),
        (True, None),
        ("2.5", None),
    ],
)
def test_a_loss_is_read_where_it_is_a_number_of_a_usual_size(loss: Any, read: float | None) -> None:
    assert parse(loss=loss).loss == read


def test_a_reason_of_a_rank_is_text_whatever_the_rank_wrote() -> None:
    assert parse(reason="out of memory").reason == "out of memory"
    assert parse(reason=["a", 1]).reason == "['a', 1]"
    assert len(parse(reason="x" * 5000).reason) == LONGEST_REASON


def test_a_fact_is_trusted_up_to_the_second() -> None:
    assert parse_fact(GOOD, now=NOW + 20, max_age_s=30).step == 1480
    assert parse_fact(GOOD, now=NOW - 15, max_age_s=30).step == 1480, "a clock may be ahead by five seconds"
    with pytest.raises(FactError):
        parse_fact(GOOD, now=NOW + 20.1, max_age_s=30)
    with pytest.raises(FactError):
        parse_fact(GOOD, now=NOW - 15.1, max_age_s=30)


@pytest.mark.parametrize(("digits", "is_read"), [(19, True), (20, False)])
def test_a_time_of_more_than_forty_characters_is_torn(digits: int, is_read: bool) -> None:
    text = f"2026-11-21T06:00:00.{'0' * digits}Z"
    assert len(text) == 21 + digits
    if is_read:
        assert parse(updated_at=text).updated_at == NOW - 10
    else:
        with pytest.raises(FactError):
            parse(updated_at=text)


def test_a_clock_of_which_nothing_is_known_is_right() -> None:
    facts, unknown = read_facts((NODE,), LocalFacts({"i-1": {"iteration": GOOD}}, {}), now=NOW, max_age_s=30)
    assert ([fact.updated_at for fact in facts], unknown) == ([NOW - 10], ())


def test_the_fact_of_the_design_alone_is_enough() -> None:
    extra = {"total_steps", "total_tokens", "loss", "share", "emulated_speed", "steal_share", "last_change"}
    fact = parse_fact({key: value for key, value in GOOD.items() if key not in extra}, now=NOW, max_age_s=30)
    assert fact.step == 1480
    assert fact.total_steps is None


def test_a_fresh_worker_has_no_times_yet_and_no_placeholder_either() -> None:
    fact = parse(
        state="starting",
        rank=None,
        world_size=None,
        step=0,
        iteration_time_s=None,
        compute_time_s=None,
        samples=None,
        tokens=None,
        window=0,
    )
    assert fact.compute_time_s is None
    assert fact.tokens is None


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"schema": 2}, ForeignSchema("2 instead of 1")),
        ({"updated_at": "2026-11-21T05:59:00Z"}, FactOld(70.0, 30)),
        ({"updated_at": "2026-11-21T06:01:00Z"}, FactFromTheFuture(50.0)),
        ({"state": "sleeping"}, ForeignSchema("state 'sleeping' is not known")),
    ],
)
def test_a_fact_that_can_not_be_trusted_says_why(changes: dict[str, Any], reason: Reason) -> None:
    with pytest.raises(FactError) as error:
        parse(**changes)
    assert error.value.reason == reason


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("updated_at", "yesterday"),
        ("updated_at", "2026-11-21T06:00:00"),
        ("updated_at", None),
        ("instance_id", ""),
        ("compute_time_s", -1),
        ("compute_time_s", 0),
        ("compute_time_s", float("nan")),
        ("compute_time_s", "0.3"),
        ("step", None),
        ("step", 1.5),
        ("window", True),
        ("last_change", 7),
        ("step", 10**400),
        ("step", 2**53),
        ("step", float("inf")),
        ("step", -1),
        ("rank", 65_536),
        ("world_size", 0),
        ("world_size", 10**9),
        ("window", 1_000_001),
        ("total_tokens", 1e300),
        ("share", 1.5),
        ("tokens", 1e13),
        ("updated_at", "2026" * 1000),
        ("instance_id", "i-1\x1b[2J"),
        ("flavor", "c" * 65),
    ],
)
def test_a_torn_field_is_named(field: str, value: object) -> None:
    with pytest.raises(FactError, match=f"torn: {field} ") as error:
        parse(**{field: value})
    assert isinstance(error.value.reason, FactTorn)


@pytest.mark.parametrize("state", ["finished", "failed"])
def test_the_last_word_of_a_rank_that_has_ended_does_not_age(state: str) -> None:
    assert parse(state=state, updated_at="2026-11-21T05:00:00Z").state.value == state


def test_a_loss_that_is_no_number_is_unknown_and_not_an_error() -> None:
    assert parse(loss=float("nan")).loss is None


@pytest.mark.parametrize(
    ("local", "reason"),
    [
        (LocalFacts({}, {"i-1": "unreachable: refused"}), NodeUnreachable("unreachable: refused")),
        (LocalFacts({}, {}), FactMissing()),
        (LocalFacts({"i-1": {}}, {}), FactMissing()),
        (LocalFacts({"i-1": {"iteration": "error"}}, {}), FactTorn("the fact is not a JSON object: 'error'")),
        (LocalFacts({"i-1": {"iteration": {**GOOD, "instance_id": "i-2"}}}, {}), FactOfAnotherNode("i-2")),
        (
            LocalFacts({"i-1": {"iteration": {**GOOD, "flavor": "c5.large"}}}, {}),
            FactOfAnotherFlavor("c5.large", "c5.xlarge"),
        ),
    ],
)
def test_a_node_without_a_trustworthy_fact_is_unknown_with_the_reason(local: LocalFacts, reason: Reason) -> None:
    facts, unknown = read_facts((NODE,), local, now=NOW, max_age_s=30)
    assert facts == ()
    assert [(node.instance_id, node.flavor) for node in unknown] == [("i-1", "c5.xlarge")]
    assert unknown[0].reason == reason


def test_what_people_are_shown_of_a_fact_is_short_and_moves_no_terminal() -> None:
    said = "\x1b]0;gone\x07 out of memory\r\n[sudo] password:\u202e\u2028" + "x" * 100_000
    reason = parse(reason=said).reason
    assert len(reason) == 2_000 and reason.startswith("]0;gone out of memory [sudo] password: xxx")
    for field in ("state", "schema", "instance_id", "updated_at", "step"):
        with pytest.raises(FactError) as error:
            parse(**{field: said})
        assert len(str(error.value)) < 200 and str(error.value).isprintable()


@pytest.mark.parametrize("skew_s", [20.0, -20.0, 300.0, -3600.0])
def test_a_clock_that_is_off_makes_no_fact_old_or_new(skew_s: float) -> None:
    def iso(at: float) -> str:
        return datetime.fromtimestamp(at + skew_s, timezone.utc).isoformat()

    change = {**GOOD["last_change"], "at": iso(NOW - 60)}
    notice = {"kind": "interruption", "seen_at": iso(NOW - 30), "ends_at": "2026-11-21T06:02:00Z"}
    fact = {**GOOD, "updated_at": iso(NOW - 10), "last_change": change, "notice": notice}
    facts, unknown = read_facts(
        (NODE,), LocalFacts({"i-1": {"iteration": fact}}, {}, {"i-1": skew_s}), now=NOW, max_age_s=30
    )
    assert unknown == () and facts[0].last_change is not None
    assert (facts[0].updated_at, facts[0].last_change.at) == (pytest.approx(NOW - 10), pytest.approx(NOW - 60))
    said = facts[0].notice
    assert said is not None and said.seen_at == pytest.approx(NOW - 30)
    assert (said.kind, said.ends_at) == (NoticeKind.INTERRUPTION, NOW + 110), "EC2's clock names the node's end"


def test_a_fact_that_is_old_by_its_own_clock_is_old() -> None:
    local = LocalFacts({"i-1": {"iteration": GOOD}}, {}, {"i-1": 300.0})
    _, unknown = read_facts((NODE,), local, now=NOW, max_age_s=30)
    assert [node.reason for node in unknown] == [FactOld(310.0, 30)]


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=8,
)


@settings(suppress_health_check=[HealthCheck.too_slow])  # a loaded machine is slow at making values
@given(key=st.sampled_from(sorted(GOOD)), value=JSON)
def test_whatever_stands_in_a_fact_it_is_trusted_or_refused_but_never_breaks_the_controller(
    key: str,
    value: Any,
) -> None:
    try:
        parse_fact({**GOOD, key: value}, now=NOW, max_age_s=30)
    except FactError as error:
        assert str(error)


@given(cut=st.integers(0, len(json.dumps(GOOD)) - 1))
def test_a_torn_file_makes_the_node_unknown(cut: int) -> None:
    text = json.dumps(GOOD)[:cut]
    facts, unknown = read_facts((NODE,), LocalFacts({"i-1": {"iteration": text}}, {}), now=NOW, max_age_s=30)
    assert (len(facts), len(unknown)) == (0, 1)


@pytest.mark.parametrize(
    ("text", "fraction"),
    [
        ("2026-11-21T06:00:10Z", 0.0),
        ("2026-11-21T06:00:10.5Z", 0.5),
        ("2026-11-21T06:00:10.123456789Z", 0.123456),
        ("2026-11-21T07:00:10.25+01:00", 0.25),
    ],
)
def test_times_are_read_with_any_number_of_digits(text: str, fraction: float) -> None:
    assert parse_time(text) == pytest.approx(NOW + fraction)
