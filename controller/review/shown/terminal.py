"""The review on a terminal: as tables, in the order of the Markdown."""

from __future__ import annotations

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from controller.edges.terraform_plan import Action
from controller.review.plans.plan_summary import FlavorRow, PlanSummary, sides
from controller.review.shown.resource_changes import MARKS
from controller.words import numbers as words
from controller.words.reasons import reason_in_words

MOST_RESOURCES = 60
STYLES = {Action.DESTROY: "bold red", Action.REPLACE: "bold red", Action.FORGET: "yellow", Action.CREATE: "green"}


def print_review(summary: PlanSummary, console: Console) -> None:
    """Prints costs and times first, then flavors, resources and the guard's verdict."""
    if summary.plan.is_empty:
        console.print(
            f"[bold]{escape(summary.environment)}: nothing changes.[/bold] What exists is what the code asks for."
        )
    console.print(_metrics(summary))
    if summary.flavors:
        console.print(_flavors(summary))
    if summary.standing:
        console.print(_standing(summary))
    if summary.uncounted:
        console.print(f"Not counted, because there is no price: {', '.join(summary.uncounted)}", soft_wrap=True)
    if summary.unpriced_flavors:
        unpriced = ", ".join(summary.unpriced_flavors)
        console.print(f"Without a price, and so never moved to: {escape(unpriced)}", soft_wrap=True)
    for flavor, reason in sorted(summary.too_small.items()):
        console.print(f"Never moved to: {escape(flavor)}, {escape(reason_in_words(reason))}.", soft_wrap=True)
    if summary.plan.changed:
        console.print(_resources(summary))
    _print_verdict(summary, console)


def _metrics(summary: PlanSummary) -> Table:
    table = Table(title=f"{escape(summary.environment)}: what it comes to", title_justify="left")
    table.add_column("")
    for name in ("before", "after", "difference"):
        table.add_column(name, justify="right")
    table.add_row(
        "dollars per million tokens, head included", *sides(summary.usd_per_million_tokens, words.USD), style="bold"
    )
    table.add_row("time to finish", *sides(summary.time_to_finish_s, words.DURATION), style="bold")
    unpriced = f"{words.NO_PRICE} for {', '.join(summary.unpriced)}"
    table.add_row("dollars per hour, all included", *sides(summary.usd_per_hour, words.USD, unpriced))
    if summary.usd_per_zones_gb is not None:
        table.add_row("of these, traffic between zones", *sides(summary.traffic_usd_per_hour, words.USD))
    return table


def _standing(summary: PlanSummary) -> Table:
    table = Table(title="Beside the workers, until the destroy", title_justify="left")
    table.add_column("what")
    table.add_column("$/hour", justify="right")
    for cost in summary.standing:
        table.add_row(escape(cost.what), words.usd(cost.usd_per_hour, words.NO_PRICE))
    if summary.usd_per_nat_gb is not None:
        table.add_row("each GB through a NAT gateway", f"{words.usd(summary.usd_per_nat_gb)} a GB")
    if summary.usd_per_zones_gb is not None:
        table.add_row("each GB from zone to zone", f"{words.usd(summary.usd_per_zones_gb)} a GB")
    return table


def _flavors(summary: PlanSummary) -> Table:
    table = Table(title="Flavors", title_justify="left")
    table.add_column("flavor", no_wrap=True)
    for name in ("nodes", "$/hour each", "tokens/s each", "steps measured", "$/million tokens"):
        table.add_column(name, justify="right")
    table.add_column("price from")
    for row in summary.flavors:
        table.add_row(*_flavor(row), style="bold" if row.changes else None)
    return table


def _flavor(row: FlavorRow) -> tuple[str, ...]:
    before, after, estimate = words.nodes(row.nodes_before), words.nodes(row.nodes_after), row.estimate
    return (
        escape(row.flavor),
        f"{before} → {after}" if row.changes else after,
        words.usd(row.price.usd_per_hour if row.price else None, words.NO_PRICE),
        words.speed_with_interval(estimate),
        f"{estimate.observations:,}" if estimate and estimate.tokens_per_s is not None else words.BLANK,
        words.usd(estimate.usd_per_million_tokens if estimate else None),
        escape(row.price_from),
    )


def _resources(summary: PlanSummary) -> Table:
    table = Table(title="Resources", title_justify="left")
    table.add_column("what", no_wrap=True)
    table.add_column("resource", overflow="fold")
    changed = summary.plan.changed
    for change in changed[:MOST_RESOURCES]:
        what = MARKS[change.action].replace("*", "")
        table.add_row(what, escape(change.address), style=STYLES.get(change.action))
    if len(changed) > MOST_RESOURCES:
        table.add_row(
            "…", f"and {words.plural(len(changed) - MOST_RESOURCES, 'resource')} more, the less dangerous ones"
        )
    return table


def _print_verdict(summary: PlanSummary, console: Console) -> None:
    verdict = summary.verdict
    for finding in verdict.findings:
        about = f"{finding.address}: " if finding.address else ""
        style = "yellow" if finding.danger in verdict.acknowledged else "bold red"
        console.print(f"[{style}]{finding.danger.value}[/{style}] {escape(about + finding.reason)}", soft_wrap=True)
    if verdict.is_refused:
        again = escape(summary.acknowledging)
        console.print(f"[bold red]Refused by the guard.[/bold red] If this is meant: {again}", soft_wrap=True)
    elif not summary.plan.is_empty:
        said = "everything dangerous was acknowledged" if verdict.findings else "nothing needs an acknowledgement"
        console.print(f"The guard allows it: {said}.")
