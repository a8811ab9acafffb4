"""Draws `docs/house.svg`: the rooms of each package, and which room imports which. `make house` runs it.

A room is a folder (or a single file) directly inside a package. The rows are floors: an arrow always leads to a lower
floor, because a test holds that no import runs back up.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import grimp
from matplotlib import rcParams
from matplotlib.backends.backend_svg import FigureCanvasSVG
from matplotlib.figure import Figure
from matplotlib.patches import FancyBboxPatch

PACKAGES = ("controller", "trainer", "localcloud")
PICTURE = Path(__file__).with_name("house.svg")
BOX_WIDTH, BOX_HEIGHT = 1.7, 0.5
COLUMN, FLOOR = 2.0, 1.25
COLOURS = {"controller": "#dbe9f6", "trainer": "#e2f0d9", "localcloud": "#fff2cc"}

Arrows = dict[str, set[str]]
"""Which rooms each room imports, by their names with the package: `controller.decide`."""


def arrows_of(package: str) -> Arrows:
    """Returns which room of a package imports which other room of it."""
    graph = grimp.build_graph(package, include_external_packages=False, cache_dir=None)
    found: Arrows = {}
    for module in graph.modules:
        room = _room(module)
        if room is None:
            continue
        targets = (_room(imported) for imported in graph.find_modules_directly_imported_by(module))
        found.setdefault(room, set()).update(target for target in targets if target not in (None, room))  # type: ignore[misc]
    return found


def _room(module: str) -> str | None:
    parts = module.split(".")
    return None if len(parts) < 2 or parts[1] == "__main__" else ".".join(parts[:2])


def floors_of(arrows: Mapping[str, Iterable[str]]) -> dict[str, int]:
    """Returns the floor of each room: 0 for one that imports no other, else one above the highest that it imports.

    Raises:
        ValueError: The imports make a circle.
    """
    floors: dict[str, int] = {}

    def floor(room: str, path: tuple[str, ...]) -> int:
        if room in path:
            raise ValueError(f"these rooms import each other: {' -> '.join((*path, room))}")
        if room not in floors:
            floors[room] = max((floor(below, (*path, room)) + 1 for below in sorted(arrows[room])), default=0)
        return floors[room]

    for room in sorted(arrows):
        floor(room, ())
    return floors


def description(everything: Mapping[str, Arrows]) -> str:
    """Returns the arrows as text, which the picture carries, so that a test can tell whether it is up to date."""
    rooms = [(room, below) for arrows in everything.values() for room, below in sorted(arrows.items()) if below]
    return "; ".join(f"{room} -> {', '.join(sorted(below))}" for room, below in rooms)


def direct(arrows: Arrows) -> Arrows:
    """Returns the arrows without those that a longer way through other rooms implies: a picture that can be read."""

    def reached(room: str) -> set[str]:
        return {further for below in arrows[room] for further in {below, *reached(below)}}

    return {room: {b for b in below if not any(b in reached(o) for o in below)} for room, below in arrows.items()}


def places_of(arrows: Arrows, left: float) -> dict[str, tuple[float, float]]:
    """Returns the centre of each room: floors as rows, each row in the order of what it imports."""
    floors = floors_of(arrows)
    places: dict[str, tuple[float, float]] = {}
    widest = max(list(floors.values()).count(floor) for floor in set(floors.values()))
    for floor in sorted(set(floors.values())):
        row = sorted(room for room in floors if floors[room] == floor)
        row.sort(key=lambda room: sum(places[b][0] for b in arrows[room]) / max(1, len(arrows[room])))
        start = left + (widest - len(row)) * COLUMN / 2
        for column, room in enumerate(row):
            places[room] = (start + column * COLUMN, floor * FLOOR)
    return places


def draw(everything: Mapping[str, Arrows]) -> Figure:
    """Returns the picture: the packages side by side, their rooms as boxes, imports as arrows."""
    figure = Figure(figsize=(15, 8))
    axes = figure.add_axes((0.01, 0.01, 0.98, 0.98))
    axes.axis("off")
    left, highest = 0.0, 0.0
    for package, arrows in everything.items():
        places = places_of(arrows, left)
        for room, below in sorted(direct(arrows).items()):
            for target in sorted(below):
                _arrow(axes, places[room], places[target])
        for room, place in places.items():
            _box(axes, room, place, COLOURS[package])
        right, top = (max(place[i] for place in places.values()) for i in (0, 1))
        axes.text(left - BOX_WIDTH / 2, top + FLOOR * 0.7, f"{package}/", fontsize=15, weight="bold")
        left, highest = right + 1.7 * COLUMN, max(highest, top)
    axes.set_xlim(-BOX_WIDTH, left - COLUMN * 0.5)
    axes.set_ylim(-FLOOR * 0.6, highest + FLOOR * 1.3)
    return figure


def _box(axes, room: str, place: tuple[float, float], colour: str) -> None:  # type: ignore[no-untyped-def]
    x, y = place
    box = FancyBboxPatch(
        (x - BOX_WIDTH / 2, y - BOX_HEIGHT / 2),
        BOX_WIDTH,
        BOX_HEIGHT,
        boxstyle="round,pad=0.02",
        facecolor=colour,
        edgecolor="#555555",
        zorder=2,
    )
    axes.add_patch(box)
    axes.text(x, y, room.partition(".")[2], ha="center", va="center", fontsize=10.5, zorder=3)


def _arrow(axes, source: tuple[float, float], target: tuple[float, float]) -> None:  # type: ignore[no-untyped-def]
    style = {"arrowstyle": "-|>", "color": "#999999", "linewidth": 0.7, "shrinkA": 0, "shrinkB": 2}
    axes.annotate(
        "",
        xy=(target[0], target[1] + BOX_HEIGHT / 2),
        xytext=(source[0], source[1] - BOX_HEIGHT / 2),
        arrowprops=style,
        zorder=1,
    )


def main() -> int:
    """Writes the picture."""
    rcParams["svg.hashsalt"] = "centavo"
    rcParams["svg.fonttype"] = "none"
    everything = {package: arrows_of(package) for package in PACKAGES}
    metadata = {"Date": None, "Title": "The house of Centavo", "Description": description(everything)}
    FigureCanvasSVG(draw(everything)).print_svg(PICTURE, metadata=metadata)
    print(f"Picture: {PICTURE}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
