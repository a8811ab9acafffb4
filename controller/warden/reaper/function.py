"""The Lambda function of `terraform/modules/reaper`: it reaps one cluster, on a schedule."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from .found import FoundCluster, Region
from .reaping import Judged, Reaper


class ReapingError(Exception):
    """Something that should have ended goes on. Lambda counts it as an error, which an alarm can tell."""


def handler(event: Mapping[str, Any], context: object) -> dict[str, Any]:
    """Ends the cluster that CENTAVO_CLUSTER names if it has outlived its lease.

    Args:
        event: What the schedule sends; nothing of it is used.
        context: Lambda's; nothing of it is used.

    Returns:
        What was done, for the log.

    Raises:
        ReapingError: Something could not be read or ended. The next call of the schedule tries it again.
    """
    cluster, bucket = os.environ["CENTAVO_CLUSTER"], os.environ["CENTAVO_BUCKET"]
    region = Region(os.environ["AWS_REGION"], print)
    groups = region.groups.all(cluster)
    there = FoundCluster(cluster, region.name, (bucket,), tuple(region.things(cluster, groups)), tuple(groups))
    reaper = Reaper(region, print)
    judged = reaper.end(reaper.judge(there))
    print(f"{cluster}: {judged.reason}")
    if judged.failed:
        raise ReapingError(f"{cluster}: {'; '.join(judged.failed)}")
    return _document(judged)


def _document(judged: Judged) -> dict[str, Any]:
    return {"cluster": judged.cluster.name, "reason": judged.reason, "ended": list(judged.ends)}
