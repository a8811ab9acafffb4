"""Corrections of CloudWatch Logs."""

from __future__ import annotations

import json
from typing import Any

from moto.logs.responses import LogsResponse

from localcloud.api.patches.replace import replace


def correct_logs() -> None:
    """Applies all corrections of CloudWatch Logs."""
    filter_events_by_the_prefix_of_streams()


def filter_events_by_the_prefix_of_streams() -> None:
    """Lets FilterLogEvents heed `logStreamNamePrefix`, which moto leaves out, and mixes the streams by time.

    AWS always mixes them. moto does so only where it is asked to.
    """
    filter_log_events = LogsResponse.filter_log_events

    def by_prefix(response: LogsResponse) -> Any:
        prefix = response._get_param("logStreamNamePrefix")
        group = response.logs_backend.groups.get(response._get_param("logGroupName"))
        if not prefix or group is None:
            return filter_log_events(response)
        names = [name for name in group.streams if name.startswith(prefix)]
        if not names:
            return json.dumps({"events": [], "searchedLogStreams": []})
        given = response._get_param
        period, page = (given("startTime"), given("endTime")), (given("limit"), given("nextToken"))
        events, token, searched = group.filter_log_events(
            group.name, names, *period, *page, filter_pattern=given("filterPattern"), interleaved=True
        )
        return json.dumps({"events": events, "nextToken": token, "searchedLogStreams": searched})

    replace(LogsResponse, "filter_log_events", by_prefix)
