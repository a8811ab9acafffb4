"""What must hold after the storm."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from typing import Any

import yaml

from tests.faults.storm_view import look
from tests.support.planned import planned_tokens
from tests.support.sandbox import Sandbox

Check = tuple[str, bool, Any]
FAULTS_OF_NODES = ("lost", "frozen", "rebooted")
BOOT_S = 120.0
SLACK = 0.1


@dataclass(frozen=True)
class Ended:
    """How a storm went.

    Attributes:
        code: The exit code of the last controller; None where it had to be stopped.
        kills_left: The kills that the job was too short for.
        own_ends: The exit codes of controllers that nobody killed.
        faults: The faults of nodes, in their order.
        agreed_at: When all agreed for the last time after a fault, in seconds; None: never.
        seen_lost: How many steps ranks went back, as their facts showed it.
        usd: What localcloud's instances cost, seen from outside.
    """

    code: int | None
    kills_left: int
    own_ends: Sequence[int]
    faults: Sequence[str]
    agreed_at: float | None
    seen_lost: int
    usd: float


def checks(sandbox: Sandbox, listening: Sequence[str], ended: Ended, steps: int) -> Iterator[Check]:
    """Yields each check: what must hold, whether it does, and what was seen. Removes everything at the end."""
    yield "it was a whole storm", ended.kills_left == 0 and tuple(ended.faults) == FAULTS_OF_NODES, ended.faults
    yield "the controller ended by itself, and only at the end", list(ended.own_ends) == [0], list(ended.own_ends)
    yield from _training(sandbox, ended, steps)
    yield from _agreement(sandbox, ended)
    addresses = sorted({line.split()[3].rpartition(":")[0] for line in listening})
    is_loopback = bool(addresses) and all(address.startswith("127.") for address in addresses)
    yield "everything listened on loopback", is_loopback, ", ".join(addresses)
    yield from _removal(sandbox)


def _training(sandbox: Sandbox, ended: Ended, steps: int) -> Iterator[Check]:
    results = sandbox.root / "runs" / "latest" / "results"
    scores = json.loads((results / "scores.json").read_text()) if (results / "scores.json").exists() else {}
    report = sandbox.report
    yield "the training finished", report["status"] == "finished", report["status"]
    yield "every step was made", scores.get("steps") == steps, scores.get("steps")
    config = sandbox.environment / "training.yml"
    planned = planned_tokens(config, sandbox.root / "cache", steps)
    yield "every sample counted once", scores.get("tokens") == planned, f"{scores.get('tokens')} tokens of {planned}"
    interval = yaml.safe_load(config.read_text())["checkpoint"]["every_steps"]
    most, lost = interval * len(ended.faults), scores.get("steps_lost")
    is_kept = ended.seen_lost <= most and (lost is None or lost <= most)
    yield f"at most {interval} steps lost for each fault", is_kept, f"{lost} by the scores, {ended.seen_lost} by facts"
    digests = scores.get("parameters_sha256") or {}
    are_equal = bool(digests) and len(set(digests.values())) == 1
    yield "the parameters of all ranks are identical", are_equal, f"{len(digests)} ranks"
    names = {path.name for path in results.iterdir()} if results.exists() else set()
    wanted = {"model.params", "model.json", "vocabulary", "train.log", "scores.json"}
    yield "the results are complete", wanted <= names, ", ".join(sorted(names))


def _agreement(sandbox: Sandbox, ended: Ended) -> Iterator[Check]:
    said = "never" if ended.agreed_at is None else f"last after {ended.agreed_at:.0f} s"
    yield "journal, hosts file, groups and ranks agreed after the faults", ended.agreed_at is not None, said
    view, values = look(sandbox), look(sandbox).values
    is_ended = (values.get("stage"), values.get("status")) == ("ended", "finished") and not view.is_moving
    yield "the journal says that it ended", is_ended, f"{values.get('stage')}, {values.get('status')}"
    is_given_back = not view.workers and view.desired == view.capacity == 0
    seen = f"{len(view.workers)} workers, groups {view.desired}, capacity file {view.capacity}"
    yield "everything was given back", is_given_back, seen
    planned = _code(sandbox, "plan")
    yield "Terraform's state agrees: a plan changes nothing", planned == 0, planned
    spent = sandbox.report["cost"]["spent_usd"]
    is_close = abs(spent - ended.usd) <= SLACK * ended.usd + BOOT_S * 0.34 / 3600
    yield "spent is what localcloud's instances cost", is_close, f"${spent:.4f} in the report, ${ended.usd:.4f} seen"


def _removal(sandbox: Sandbox) -> Iterator[Check]:
    removed = _code(sandbox, "destroy")
    yield "destroy succeeds", removed == 0, removed
    sandbox.localcloud("down")
    left = sandbox.processes()
    yield "no process is left", not left, list(left.values()) or "none"


def _code(sandbox: Sandbox, command: str) -> int:
    """Runs a command of the controller without its output. Returns its exit code."""
    with redirect_stdout(StringIO()):
        return sandbox.centavo(command).returncode
