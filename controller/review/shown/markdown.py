"""The review as GitHub-flavored Markdown: the same text for the same plan, never longer than GitHub takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from controller.edges.terraform_plan import AttributeChange, PlanChange
from controller.review.plans.dangers import Finding, as_options
from controller.review.plans.plan_outline import outline_of
from controller.review.plans.plan_summary import FlavorRow, PlanSummary, sides
from controller.review.shown.attribute_values import attribute_value
from controller.review.shown.markdown_text import GITHUB_LIMIT, MARGIN, Cut, characters, cut
from controller.review.shown.resource_changes import compared_attributes, details, in_a_word
from controller.review.shown.templates import template
from controller.words import numbers as words
from controller.words.reasons import reason_in_words


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
    compared = {change.address: compared_attributes(change) for change in summary.plan.changed}
    for budget in BUDGETS:
        text = template("plan.md.j2").render(
            review=_View(summary, budget, compared), w=words, attribute_value=attribute_value
        )
        if characters(text) <= GITHUB_LIMIT - MARGIN:
            return text
    raise AssertionError("the shortest review is longer than GitHub takes")


@dataclass(frozen=True)
class _View:
    """What the template asks for."""

    summary: PlanSummary
    budget: Budget
    compared: Mapping[str, tuple[AttributeChange, ...]]
    """What becomes different, by address."""

    @property
    def fingerprint(self) -> str:
        """The first digits of the plan's fingerprint."""
        return outline_of(self.summary.plan).fingerprint[:16]

    @property
    def acknowledging(self) -> str:
        """The options that acknowledge everything dangerous in the plan, each with a space before it."""
        return as_options(self.summary.verdict.found)

    @property
    def metrics(self) -> list[tuple[str, str, str, str]]:
        """(what, before, after, difference) of the quantities that a review leads with."""
        summary = self.summary
        unpriced = f"{words.NO_PRICE} for {', '.join(summary.unpriced)}"
        rows = [
            ("**Dollars per million tokens, head included**", *sides(summary.usd_per_million_tokens, words.USD)),
            ("**Time to finish**", *sides(summary.time_to_finish_s, words.DURATION)),
            ("Dollars per hour, all included", *sides(summary.usd_per_hour, words.USD, unpriced)),
        ]
        if summary.usd_per_zones_gb is not None:
            rows.append(("Of these, traffic between zones", *sides(summary.traffic_usd_per_hour, words.USD)))
        return rows

    @property
    def flavors(self) -> Cut[FlavorRow]:
        """The flavors that are shown."""
        return cut(self.summary.flavors, self.budget.flavors)

    @property
    def too_small(self) -> Cut[tuple[str, str]]:
        """The flavors that can't hold the training, each with the reason in words."""
        found = sorted(self.summary.too_small.items())
        return cut(((flavor, reason_in_words(reason)) for flavor, reason in found), self.budget.flavors)

    @property
    def resources(self) -> Cut[PlanChange]:
        """The resources that are shown."""
        return cut(self.summary.plan.changed, self.budget.resources)

    @property
    def findings(self) -> Cut[Finding]:
        """The findings that are shown."""
        return cut(self.summary.verdict.findings, self.budget.findings)

    def attributes(self, change: PlanChange) -> Cut[AttributeChange]:
        """Returns what becomes different in a resource, if that needs lines of its own."""
        compared = self.compared[change.address]
        return cut(() if in_a_word(change, compared) else compared, self.budget.attributes)

    def details(self, change: PlanChange) -> str:
        """Returns what fits into the resource's own line."""
        return details(change, self.compared[change.address])

    @property
    def has_details(self) -> bool:
        """Whether any resource has something to say in its own line."""
        return any(self.details(change) for change in self.resources)

    @property
    def outputs(self) -> Cut[str]:
        """The names of the outputs that change."""
        return cut(
            (output.name for output in self.summary.plan.outputs if output.action.is_change), self.budget.flavors
        )
