"""A call that an SDK sends again is carried out once."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from localcloud.api.replays import Replays


class Counter:
    """An application that answers with the number of its calls."""

    def __init__(self, status: str = "200 OK") -> None:
        self.status, self.calls = status, 0

    def __call__(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        self.calls += 1
        start_response(self.status, [("Content-Type", "text/plain")])
        return [str(self.calls).encode()]


def ask(replays: Replays, application: Counter, call: str | None) -> tuple[str, bytes]:
    statuses: list[str] = []
    environ = {} if call is None else {"HTTP_AMZ_SDK_INVOCATION_ID": call}
    body = replays.answer(application, environ, lambda status, headers: statuses.append(status))
    return statuses[0], b"".join(body)


def test_a_further_attempt_at_a_call_gets_the_first_answer(caplog: pytest.LogCaptureFixture) -> None:
    replays, application = Replays(), Counter()
    assert ask(replays, application, "a") == ("200 OK", b"1")
    assert ask(replays, application, "a") == ("200 OK", b"1")
    assert "came again" in caplog.text
    assert ask(replays, application, "b") == ("200 OK", b"2")


@pytest.mark.parametrize("status", ["400 Bad Request", "503 Service Unavailable"])
def test_a_call_that_failed_is_tried_anew(status: str) -> None:
    replays, application = Replays(), Counter(status)
    assert [ask(replays, application, "a")[1] for _ in range(2)] == [b"1", b"2"]


def test_calls_without_an_id_are_each_carried_out() -> None:
    replays, application = Replays(), Counter()
    assert [ask(replays, application, None)[1] for _ in range(2)] == [b"1", b"2"]


def test_only_the_last_answers_are_kept() -> None:
    replays, application = Replays(kept=2), Counter()
    assert [ask(replays, application, call)[1] for call in "abca"] == [b"1", b"2", b"3", b"4"]
