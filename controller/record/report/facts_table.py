"""The table of `centavo facts`: what every node says of itself."""

from __future__ import annotations

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from controller.domain import Fact, Observation
from controller.words.numbers import BLANK, cell, milliseconds
from controller.words.reasons import reason_in_words


def facts_table(observation: Observation) -> RenderableType:
    """Returns one line per node, 80 columns wide, and beneath them the reasons that nodes give or that are known."""
    table = Table(box=None, padding=(0, 1, 0, 0), title=f"Iteration facts: {observation.fleet}", title_justify="left")
    for name in ("instance", "flavor", "state"):
        table.add_column(name, no_wrap=True)
    for name in ("rank", "step", "step\nms", "compute\nms", "tokens\na step", "age\ns"):
        table.add_column(name, justify="right", no_wrap=True)
    facts = sorted(observation.facts, key=lambda fact: (fact.rank is None, fact.rank or 0))
    for fact in facts:
        table.add_row(*_cells(fact, observation.at))
    for node in observation.unknown:
        table.add_row(node.instance_id, node.flavor, "unknown", *[BLANK] * 6)
    given = {fact.instance_id: fact.reason for fact in facts if fact.reason}
    reasons = given | {node.instance_id: reason_in_words(node.reason) for node in observation.unknown}
    return Group(table, *(Text(f"{instance_id}: {reason}") for instance_id, reason in reasons.items()))


def _cells(fact: Fact, now: float) -> list[str]:
    return [
        fact.instance_id,
        fact.flavor,
        fact.state.value,
        BLANK if fact.rank is None else f"{fact.rank}/{fact.world_size}",
        str(fact.step),
        milliseconds(fact.iteration_time_s),
        milliseconds(fact.compute_time_s),
        cell(fact.tokens),
        f"{max(0.0, now - fact.updated_at):.0f}",
    ]
