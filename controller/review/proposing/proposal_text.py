"""The text of a proposal's pull request: the saving, the measurements, a plot, and the explanation of the decision."""

from __future__ import annotations

from dataclasses import replace

from controller.domain import Decision, FlavorEstimate, FleetEstimate
from controller.domain.reasons.flavors import NotMeasured
from controller.record.report.explanation import render_explanation
from controller.review.plans.plan_summary import Quantity, sides
from controller.review.proposing.proposal import Proposal
from controller.review.shown.markdown_text import GITHUB_LIMIT, MARGIN, characters, cut
from controller.review.shown.templates import template
from controller.words import numbers as words
from controller.words.reasons import reason_in_words
from controller.words.reasons.flavors import notes_in_words

MOST_BARS = 8
EXPLANATION_BUDGETS = (40_000, 15_000, 4_000, 0)
FLAVOR_BUDGETS = (200, 60, 20, 10)
LONGEST_TITLE = 120


def proposal_of(environment: str, run: str, decision: Decision) -> Proposal:
    """Returns the proposal to carry out a decision to move."""
    title = f"Move {environment} to {decision.target}"
    return Proposal(
        run,
        decision.current,
        decision.target,
        words.shortened(title, LONGEST_TITLE),
        proposal_body(environment, run, decision),
    )


def proposal_body(environment: str, run: str, decision: Decision) -> str:
    """Returns the Markdown of the pull request, never longer than GitHub takes."""
    explanation = render_explanation(decision).rstrip()
    for most_text, most_flavors in zip(EXPLANATION_BUDGETS, FLAVOR_BUDGETS, strict=True):
        text = template("proposal.md.j2").render(
            environment=environment,
            run=run,
            decision=decision,
            reason=reason_in_words(decision.reason),
            metrics=_metrics(decision),
            bars=_bars(decision),
            flavors=cut(sorted(decision.flavors, key=_order), most_flavors),
            explanation=_fenced(explanation[:most_text]),
            is_cut=len(explanation) > most_text,
            w=words,
            notes=_notes,
        )
        if characters(text) <= GITHUB_LIMIT - MARGIN:
            return text
    raise AssertionError("the shortest proposal is longer than GitHub takes")


def _notes(estimate: FlavorEstimate) -> str:
    """Returns the notes on a flavor. That it is not measured yet is seen in the other columns."""
    notes = tuple(note for note in estimate.notes if not isinstance(note, NotMeasured))
    return notes_in_words(replace(estimate, notes=notes))


def _order(estimate: FlavorEstimate) -> tuple[bool, float, str]:
    """Returns a key that sorts the cheapest per token first, and flavors that are not measured last."""
    cost = estimate.usd_per_million_tokens
    return cost is None, cost or 0.0, estimate.flavor


def _metrics(decision: Decision) -> list[tuple[str, str, str, str]]:
    """Returns lines of (what, now, proposed, difference)."""
    now, then = _estimate(decision, decision.current), _estimate(decision, decision.target)
    quantities = (
        ("**Dollars per million tokens, head included**", "usd_per_million_tokens", words.USD),
        ("**Time to finish**", "remaining_s", words.DURATION),
        ("Dollars for the remaining work", "remaining_usd", words.USD),
        ("Dollars per hour, all included", "usd_per_hour", words.USD),
        ("Tokens per second", "tokens_per_s", words.SPEED),
    )
    return [
        (name, *sides(Quantity(getattr(now, key, None), getattr(then, key, None)), unit))
        for name, key, unit in quantities
    ]


def _estimate(decision: Decision, fleet: object) -> FleetEstimate | None:
    return next((estimate for estimate in decision.fleets if estimate.fleet == fleet), None)


def _bars(decision: Decision) -> list[tuple[str, float]]:
    """Returns (name, dollars per million tokens) for a plot: of the fleets that were compared.

    A policy that compares flavors has no such fleets; then the plot is of the flavors.
    """
    names = {decision.current: "now", decision.target: "proposed"}
    fleets = [(names.get(e.fleet, str(e.fleet)), e.usd_per_million_tokens) for e in decision.fleets]
    flavors = [(e.flavor, e.usd_per_million_tokens) for e in sorted(decision.flavors, key=_order)]
    bars: dict[str, float] = {}
    for name, usd in fleets if len(fleets) > 1 else flavors:
        if usd is not None:
            bars.setdefault(name, usd)
    return list(bars.items())[:MOST_BARS]


def _fenced(text: str) -> str:
    """Returns a code block that no line of the text can end."""
    fence = "`" * max(3, 1 + max((len(run) for run in text.split() if set(run) == {"`"}), default=0))
    return f"{fence}text\n{text}\n{fence}"
