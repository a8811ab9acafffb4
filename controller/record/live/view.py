"""A run at a glance, for a terminal of 80 columns: what is known of it, gathered step by step, and how that is drawn.

The live view of `centavo optimize` and `centavo watch` draw the same `RunView`; the one is told by the loop, the other
reads the journal.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from rich.console import Console, ConsoleOptions, Group, RenderableType, RenderResult
from rich.constrain import Constrain
from rich.progress_bar import ProgressBar
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from controller.domain import SECONDS_PER_HOUR, Decision, FlavorEstimate, Fleet, Move, MovePhase, Verdict
from controller.record.journal.summary import MICRO, Summary
from controller.words.reasons import reason_in_words

KEPT_DECISIONS = 4
KEPT_NOTES = 4
KEPT_STEPS = 5
KEPT_LOOKS = 30
"""Looks that the spread of the compute times is over."""
BAR_WIDTH = 30
MOST_COLUMNS = 120
"""A wider terminal would only part the numbers from their names."""
PHASES = (MovePhase.PROPOSED, MovePhase.GROWING, MovePhase.JOINING, MovePhase.SHRINKING, MovePhase.DONE)
VERBS = {Verdict.MOVE: "move", Verdict.STAY: "stay", Verdict.REFUSE: "no move"}
COLOURS = {Verdict.MOVE: "green", Verdict.STAY: "default", Verdict.REFUSE: "yellow"}
TITLE_COLUMNS = 80


@dataclass(frozen=True)
class Detail:
    """How much of a run is drawn."""

    flavors: int
    """Rows of the fleet's table."""
    steps: int
    """Of the last move."""
    decisions: int
    notes: int
    is_wrapped: bool = True
    """Whether what is too long goes on in the next line, or is cut."""
    has_ended_move: bool = True


DETAILS = (
    Detail(24, KEPT_STEPS, KEPT_DECISIONS, KEPT_NOTES),
    Detail(16, KEPT_STEPS, 3, 1),
    Detail(12, 3, 2, 1),
    Detail(12, 2, 1, 0),
    Detail(12, 2, 2, 1, is_wrapped=False),
    Detail(9, 2, 1, 0, is_wrapped=False),
    Detail(6, 1, 1, 0, is_wrapped=False),
    Detail(6, 1, 1, 0, is_wrapped=False, has_ended_move=False),
    Detail(2, 1, 1, 0, is_wrapped=False, has_ended_move=False),
)
"""From all that there is to what has room on a terminal of 24 lines, and on less than that."""


@dataclass
class SpokenDecision:
    """Decisions in a row that say the same."""

    verdict: Verdict
    reason: str
    at: float
    times: int = 1


@dataclass
class RunView:
    """What is known of a run now. Written by one thread, drawn by another: every change replaces a value as a whole."""

    run: str
    environment: str
    policy: str
    started_at: float
    initial: Fleet
    usd_per_hour: Mapping[str, float]
    status: str = "running"
    status_reason: str | None = None
    ended_at: float | None = None
    now: Summary | None = None
    trained: Summary | None = None
    """The last summary in which ranks trained: what is shown while a move makes them pause."""
    recent: deque[Summary] = field(default_factory=lambda: deque(maxlen=KEPT_LOOKS))
    spent_usd: float = 0.0
    first_usd_per_million: float | None = None
    """Measured on the first fleet, workers alone."""
    first_running_usd_per_million: float | None = None
    """The same, head included."""
    began: Summary | None = None
    """The first look that saw a step."""
    trained_usd: float = 0.0
    """Spent since then."""
    flavors: Mapping[str, FlavorEstimate] = field(default_factory=dict)
    decision: Decision | None = None
    move: Move | None = None
    steps: tuple[tuple[float, MovePhase, str], ...] = ()
    """Of the last move."""
    decisions: deque[SpokenDecision] = field(default_factory=lambda: deque(maxlen=KEPT_DECISIONS))
    notes: deque[tuple[float, str]] = field(default_factory=lambda: deque(maxlen=KEPT_NOTES))

    def see(self, summary: Summary, spent_usd: float) -> None:
        """A look at the fleet."""
        if self.began is not None and self.now is not None:
            self.trained_usd += (summary.at - self.now.at) * self.now.usd_per_hour / SECONDS_PER_HOUR
        elif summary.step:
            self.began = summary
        self.now, self.spent_usd = summary, spent_usd
        self.recent.append(summary)
        if summary.ranks:
            self.trained = summary
        if summary.fleet == self.initial and (cost := self.fleet_cost(summary)) is not None:
            self.first_usd_per_million = cost
            self.first_running_usd_per_million = summary.usd_per_million_tokens(summary.usd_per_hour)

    def decide(self, decision: Decision) -> None:
        """A decision."""
        self.decision = decision
        self.flavors = {estimate.flavor: estimate for estimate in decision.flavors} or self.flavors
        reason = _shortened(reason_in_words(decision.reason), (decision.current, decision.target))
        last = self.decisions[-1] if self.decisions else None
        if last is not None and (last.verdict, last.reason) == (decision.verdict, reason):
            self.decisions[-1] = SpokenDecision(last.verdict, last.reason, decision.at, last.times + 1)
        else:
            self.decisions.append(SpokenDecision(decision.verdict, reason, decision.at))

    def step(self, at: float, move: Move, note: str) -> None:
        """A step of a move."""
        earlier = self.steps if self.move is not None and self.move.move_id == move.move_id else ()
        told = _shortened(note, (move.source.union(move.target), move.source, move.target))
        self.steps = (*earlier, (at, move.phase, told))[-KEPT_STEPS:]
        self.move = move

    def note(self, at: float, message: str) -> None:
        """Something that a person wants to know."""
        self.notes.append((at, message))

    def fleet_cost(self, summary: Summary) -> float | None:
        """Dollars per million tokens of the workers, as measured."""
        if any(flavor not in self.usd_per_hour for flavor in summary.fleet.present):
            return None
        return summary.usd_per_million_tokens(summary.fleet.usd_per_hour(self.usd_per_hour))

    @property
    def remaining_s(self) -> float | None:
        """Until the training ends, as it goes now."""
        seen = self.trained
        if seen is None or seen.iteration_time_s is None or not seen.total_steps or seen.step is None:
            return None
        return max(0, seen.total_steps - seen.step) * seen.iteration_time_s

    @property
    def expected_usd(self) -> float | None:
        """What the run will have cost at its end, if nothing moves any more; None while a move pays two."""
        if self.now is None or self.remaining_s is None or self.is_moving:
            return None
        return self.spent_usd + self.remaining_s * self.now.usd_per_hour / SECONDS_PER_HOUR

    @property
    def saved_usd(self) -> float | None:
        """What the tokens trained so far would have cost more on the first fleet, head included."""
        if self.began is None or self.trained is None or self.first_running_usd_per_million is None:
            return None
        tokens = (self.trained.total_tokens or 0) - (self.began.total_tokens or 0)
        return self.first_running_usd_per_million * tokens / MICRO - self.trained_usd

    @property
    def still_saved_usd(self) -> float | None:
        """What the rest would cost more on the first fleet than on this one, head included; None in a move."""
        seen, remaining_s = self.trained, self.remaining_s
        if self.first_running_usd_per_million is None or seen is None or remaining_s is None or self.is_moving:
            return None
        cost = seen.usd_per_million_tokens(seen.usd_per_hour)
        if cost is None or seen.tokens_per_s is None:
            return None
        return (self.first_running_usd_per_million - cost) * seen.tokens_per_s * remaining_s / MICRO

    @property
    def is_moving(self) -> bool:
        """Whether a move is under way."""
        return self.move is not None and not self.move.phase.is_final


def render(view: RunView, now: float, detail: Detail = DETAILS[0]) -> RenderableType:
    """The view as it is drawn; 80 columns are enough."""
    parts: list[RenderableType] = [_head(view, now), _fleet(view, detail.flavors), _training(view), _money(view)]
    if view.move is not None and (detail.has_ended_move or view.is_moving):
        parts.append(_move(view, view.move, detail))
    parts.append(_decisions(view, detail))
    if view.notes and (detail.notes or view.now is None):
        parts.append(_notes(view, max(1, detail.notes)))
    return Constrain(Group(*parts), MOST_COLUMNS)


class Drawing:
    """The view as it is at each refresh, with as much detail as the terminal has lines for."""

    def __init__(self, view: RunView, now: Callable[[], float]) -> None:
        self._view, self._now = view, now

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        now = self._now()
        for detail in DETAILS:
            drawn = render(self._view, now, detail)
            if len(console.render_lines(drawn, options, pad=False)) < console.size.height:
                break
        yield drawn


def _head(view: RunView, now: float) -> RenderableType:
    text = Text.assemble(
        ("Centavo ", "bold"), f"run {view.run} · {view.environment} · {view.policy}", overflow="ellipsis", no_wrap=True
    )
    state = f"{view.status}, {span((view.ended_at or now) - view.started_at)}"
    grid = Table.grid(expand=True)
    grid.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
    grid.add_column(justify="right", no_wrap=True)
    grid.add_row(text, Text(state, style="bold red" if view.status in ("failed", "interrupted") else "bold"))
    return Group(grid, Text(view.status_reason, style="red")) if view.status_reason else grid


def _fleet(view: RunView, most: int) -> RenderableType:
    table = Table(box=None, padding=(0, 1, 0, 0), expand=True, show_edge=False, header_style="dim")
    table.add_column("flavor", no_wrap=True, ratio=1)
    for heading in ("nodes", "$/h each", "compute, ms (80 %)", "tokens/s", "$/M tokens"):
        table.add_column(heading, justify="right", no_wrap=True)
    fleet, target = view.now.fleet if view.now else Fleet({}), view.move.target if view.is_moving and view.move else {}
    names = sorted(
        {*view.initial.present, *fleet.present, *target, *view.flavors},
        key=lambda name: (_cost(view.flavors.get(name)), name),
    )
    used = [name for name in names if fleet.count(name) or name in target]
    shown = {*[*used, *(name for name in names if name not in used)][:most]}
    for flavor in names:
        if flavor in shown:
            _add_flavor(table, view, flavor, fleet.count(flavor))
    if len(names) > len(shown):
        table.add_row(f"and {len(names) - len(shown)} more", style="dim")
    return table


def _add_flavor(table: Table, view: RunView, flavor: str, count: int) -> None:
    estimate = view.flavors.get(flavor)
    price = estimate.usd_per_hour if estimate else None
    compute = _compute(view, flavor)
    if compute is None and estimate is not None and estimate.compute_time_s is not None:
        compute = f"{1e3 * estimate.compute_time_s:.0f}"
    going = view.move.target.count(flavor) - count if view.move and view.is_moving else 0
    nodes = f"{count or '-'}" + (f" {going:+d}" if going else "")
    table.add_row(
        flavor,
        nodes,
        number(price if price is not None else view.usd_per_hour.get(flavor), 4),
        compute or "-",
        number(estimate.tokens_per_s if estimate else None, 0),
        number(estimate.usd_per_million_tokens if estimate else None, 4),
        style="" if count or going > 0 else "dim",
    )


def _compute(view: RunView, flavor: str) -> str | None:
    """Median compute time of a step over the flavor's ranks in the last looks, and between what 80 % of them lie."""
    looks = [summary.flavors[flavor] for summary in list(view.recent) if flavor in summary.flavors]
    if not looks:
        return None
    ordered = sorted(1e3 * value for times in looks for value in times.compute_time_s)
    last = len(ordered) - 1
    low, middle, high = (ordered[round(last * share)] for share in (0.1, 0.5, 0.9))
    return f"{middle:.0f} ({low:.0f}-{high:.0f})"


def _training(view: RunView) -> RenderableType:
    seen = view.trained
    rule = Rule("training", align="left", style="dim")
    if seen is None or seen.step is None:
        return Group(rule, Text("no step has been seen yet", style="dim"))
    line = Table.grid(padding=(0, 1, 0, 0))
    line.add_row(
        ProgressBar(
            total=seen.total_steps or 1,
            completed=seen.step,
            width=BAR_WIDTH,
            complete_style="green",
            finished_style="green",
        ),
        f"step {seen.step:,} of {seen.total_steps:,}" if seen.total_steps else f"step {seen.step:,}",
        f"· {span(view.remaining_s)} to go" if view.remaining_s is not None and view.status == "running" else "",
    )
    parts = [
        f"loss {number(seen.loss, 3)}",
        f"{number(seen.tokens_per_s, 0)} tokens/s",
        f"{number(seen.iteration_time_s, 3)} s a step",
    ]
    now = view.now
    if now is not None and view.status == "running":
        parts.append(f"{now.ranks} ranks train" + (f", {now.unknown} unknown" if now.unknown else ""))
    return Group(rule, line, Text(" · ".join(parts)))


def _money(view: RunView) -> RenderableType:
    spent = f"spent {_usd(view.spent_usd)}"
    if view.status == "running" and view.expected_usd is not None:
        spent += f" · expected {_usd(view.expected_usd)} in all"
    lines = [spent]
    if view.move is not None and view.saved_usd is not None:
        saved = f"{'saved' if view.saved_usd >= 0 else 'lost'} {_usd(abs(view.saved_usd))}"
        if view.status == "running":
            saved += " so far"
            still = view.still_saved_usd
            if still is not None:
                saved += f", {'saves' if still >= 0 else 'loses'} {_usd(abs(still))} on the rest"
        lines.append(f"against the first fleet: {saved}")
    cost = view.fleet_cost(view.trained) if view.trained else None
    if cost is not None:
        first = view.first_usd_per_million
        on_first = f", on the first fleet {first:.4f}" if first is not None else ""
        lines.append(f"workers alone: {cost:.4f} $/M tokens{on_first}")
    return Group(Rule("money", align="left", style="dim"), *(Text(line) for line in lines))


def _usd(usd: float) -> str:
    return f"{usd:,.4f} $" if usd < 100 else f"{usd:,.2f} $"


def _move(view: RunView, move: Move, detail: Detail) -> RenderableType:
    title = f"{brief(move.source)} -> {brief(move.target)}"
    if len(title) > TITLE_COLUMNS:
        title = f"{short(move.source)} -> {short(move.target)}"
    path = Text()
    reached = PHASES.index(move.phase) if move.phase in PHASES else None
    for index, phase in enumerate(PHASES):
        style = (
            "dim"
            if reached is None or index > reached
            else "green"
            if index < reached or move.phase.is_final
            else "bold"
        )
        path.append((" > " if index else "") + phase.value, style=style)
    if reached is None:
        path.append(f"   {move.phase.value.replace('_', ' ')}", style="bold red")
    elif move.outcome_reason and not move.phase.is_final:
        path.append("   rolling back", style="bold red")
    grid = Table.grid(padding=(0, 1, 0, 0))
    for at, _, note in view.steps[-detail.steps :]:
        grid.add_row(Text(clock(at), style="dim"), _text(note, detail))
    return Group(
        Rule(Text(f"move {move.move_id}" + ("" if move.phase.is_final else ", under way")), align="left", style="dim"),
        _text(title, detail),
        path,
        grid,
    )


def _text(text: str, detail: Detail) -> Text:
    return Text(text) if detail.is_wrapped else Text(text, no_wrap=True, overflow="ellipsis")


def _decisions(view: RunView, detail: Detail) -> RenderableType:
    rule = Rule("decisions", align="left", style="dim")
    if not view.decisions:
        return Group(rule, Text("none yet", style="dim"))
    grid = Table.grid(padding=(0, 1, 0, 0))
    for spoken in list(view.decisions)[-detail.decisions :]:
        times = f"(x {spoken.times}) " if spoken.times > 1 else ""
        grid.add_row(
            Text(clock(spoken.at), style="dim"),
            Text(VERBS[spoken.verdict], style=COLOURS[spoken.verdict]),
            _text(times + spoken.reason, detail),
        )
    return Group(rule, grid)


def _notes(view: RunView, most: int) -> RenderableType:
    grid = Table.grid(padding=(0, 1, 0, 0))
    for at, message in list(view.notes)[-most:]:
        grid.add_row(Text(clock(at), style="dim"), Text(message))
    return Group(Rule("notes", align="left", style="dim"), grid)


def _cost(estimate: FlavorEstimate | None) -> float:
    cost = estimate.usd_per_million_tokens if estimate else None
    return float("inf") if cost is None else cost


def brief(fleet: Fleet) -> str:
    """A fleet in words; one with as many nodes of each of several flavors says that number once."""
    counts = set(fleet.present.values())
    if len(fleet.present) > 2 and len(counts) == 1:
        return f"{counts.pop()} each of {', '.join(fleet.present)}"
    return str(fleet)


def short(fleet: Fleet) -> str:
    """A fleet in few letters: its flavors are counted where there are more than two."""
    present = fleet.present
    return str(fleet) if len(present) <= 2 else f"{fleet.size} nodes of {len(present)} flavors"


def _shortened(text: str, fleets: Iterable[Fleet]) -> str:
    """The text with these fleets in few letters, so that what is said of them has room in a line."""
    for fleet in fleets:
        text = text.replace(str(fleet), short(fleet)) if fleet.present else text
    return text


def number(value: float | None, digits: int) -> str:
    """A number with separators; a dash where it is not known."""
    return "-" if value is None else f"{value:,.{digits}f}"


def span(seconds: float | None) -> str:
    """A duration, short."""
    if seconds is None:
        return "-"
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s" if minutes else f"{rest} s"


def clock(at: float) -> str:
    """The local time of day."""
    return f"{datetime.fromtimestamp(at):%H:%M:%S}"
