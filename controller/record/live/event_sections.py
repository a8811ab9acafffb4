"""What has happened in a run, in the live view: the last move, the last decisions, the last notes."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from controller.domain import Move, MovePhase, Verdict
from controller.record.live.detail import Detail
from controller.record.live.run_view import RunView
from controller.words.fleets import brief, short
from controller.words.times import clock
from controller.words.verdicts import VERBS

PHASES = (MovePhase.PROPOSED, MovePhase.GROWING, MovePhase.JOINING, MovePhase.SHRINKING, MovePhase.DONE)
COLOURS = {Verdict.MOVE: "green", Verdict.STAY: "default", Verdict.REFUSE: "yellow"}
TITLE_COLUMNS = 80


def move_section(view: RunView, move: Move, detail: Detail) -> RenderableType:
    """Returns a move with its phases and its last steps."""
    title = f"{brief(move.source)} -> {brief(move.target)}"
    if len(title) > TITLE_COLUMNS:
        title = f"{short(move.source)} -> {short(move.target)}"
    grid = Table.grid(padding=(0, 1, 0, 0))
    for at, _, note in view.steps[-detail.steps :]:
        grid.add_row(Text(clock(at), style="dim"), detail.text(note))
    heading = f"move {move.move_id}" + ("" if move.phase.is_final else ", under way")
    return Group(Rule(Text(heading), align="left", style="dim"), detail.text(title), _path(move), grid)


def _path(move: Move) -> Text:
    """Returns the phases of a move, those behind it in green."""
    path = Text()
    reached = PHASES.index(move.phase) if move.phase in PHASES else None
    for index, phase in enumerate(PHASES):
        path.append((" > " if index else "") + phase.value, style=_style(move, index, reached))
    if reached is None:
        path.append(f"   {move.phase.value.replace('_', ' ')}", style="bold red")
    elif move.outcome_reason and not move.phase.is_final:
        path.append("   rolling back", style="bold red")
    return path


def _style(move: Move, index: int, reached: int | None) -> str:
    if reached is None or index > reached:
        return "dim"
    return "green" if index < reached or move.phase.is_final else "bold"


def decisions_section(view: RunView, detail: Detail) -> RenderableType:
    """Returns the last decisions; those in a row that say the same are one line."""
    rule = Rule("decisions", align="left", style="dim")
    if not view.decisions:
        return Group(rule, Text("none yet", style="dim"))
    grid = Table.grid(padding=(0, 1, 0, 0))
    for repeated in list(view.decisions)[-detail.decisions :]:
        times = f"(x {repeated.times}) " if repeated.times > 1 else ""
        grid.add_row(
            Text(clock(repeated.at), style="dim"),
            Text(VERBS[repeated.verdict], style=COLOURS[repeated.verdict]),
            detail.text(times + repeated.reason),
        )
    return Group(rule, grid)


def notes_section(view: RunView, most: int) -> RenderableType:
    """Returns the last notes."""
    grid = Table.grid(padding=(0, 1, 0, 0))
    for at, message in list(view.notes)[-most:]:
        grid.add_row(Text(clock(at), style="dim"), Text(message))
    return Group(Rule("notes", align="left", style="dim"), grid)
