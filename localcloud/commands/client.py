"""Asking the control API of the daemon."""

from __future__ import annotations

import http
import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any

from localcloud.settings import Settings
from localcloud.state import StateDir

ANSWER_LIMIT_S = 10.0


class RequestRefusedError(Exception):
    """The daemon refuses a request. The message says what to ask instead."""


def ask(state: StateDir, settings: Settings, action: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Returns the daemon's answer to a request.

    Args:
        state: the state directory, which has the daemon's token.
        settings: the configuration of the daemon.
        action: the action of the control API.
        request: what is posted; None reads.

    Raises:
        OSError: no daemon answers.
        RequestRefusedError: the daemon refuses the request.
    """
    try:
        token = state.credentials().control_token
    except ValueError as error:
        raise OSError(f"{state.credentials_file}: {error}") from None
    asked = urllib.request.Request(
        f"{settings.endpoint}/_localcloud/{action}",
        data=None if request is None else json.dumps(request).encode(),
        headers={"Authorization": f"Bearer {token}"},
    )
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(asked, timeout=ANSWER_LIMIT_S) as answer:
            document: dict[str, Any] = json.load(answer)
    except urllib.error.HTTPError as error:
        if error.code == http.HTTPStatus.FORBIDDEN:
            raise  # the daemon of this state directory is not the one that listens at the port
        raise RequestRefusedError(json.load(error)["error"]) from None
    return document
