"""Asking a daemon for its status."""

from __future__ import annotations

import json
import urllib.request
from typing import Any

from localcloud.settings import Settings

ANSWER_LIMIT_S = 10.0


def ask_status(settings: Settings) -> dict[str, Any]:
    """Returns the status of the daemon at the configured port.

    Raises:
        OSError: no daemon answers.
    """
    url = f"{settings.endpoint}/_localcloud/status"
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=ANSWER_LIMIT_S) as answer:
        document: dict[str, Any] = json.load(answer)
    return document
