"""Launcher and rank tell each other one JSON object a line."""

from __future__ import annotations

import pytest

from trainer.messages.lines import StreamMessenger, parse


def test_an_event_is_one_line_with_its_details() -> None:
    written: list[bytes] = []
    StreamMessenger(written.append).send("joined", rank=3, size=6)
    assert written[0].endswith(b"\n") and written[0].count(b"\n") == 1
    assert parse(written[0]) == {"event": "joined", "rank": 3, "size": 6}


@pytest.mark.parametrize("line", [b"Permission denied (publickey).\n", b"[1, 2]", b"3", b"", b"\xff"])
def test_a_line_that_is_no_message_is_passed_over(line: bytes) -> None:
    assert parse(line) is None


def test_a_launcher_that_is_gone_is_no_error() -> None:
    def broken(data: bytes) -> None:
        raise BrokenPipeError

    StreamMessenger(broken).send("finished", rank=0)
