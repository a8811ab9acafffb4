"""The review as GitHub-flavored Markdown: the same text for the same plan, never longer than GitHub takes."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TypeVar

from jinja2 import Environment, PackageLoader, StrictUndefined, Template

from controller.edges.terraform_plan import Action, AttributeChange, PlanChange
from controller.review.attribute_values import attribute_value
from controller.review.dangers import Finding
from controller.review.plan_summary import FlavorRow, PlanSummary, Quantity
from controller.words import numbers as words

GITHUB_LIMIT = 65_536
"""Characters of a comment or a pull request's body. GitHub counts them as UTF-16 does."""
MARGIN = 1_536
"""Characters that are left for what a workflow puts around the review."""
LONGEST_ADDRESS = 200

T = TypeVar("T")


@dataclass(frozen=True)
class Cut(Iterable[T]):
    """The part of a list that is shown, and how many entries are not."""

    shown: tuple[T, ...]
    hidden: int

    def __iter__(self):  # type: ignore[no-untyped-def]
        return iter(self.shown)


@dataclass(frozen=True)
class Budget:
    """How much of each list is shown."""

    resources: int
    attributes: int
    flavors: int
    findings: int


BUDGETS = (
    Budget(10_000, 200, 2_000, 10_000),
    Budget(10_000, 20, 500, 1_000),
    Budget(1_000, 8, 200, 200),
    Budget(400, 3, 100, 100),
    Budget(200, 0, 50, 50),
    Budget(60, 0, 30, 30),
    Budget(20, 0, 15, 15),
)
"""From everything to very little. The first budget is taken that the text fits with."""


def render(summary: PlanSummary) -> str:
    """Returns the Markdown of a review, in at most `GITHUB_LIMIT - MARGIN` characters."""
    compared = {change.address: _compared(change) for change in summary.plan.changed}
    for budget in BUDGETS:
        text = template("plan.md.j2").render(
            review=_View(summary, budget, compared), w=words, attribute_value=attribute_value
        )
        if characters(text) <= GITHUB_LIMIT - MARGIN:
            return text
    raise AssertionError("the shortest review is longer than GitHub takes")


def characters(text: str) -> int:
    """Returns the length of a text as GitHub counts it: in UTF-16 units."""
    return len(text.encode("utf-16-le")) // 2


def code(text: str) -> str:
    """Returns a code span that stays one everywhere, also in a table's cell, whatever the text holds."""
    text = words.shortened(text, LONGEST_ADDRESS)
    if re.fullmatch(r"[^`|\\\x00-\x1f]+", text) and text.strip() == text:
        return f"`{text}`"
    inside = "".join(
        c if c.isalnum() or c in " .-" else f"&#{ord(c)};" for c in text.replace("\r", "").replace("\n", "↵")
    )
    return f"<code>{inside}</code>"


def plain(text: str) -> str:
    """Returns running text in which nothing is Markdown, HTML, a mention or a line break."""
    text = html.escape(" ".join(text.split()), quote=False)
    text = re.sub(r"([\\`*_\[\]|~#])", r"\\\1", text)
    return re.sub(r"@(?=\w)", "@\u200b", text)


def cut(entries: Iterable[T], most: int) -> Cut[T]:
    """Returns the first entries, and the number of those that are left out."""
    everything = tuple(entries)
    return Cut(everything[:most], max(0, len(everything) - most))


@dataclass(frozen=True)
class _View:
    """What the template asks for."""

    summary: PlanSummary
    budget: Budget
    compared: Mapping[str, tuple[AttributeChange, ...]]
    """What becomes different, by address."""

    @property
    def fingerprint(self) -> str:
        return self.summary.plan.fingerprint[:16]

    @property
    def metrics(self) -> list[tuple[str, str, str, str]]:
        """(what, before, after, difference) of the quantities that a review leads with."""
        summary = self.summary
        unpriced = f"{words.NO_PRICE} for {', '.join(summary.unpriced)}"
        return [
            ("**Dollars per million tokens, head included**", *sides(summary.usd_per_million_tokens, words.USD)),
            ("**Time to finish**", *sides(summary.time_to_finish_s, words.DURATION)),
            ("Dollars per hour, head included", *sides(summary.usd_per_hour, words.USD, unpriced)),
        ]

    @property
    def flavors(self) -> Cut[FlavorRow]:
        return cut(self.summary.flavors, self.budget.flavors)

    @property
    def resources(self) -> Cut[PlanChange]:
        return cut(self.summary.plan.changed, self.budget.resources)

    @property
    def findings(self) -> Cut[Finding]:
        return cut(self.summary.verdict.findings, self.budget.findings)

    def attributes(self, change: PlanChange) -> Cut[AttributeChange]:
        """Returns what becomes different in a resource, if that needs lines of its own."""
        compared = self.compared[change.address]
        return cut(() if _in_a_word(change, compared) else compared, self.budget.attributes)

    def details(self, change: PlanChange) -> str:
        """Returns what fits into the resource's own line."""
        return _details(change, self.compared[change.address])

    @property
    def has_details(self) -> bool:
        return any(self.details(change) for change in self.resources)

    @property
    def outputs(self) -> Cut[str]:
        return cut(
            (output.name for output in self.summary.plan.outputs if output.action.is_change), self.budget.flavors
        )


MARKS = {
    Action.DESTROY: "🛑\u00a0**destroy**",
    Action.REPLACE: "🛑\u00a0**replace**",
    Action.FORGET: "⚠️ forget (it stays, unmanaged)",
    Action.UPDATE: "change",
    Action.CREATE: "add",
    Action.NONE: "move in the state",
}
NOUNS = {
    Action.DESTROY: "to destroy",
    Action.REPLACE: "to destroy and create again",
    Action.FORGET: "to forget",
    Action.UPDATE: "to change",
    Action.CREATE: "to add",
    Action.NONE: "to move in the state",
}


REASONS = {
    "replace_because_cannot_update": "can't be changed in place",
    "replace_because_tainted": "it was left half made",
    "replace_by_request": "by request",
    "delete_because_no_resource_config": "no longer in the code",
    "delete_because_no_module": "its module is no longer in the code",
    "delete_because_count_index": "count is lower now",
    "delete_because_each_key": "its key is no longer in the code",
}
"""Terraform's codes for why a resource is replaced or deleted, in words. Other codes are shown as they are."""
SHORT_VALUE = 24


def _details(change: PlanChange, compared: tuple[AttributeChange, ...]) -> str:
    """Returns why, from where, and a short change itself, as Markdown in one line; often nothing."""
    parts = []
    if change.previous_address:
        parts.append(f"was {code(change.previous_address)}")
    if change.is_import:
        parts.append("imported")
    if change.reason:
        forced_by = ", ".join(code(attribute.path) for attribute in compared if attribute.forces_replacement)
        why = plain(REASONS.get(change.reason, change.reason.replace("_", " ")))
        parts.append(f"forced by {forced_by}" if forced_by else why)
    attribute = _in_a_word(change, compared)
    if attribute is not None:
        before, after = (code(attribute_value(attribute.path, side)) for side in (attribute.before, attribute.after))
        parts.append(f"{code(attribute.path)}: {before} → {after}")
    return "; ".join(parts)


def _in_a_word(change: PlanChange, compared: tuple[AttributeChange, ...]) -> AttributeChange | None:
    """Returns the one short attribute that an update changes, such as a capacity; None if there is more to say."""
    if change.action is not Action.UPDATE or len(compared) != 1:
        return None
    (attribute,) = compared
    values = (attribute_value(attribute.path, side) for side in (attribute.before, attribute.after))
    return attribute if all(len(value) <= SHORT_VALUE for value in values) else None


def _compared(change: PlanChange) -> tuple[AttributeChange, ...]:
    """Returns what becomes different in a resource that stays or is replaced; nothing if it is created or destroyed.

    A tag is in it once, and not again among the provider's `tags_all`.
    """
    if change.before is None or change.after is None:
        return ()
    attributes = change.telling_attributes()
    tags = {attribute.path.partition(".")[2] for attribute in attributes if attribute.path.startswith("tags.")}
    return tuple(a for a in attributes if not (a.path.startswith("tags_all.") and a.path.partition(".")[2] in tags))


def _counts(counts: dict[Action, int]) -> str:
    return ", ".join(f"{number:,} {NOUNS[action]}" for action, number in counts.items())


def sides(quantity: Quantity, unit: words.Unit, unknown: str = words.NOT_MEASURED) -> tuple[str, str, str]:
    """Returns before, after and difference in words.

    The difference is that of the numbers as they are written: a reader who subtracts finds the same.
    """
    before, after = (unknown if value is None else unit.write(value) for value in (quantity.before, quantity.after))
    if quantity.before is None or quantity.after is None:
        return before, after, "unknown"
    change = round(unit.rounded(quantity.after) - unit.rounded(quantity.before), 9)
    if change == 0:
        return before, after, "none"
    share = f" ({words.percent(quantity.share)})" if quantity.share is not None else ""
    return before, after, words.signed(unit.write(abs(change)), change) + share


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
    environment.filters.update(code=code, plain=plain, mark=MARKS.__getitem__, counts=_counts)
    return environment.get_template(name)
