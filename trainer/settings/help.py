"""The help on training.yml: every section with its keys, their defaults and what they mean."""

from __future__ import annotations

import inspect
import textwrap
from typing import get_args

from pydantic.fields import FieldInfo

from trainer.settings.section import Section
from trainer.settings.training import Settings

WIDTH = 100


def help_on_settings(of: type[Section] = Settings, file: str = "training.yml") -> str:
    """Returns the text, some two hundred lines for training.yml.

    Args:
        of: What the file describes.
        file: The name of the file.
    """
    sections = {
        name: kind
        for name, field in of.model_fields.items()
        if isinstance(kind := next(iter(get_args(field.annotation)), field.annotation), type)
        and issubclass(kind, Section)
    }
    lines = [f"Keys of {file}, with their defaults (null: none, or not limited):"]
    lines += [_key(name, field) for name, field in of.model_fields.items() if not _is_section(field)]
    for name, kind in sections.items():
        lines += ["", f"{name}:", *_paragraphs(kind)]
        lines += [_key(f"{name}.{key}", field) for key, field in kind.model_fields.items()]
    return "\n".join(lines)


def _is_section(field: FieldInfo) -> bool:
    return isinstance(field.annotation, type) and issubclass(field.annotation, Section)


def _paragraphs(kind: type[Section]) -> list[str]:
    """Returns the paragraphs of a section's docstring, wrapped and indented."""
    paragraphs = inspect.cleandoc(kind.__doc__ or "").replace("`", "").split("\n\n")
    return [
        textwrap.fill(" ".join(one.split()), WIDTH, initial_indent="  ", subsequent_indent="  ") for one in paragraphs
    ]


def _key(name: str, field: FieldInfo) -> str:
    explained = textwrap.fill(field.description or "", WIDTH, initial_indent=" " * 8, subsequent_indent=" " * 8)
    return f"    {name}: {_default(field)}\n{explained}"


def _default(field: FieldInfo) -> str:
    value = field.default
    if field.is_required():
        return "(to be given)"
    if value == ():
        return "[]"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
