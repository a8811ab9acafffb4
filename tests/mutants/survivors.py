"""The mutants that no test has noticed: where they are, what they change, and why some of them change nothing."""

from __future__ import annotations

import ast
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tests.mutants.workspace import NO_TESTS, NO_TESTS_RAN, ROOT, SURVIVED, Workspace

EQUIVALENT = Path(__file__).with_name("equivalent.yml")


@dataclass(frozen=True)
class Survivor:
    """One mutant that no test has noticed.

    Attributes:
        line: The first line that it changes, from 1.
        is_run: Whether any test of the room runs the function.
        diff: The lines that it takes away and adds, each with `-` or `+` before it.
    """

    room: str
    file: str
    line: int
    name: str
    is_run: bool
    diff: str


@dataclass(frozen=True)
class Equivalent:
    """A mutant that behaves as the code does, as far as anybody can see, and why.

    It is known by its file and by the code that it changes, so it is still found after an edit elsewhere in the file.
    """

    file: str
    before: str
    after: str
    why: str

    def is_meant(self, survivor: Survivor) -> bool:
        """Returns whether this is the survivor."""
        return (self.file, self.before, self.after) == (survivor.file, *sides(survivor.diff))


def sides(diff: str) -> tuple[str, str]:
    """Returns the code that a diff takes away and the code that it adds, each in one line without margins."""
    found = {"-": [], "+": []}  # type: dict[str, list[str]]
    for line in diff.splitlines():
        found[line[0]].append(line[1:].strip())
    return " ".join(found["-"]), " ".join(found["+"])


def read_equivalent(file: Path = EQUIVALENT) -> list[Equivalent]:
    """Returns the committed list."""
    documents: list[dict[str, str]] = yaml.safe_load(file.read_text(encoding="utf-8")) or []
    return [Equivalent(**document) for document in documents]


def survivors(workspace: Workspace) -> list[Survivor]:
    """Returns the survivors of a room, in the order of their lines."""
    found = [
        _survivor(workspace, file, name, code)
        for file, codes in workspace.results().items()
        for name, code in codes.items()
        if code in (SURVIVED, NO_TESTS, NO_TESTS_RAN)
    ]
    return sorted(found, key=lambda one: (one.file, one.line, one.diff))


def line_of(source: str, mutant: str, function_diff: Sequence[str]) -> int:
    """Returns the line of a file that a mutant changes first.

    Args:
        source: The file.
        mutant: mutmut's name of it, such as `package.module.x_function__mutmut_3` or `….xǁClassǁmethod__mutmut_3`.
        function_diff: The unified diff of the function alone.
    """
    owner, name = _function_of(mutant)
    tree = ast.parse(source)
    within: ast.AST = (
        tree
        if owner is None
        else next(node for node in ast.walk(tree) if isinstance(node, ast.ClassDef) and node.name == owner)
    )
    body: Sequence[Any] = getattr(within, "body", ())
    function = next(
        node for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name
    )
    first = min([function.lineno, *(decorator.lineno for decorator in function.decorator_list)])
    offset = 0
    for line in function_diff:
        hunk = re.match(r"@@ -(\d+)", line)
        if hunk:
            offset = int(hunk[1])
        elif line.startswith(("-", "+")) and not line.startswith(("---", "+++")):
            return first + offset - 1
        elif not line.startswith(("---", "+++")):
            offset += 1
    return first


def _function_of(mutant: str) -> tuple[str | None, str]:
    mangled = mutant.rpartition("__mutmut_")[0].rpartition(".")[2]
    if "ǁ" in mangled:
        _, owner, name = mangled.split("ǁ")
        return owner, name
    return None, mangled.removeprefix("x_")


def _survivor(workspace: Workspace, file: str, name: str, code: int | None) -> Survivor:
    from mutmut.mutation.diff_apply import get_diff_for_mutant  # type: ignore[import-not-found]  # needed only here

    with _inside(workspace.folder):
        diff = get_diff_for_mutant(name, path=file).splitlines()
    changed = [line for line in diff if line.startswith(("-", "+")) and not line.startswith(("---", "+++"))]
    line = line_of((ROOT / file).read_text(encoding="utf-8"), name, diff)
    return Survivor(workspace.room.name, file, line, name, code == SURVIVED, "\n".join(changed))


@contextmanager
def _inside(folder: Path) -> Iterator[None]:
    """mutmut finds its files from the working directory."""
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(before)
