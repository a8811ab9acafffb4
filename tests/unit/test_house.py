"""The shape of the house: sizes that a reader can take in, and a picture that is true."""

from __future__ import annotations

import ast
import importlib.util
import re
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("controller", "trainer", "localcloud")
MOST_FILES, MOST_LINES, MOST_METHODS, LONGEST_FUNCTION = 16, 200, 17, 47
FOLDERS = sorted({path.parent for package in PACKAGES for path in (ROOT / package).rglob("*.py")})
SOURCES = [path for folder in FOLDERS for path in sorted(folder.glob("*.py"))]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ROOMS = [folder for folder in FOLDERS if folder.parent.name in PACKAGES]


def name_of(path: Path) -> str:
    return str(path.relative_to(ROOT))


def nodes_of(path: Path) -> Iterator[ast.AST]:
    return ast.walk(ast.parse(path.read_text(encoding="utf-8")))


def lines_of(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def is_property(node: ast.stmt) -> bool:
    decorators = getattr(node, "decorator_list", ())
    return any(isinstance(one, ast.Name) and one.id in ("property", "cached_property") for one in decorators)


@pytest.fixture(scope="module")
def drawing() -> ModuleType:
    """The program that draws the picture."""
    spec = importlib.util.spec_from_file_location("draw_house", ROOT / "docs" / "draw_house.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("folder", FOLDERS, ids=name_of)
def test_a_folder_can_be_read_at_a_glance(folder: Path) -> None:
    files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES, f"{name_of(folder)} has {len(files)} files: group them by concept"


def test_classes_and_functions_stay_small() -> None:
    too_large = []
    for path in SOURCES:
        for node in nodes_of(path):
            if isinstance(node, ast.ClassDef):
                methods = sum(isinstance(part, FUNCTIONS) and not is_property(part) for part in node.body)
                if lines_of(node) > MOST_LINES or methods > MOST_METHODS:
                    too_large.append(f"{name_of(path)}: {node.name} has {lines_of(node)} lines, {methods} methods")
            elif isinstance(node, FUNCTIONS) and lines_of(node) > LONGEST_FUNCTION:
                too_large.append(f"{name_of(path)}: {node.name} has {lines_of(node)} lines")
    assert too_large == []


@pytest.mark.parametrize("room", ROOMS, ids=name_of)
def test_every_room_has_its_line_in_the_map(room: Path) -> None:
    rows = [line for line in (ROOT / "docs" / "house.md").read_text().splitlines() if f"`{name_of(room)}/`" in line]
    assert rows, f"docs/house.md has no line for {name_of(room)}/"
    assert len(rows[0].split("|")[2].strip()) > 10


def test_the_picture_shows_the_imports_as_they_are(drawing: ModuleType) -> None:
    drawn = re.search(r"<dc:description>(.*?)</dc:description>", drawing.PICTURE.read_text(), re.DOTALL)
    assert drawn is not None
    now = drawing.description({package: drawing.arrows_of(package) for package in PACKAGES})
    assert drawn.group(1).replace("&gt;", ">") == now, "the imports between rooms have changed: run `make house`"


def test_imports_that_make_a_circle_are_refused(drawing: ModuleType) -> None:
    with pytest.raises(ValueError, match="import each other: a -> b -> a"):
        drawing.floors_of({"a": {"b"}, "b": {"a"}})
