"""The keys of training.yml for a person: each section with what its docstring says, then its keys and defaults."""

from __future__ import annotations

import inspect
import textwrap
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any, get_type_hints

from trainer.settings.settings import Settings

WIDTH = 100


def described() -> str:
    """The text, some hundred lines."""
    hints = get_type_hints(Settings)
    sections = [item.name for item in fields(Settings) if is_dataclass(hints[item.name])]
    own = [_line(item, "") for item in fields(Settings) if item.name not in sections]
    parts = ["Keys of training.yml, with their defaults (null: none, or not limited):", *_explained(Settings), *own]
    for name in sections:
        kind = hints[name]
        parts += ["", f"{name}:", *_explained(kind), *(_line(item, f"{name}.") for item in fields(kind))]
    return "\n".join(parts)


def _explained(kind: type) -> list[str]:
    """The paragraphs of a docstring, wrapped and indented."""
    paragraphs = inspect.cleandoc(kind.__doc__ or "").replace("`", "").split("\n\n")
    return [
        textwrap.fill(" ".join(one.split()), WIDTH, initial_indent="  ", subsequent_indent="  ") for one in paragraphs
    ]


def _line(item: Field[Any], prefix: str) -> str:
    return f"    {prefix}{item.name}: {_written(item.default)}"


def _written(value: object) -> str:
    if value is MISSING:
        return "(to be given)"
    if value == ():
        return "[]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
