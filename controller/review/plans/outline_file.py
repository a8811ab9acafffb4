"""The file that carries the outline of a reviewed plan to where the plan is made again.

Anybody may have written such a file, the code of a pull request for one. It is checked, and it gives no permission: it
is only compared with a plan that was made here.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

from pydantic import TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from controller.domain.errors import CentavoError
from controller.edges.files import write_whole
from controller.review.plans.plan_outline import STRICT, ChangeOutline, Digest, Line, PlanOutline

MAX_BYTES = 20_000_000
"""A larger file is not read. The outline of a plan with 10,000 resources has about 10 MB."""


class OutlineError(CentavoError):
    """The file is not the outline of a plan of this environment, or it was altered."""


@dataclass(frozen=True, config=STRICT)
class _Stored:
    environment: Line
    fingerprint: Digest
    changes: tuple[ChangeOutline, ...]
    outputs: dict[Line, Line]


_STORED = TypeAdapter(_Stored)
_AGAIN = "Review again with `centavo review --outline FILE`."


def write_outline(file: Path, environment: str, outline: PlanOutline) -> None:
    """Writes the outline of an environment's plan as JSON (`plan_outline.schema.json`)."""
    document = {"environment": environment, "fingerprint": outline.fingerprint, **asdict(outline)}
    write_whole(file, json.dumps(document, indent=1, sort_keys=True) + "\n")


def read_outline(file: Path, environment: str) -> PlanOutline:
    """Returns the outline in a file.

    Raises:
        OutlineError: There is no such file, it is no outline, its fingerprint is not that of the changes in it, or it
            belongs to another environment.
    """
    try:
        with file.open("rb") as opened:
            content = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise OutlineError(f"The reviewed outline {file} can't be read: {error.strerror}.", _AGAIN) from error
    if len(content) > MAX_BYTES:
        raise OutlineError(f"{file} has more than {MAX_BYTES:,} bytes, which no outline of a plan has.", _AGAIN)
    try:
        stored = _STORED.validate_json(content)
    except ValidationError as error:
        raise OutlineError(f"{file} is not the outline of a plan: {_first(error)}.", _AGAIN) from error
    outline = PlanOutline(stored.changes, stored.outputs)
    if outline.fingerprint != stored.fingerprint:
        raise OutlineError(f"{file} was altered: its fingerprint is not that of the changes in it.", _AGAIN)
    if stored.environment != environment:
        raise OutlineError(f"{file} is for the environment {stored.environment}, not for {environment}.", _AGAIN)
    return outline


def _first(error: ValidationError) -> str:
    """Returns what is wrong first, without the wrong value and without control characters."""
    first = error.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(str(part)[:40] for part in first["loc"][:4])
    return ascii(f"{where}: {first['msg']}" if where else first["msg"])[1:-1][:200]
