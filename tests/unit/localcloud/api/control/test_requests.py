"""What the control API takes, and what it says about the rest."""

from __future__ import annotations

from typing import Any

import pytest

from localcloud.api.control.requests import (
    CAPACITY,
    FAIL_BOOT,
    INTERRUPT,
    SHUTDOWN,
    SPOT_PRICE,
    ControlError,
    RequestForm,
)


@pytest.mark.parametrize(
    ("form", "body", "request_"),
    [
        (CAPACITY, b'{"c5.large": 0, "c5.xlarge": null}', {"c5.large": 0, "c5.xlarge": None}),
        (FAIL_BOOT, b'{"a": true, "b": "terminated", "c": false}', {"a": True, "b": "terminated", "c": False}),
        (SPOT_PRICE, b'{"c5.large": 1}', {"c5.large": 1.0}),
        (SHUTDOWN, b"", {}),
    ],
)
def test_a_right_request_is_taken(form: RequestForm[Any], body: bytes, request_: object) -> None:
    assert form.parse(body) == request_


@pytest.mark.parametrize(
    ("form", "body", "complaint"),
    [
        (CAPACITY, b'{"c5.large": 1000001}', r"c5\.large: .* 1000000 \(got 1000001\)\. Send {flavor"),
        (CAPACITY, b'{"c5.large": "3"}', r"c5\.large: .*integer"),
        (CAPACITY, b"[]", "object"),
        (CAPACITY, b"{", "Invalid JSON"),
        (FAIL_BOOT, b'{"c5.large": 1}', r"c5\.large.* \(got 1\)"),
        (INTERRUPT, b'{"instance_id": "i-1", "in": 3}', "in: unknown entry"),
        (INTERRUPT, b'{"instance_id": "i-1", "in_s": true}', r"in_s: .*got True"),
        (SPOT_PRICE, b'{"c5.large": NaN}', r"c5\.large"),
    ],
)
def test_a_wrong_request_is_refused_with_its_entry_and_what_to_send(
    form: RequestForm[Any], body: bytes, complaint: str
) -> None:
    with pytest.raises(ControlError, match=complaint) as error:
        form.parse(body)
    assert f"Send {form.usage}" in str(error.value)
    assert error.value.status == 400
