"""Changes the controller's code in small ways, one at a time, and shows which changes no test notices.

    python -m tests.mutants [ROOM ...] [--minutes N] [--again]

mutmut makes the mutants and runs the tests that belong to the room (`rooms.py`) in forks of one process. A run that was
stopped goes on where it was. The result is `runs/bench/mutants.json`. The exit status is 1 unless 95 % are caught and
each survivor is in `equivalent.yml` with the reason why it changes nothing.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table

from tests.mutants.rooms import ROOMS, Room
from tests.mutants.survivors import Equivalent, Survivor, read_equivalent, survivors
from tests.mutants.workspace import ROOT, Workspace

OUTPUT = ROOT / "runs" / "bench" / "mutants.json"
WANTED_SHARE = 0.95
MINUTES = 60.0


@dataclass(frozen=True)
class Outcome:
    """What came of one room. `mutants` are those that were tried; `untried` are left for the next run.

    `seconds` counts all runs that it took.
    """

    room: str
    mutants: int
    untried: int
    survivors: tuple[Survivor, ...]
    seconds: float

    @property
    def caught(self) -> int:
        """How many mutants a test has noticed, or has hung on until its time limit."""
        return self.mutants - len(self.survivors)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the rooms and returns the exit status."""
    parser = argparse.ArgumentParser(prog="tests.mutants", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("rooms", nargs="*", choices=[[], *(room.name for room in ROOMS)], help="default: all")
    parser.add_argument(
        "--minutes",
        type=float,
        default=MINUTES,
        help="stop after this time (default: %(default)g); 0: only show what is known",
    )
    parser.add_argument("--again", action="store_true", help="keep what was caught, and try the survivors again")
    options = parser.parse_args(arguments)
    rooms = [room for room in ROOMS if not options.rooms or room.name in options.rooms]
    end = time.monotonic() + 60 * options.minutes
    outcomes = [try_room(room, options.again, end) for room in rooms]
    known = read_equivalent()
    write(outcomes, known)
    return show(outcomes, known)


def try_room(room: Room, again: bool, end: float) -> Outcome:
    """Tries the mutants of a room until a time of the monotonic clock."""
    began = time.monotonic()
    workspace = Workspace(room)
    workspace.prepare(keep=again or end <= began)
    if end > began:
        if again:
            workspace.forget_survivors()
        print(f"{room.name}: mutating {', '.join(room.files)}, with {', '.join(room.tests)}", flush=True)
        workspace.run(end - began)
    codes = [code for by_name in workspace.results().values() for code in by_name.values()]
    untried = sum(code is None or code == 2 for code in codes)
    return Outcome(room.name, len(codes) - untried, untried, tuple(survivors(workspace)), workspace.seconds())


def write(outcomes: Sequence[Outcome], known: Sequence[Equivalent]) -> None:
    """Writes the result as JSON."""
    document = {
        "mutants": sum(outcome.mutants for outcome in outcomes),
        "caught": sum(outcome.caught for outcome in outcomes),
        "untried": sum(outcome.untried for outcome in outcomes),
        "survivors": [
            {**asdict(survivor), "equivalent": why(survivor, known)}
            for outcome in outcomes
            for survivor in outcome.survivors
        ],
        "rooms": {
            outcome.room: {
                "mutants": outcome.mutants,
                "caught": outcome.caught,
                "untried": outcome.untried,
                "seconds": outcome.seconds,
            }
            for outcome in outcomes
        },
        "not_mutated": "decorated functions (properties among them), code outside of functions, and wording for people",
    }
    OUTPUT.parent.mkdir(parents=True, exist_ok=True)
    OUTPUT.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


def why(survivor: Survivor, known: Sequence[Equivalent]) -> str | None:
    """Returns why a survivor changes nothing; None if nobody has said so."""
    return next((one.why for one in known if one.is_meant(survivor)), None)


def show(outcomes: Sequence[Outcome], known: Sequence[Equivalent]) -> int:
    """Prints a table and the survivors that nobody has explained. Returns the exit status."""
    console = Console(width=None if sys.stdout.isatty() else 130)
    table = Table("room", "mutants", "caught", "share", "survivors", "of them explained", "not tried", "seconds")
    is_good = True
    for outcome in outcomes:
        explained = [survivor for survivor in outcome.survivors if why(survivor, known) is not None]
        share = outcome.caught / outcome.mutants if outcome.mutants else 0.0
        is_good &= share >= WANTED_SHARE and len(explained) == len(outcome.survivors) and not outcome.untried
        counts = (len(outcome.survivors), len(explained), outcome.untried, round(outcome.seconds))
        table.add_row(outcome.room, str(outcome.mutants), str(outcome.caught), f"{share:.1%}", *map(str, counts))
    for outcome in outcomes:
        for survivor in outcome.survivors:
            if why(survivor, known) is None:
                untested = "" if survivor.is_run else "  (no test of the room runs it)"
                print(f"\n{survivor.file}:{survivor.line}{untested}\n{survivor.diff}")
    console.print(table)
    print(
        f"Not mutated: decorated functions, code outside of functions, wording for people. {OUTPUT.relative_to(ROOT)}"
    )
    if any(outcome.untried for outcome in outcomes):
        print("The time was up before all mutants were tried. The same command goes on from here.")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main())
