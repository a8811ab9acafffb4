"""The templates of this package."""

from __future__ import annotations

from functools import cache

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from controller.review.markdown_text import code, plain
from controller.review.resource_changes import MARKS, counts_in_words


@cache
def template(name: str) -> Template:
    """Returns a template of this package, with the filters `code` and `plain`."""
    # The text is Markdown and not HTML: `code` and `plain` escape it, and a test renders hostile names through them.
    environment = Environment(
        loader=PackageLoader("controller.review"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=False,
    )
    environment.filters.update(code=code, plain=plain, mark=MARKS.__getitem__, counts=counts_in_words)
    return environment.get_template(name)
