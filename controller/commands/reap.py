"""`centavo reap`: ends the clusters that have outlived their lease, over regions."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from controller.commands.context import Context
from controller.commands.shared.command import Command
from controller.domain.errors import AwsError
from controller.edges.aws import speak
from controller.warden.reaper.found import Region, Thing
from controller.warden.reaper.reaping import Judged, Reaper
from controller.words.numbers import UNKNOWN, duration

SOMETHING_WOULD_END = 2
"""The exit code of `--dry-run` where something would be ended."""
HEADINGS = ("cluster", "region", "what", "name", "state", "age", "")


def add_options(parser: argparse.ArgumentParser) -> None:
    """Adds what is looked at, and whether anything is ended."""
    parser.add_argument("--dry-run", action="store_true", help="end nothing, and tell what would be ended; exit code 2")
    parser.add_argument(
        "--region",
        action="append",
        metavar="REGION",
        help="a region to look at, may be repeated (default: centavo.yml's)",
    )
    parser.add_argument("--cluster", metavar="NAME", help="look at this cluster only")
    parser.add_argument("--json", action="store_true", help="as JSON")


def reap(context: Context, options: argparse.Namespace) -> int:
    """Ends what has outlived its lease, and tells of all clusters why they are ended or left alone.

    Raises:
        AwsError: A region can't be looked at, a lease can't be read, or something was not ended.
    """
    regions = list(dict.fromkeys(options.region or [context.environment.settings.aws.region]))
    judged = [one for region in regions for one in _reaped(region, options.cluster, only_judge=options.dry_run)]
    if options.json:
        print(json.dumps([_document(one, only_judge=options.dry_run) for one in judged], indent=2))
    else:
        _print(judged, regions, only_judge=options.dry_run)
    _check(judged)
    return SOMETHING_WOULD_END if options.dry_run and any(one.ends for one in judged) else 0


def _reaped(name: str, cluster: str | None, *, only_judge: bool) -> Iterator[Judged]:
    """Yields the clusters of a region as they were judged and, unless they are only judged, ended."""
    region = Region(name, lambda message: print(message, file=sys.stderr))
    reaper = Reaper(region, lambda message: print(message, file=sys.stderr))
    for found in speak(f"tell the clusters in {name}", lambda: region.clusters(cluster)):
        judged = reaper.judge(found)
        yield judged if only_judge else reaper.end(judged)


def _check(judged: Sequence[Judged]) -> None:
    """Raises AwsError where something could not be read or ended."""
    failed = [f"{one.cluster.name}: {problem}" for one in judged for problem in one.failed]
    if failed:
        raise AwsError(
            "Not everything could be judged or ended:\n" + "\n".join(f"  {line}" for line in failed),
            "Call `centavo reap` again when the cause is gone. `centavo destroy` removes a cluster whole.",
        )


def _print(judged: Sequence[Judged], regions: Sequence[str], *, only_judge: bool) -> None:
    if not judged:
        print(f"No cluster is there in {', '.join(regions)}.")
        return
    rows = [HEADINGS, *(_row(one, thing, only_judge) for one in judged for thing in one.cluster.things)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEADINGS))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    print()
    for one in judged:
        print(f"{one.cluster.name}: {one.reason}")


def _row(judged: Judged, thing: Thing, only_judge: bool) -> tuple[str, ...]:
    age = UNKNOWN if thing.age_s is None else duration(thing.age_s)
    return (
        thing.cluster,
        judged.cluster.region,
        thing.kind,
        thing.name,
        thing.state,
        age,
        _fate(judged, thing, only_judge),
    )


def _fate(judged: Judged, thing: Thing, only_judge: bool) -> str:
    if thing.name in judged.ends:
        return "would be ended" if only_judge else "ended"
    return "stays; `centavo destroy` removes it" if judged.verdict.fires else "stays"


def _document(judged: Judged, *, only_judge: bool) -> dict[str, Any]:
    lease = judged.look.lease
    return {
        "cluster": judged.cluster.name,
        "region": judged.cluster.region,
        "buckets": list(judged.cluster.buckets),
        "lease": judged.look.standing.value,
        "lease_age_s": None if lease is None else round(judged.look.age_s),
        "holder": None if lease is None else lease.holder,
        "run": None if lease is None else lease.run,
        "reason": judged.reason,
        "would_end" if only_judge else "ended": list(judged.ends),
        "failed": list(judged.failed),
        "things": [
            {
                "kind": thing.kind,
                "name": thing.name,
                "state": thing.state,
                "age_s": None if thing.age_s is None else round(thing.age_s),
            }
            for thing in judged.cluster.things
        ],
    }


COMMAND = Command("reap", "end the clusters that have outlived their lease, over regions", reap, add_options)
