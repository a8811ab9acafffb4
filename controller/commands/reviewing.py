"""The commands of the review: `review` (also called `plan`), `apply --plan`, and `propose`.

Exit codes of `review`, for a pipeline: 0 nothing changes, 2 something changes, 3 refused by the guard, 1 an error.
"""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console

from controller.act.capacity import CapacityFile
from controller.commands.context import Context
from controller.commands.exports import export_terraform_rc
from controller.config.environment import Environment
from controller.domain import SECONDS_PER_HOUR, Decision, Fleet, Market, Price, Verdict, head_price
from controller.domain.errors import CentavoError, GuardError, StoppedError
from controller.edges.git import Git
from controller.edges.github import open_github
from controller.edges.terraform import Terraform
from controller.edges.terraform_plan import Plan, flavor_of, parse_plan
from controller.loop import decide_on
from controller.loop.decide_settings import decide_settings
from controller.observe.prices.asked import Wanted
from controller.record.journal.journal import Journal, Stage
from controller.record.journal.runs import latest_run
from controller.review.approval import PullRequestApproval, describe
from controller.review.evidence import read_evidence, with_fleet_estimates
from controller.review.guard import Danger
from controller.review.markdown import render
from controller.review.proposal_text import proposal_of
from controller.review.proposals import Outcome, Proposal, ProposalError, Proposals
from controller.review.sealed_plan import MAX_AGE_S, PlanStore, Seal, SealedPlan, StateId, check_seal, file_sha256
from controller.review.summary import Evidence, Summary, summarize
from controller.review.table import print_review
from controller.words.reasons import reason_in_words

NO_CHANGE, CHANGES, REFUSED = 0, 2, 3
PIPE_WIDTH = 130


class ReviewError(CentavoError):
    """A review that could not be made; its exit code is the one that pipelines take for an error."""

    exit_code = 1


def add_review(commands: Any) -> None:
    """Adds `review`, and `plan` as another name of it."""
    purpose = "what would change and what it costs (exit code 0: nothing, 2: something, 3: refused by the guard)"
    added = commands.add_parser("review", aliases=["plan"], help=purpose, description=f"review: {purpose}.")
    added.add_argument(
        "--acknowledge",
        action="append",
        default=[],
        choices=[danger.value for danger in Danger],
        help="say that this dangerous change is meant; may be given more than once",
    )
    added.add_argument(
        "--markdown", type=Path, metavar="FILE", help="write the review for a pull request there as well"
    )
    added.set_defaults(command=review)


def add_apply_options(parser: argparse.ArgumentParser) -> None:
    """Adds to `apply` what makes it take a reviewed plan."""
    parser.add_argument(
        "--plan", metavar="DIGEST", help="apply exactly this reviewed plan (its digest, file or `latest`)"
    )
    parser.add_argument(
        "--max-plan-age",
        type=float,
        metavar="HOURS",
        default=MAX_AGE_S / SECONDS_PER_HOUR,
        help="refuse a reviewed plan that is older (default: %(default)g)",
    )


def add_propose(commands: Any) -> None:
    """Adds `propose`."""
    purpose = "ask for the cheapest fleet in a pull request, in place of moving there; closes an outdated proposal"
    added = commands.add_parser("propose", help=purpose, description=f"propose: {purpose}.")
    add_proposal_options(added)
    added.set_defaults(command=propose)


def add_proposal_options(parser: argparse.ArgumentParser) -> None:
    """Adds where proposals go."""
    parser.add_argument("--remote", default="origin", help="the git remote to push proposals to (default: %(default)s)")
    parser.add_argument("--base", metavar="BRANCH", help="the branch to merge into (default: the remote's own default)")


def review(context: Context, options: argparse.Namespace) -> int:
    """Plans, shows what the plan comes to, and keeps it sealed for `apply --plan`."""
    try:
        return _review(context, options)
    except (GuardError, StoppedError):
        raise
    except CentavoError as error:
        raise ReviewError(error.what, error.next_step) from error


def _review(context: Context, options: argparse.Namespace) -> int:
    environment = context.environment
    context.check_first_fleet()
    terraform = _ready(context)
    _provide_capacity_file(context)
    file = environment.state_directory / f"review-{os.getpid()}.tfplan"
    try:
        terraform.plan(file)
        file.chmod(0o600)
        plan = parse_plan(terraform.show(file))
        summary = summarize_plan(context, plan, frozenset(map(Danger, options.acknowledge)))
        sealed = _seal(context, terraform, file, summary)
    finally:
        file.unlink(missing_ok=True)
    if options.markdown:
        options.markdown.parent.mkdir(parents=True, exist_ok=True)
        options.markdown.write_text(sealed.review_file.read_text(encoding="utf-8"), encoding="utf-8")
    print_review(summary, _console())
    print(f"For a pull request: {options.markdown or sealed.review_file}")
    if plan.is_empty:
        return NO_CHANGE
    if summary.verdict.is_refused:
        return REFUSED
    print(f"To apply exactly this: centavo --env {environment.name} apply --plan {sealed.seal.name}")
    return CHANGES


def _console() -> Console:
    """A pipe has no width of its own; the flavors' table needs some."""
    console = Console()
    return console if console.is_terminal else Console(width=PIPE_WIDTH)


def apply_reviewed(context: Context, options: argparse.Namespace) -> int:
    """Applies the reviewed plan that is named, or refuses with what to do instead."""
    store = plan_store(context)
    sealed = store.find(options.plan)
    terraform = _ready(context)
    now = context.clock.now()
    check_seal(
        sealed,
        state=_state_id(terraform),
        capacity_sha256=_capacity_sha256(context),
        now=now,
        max_age_s=options.max_plan_age * SECONDS_PER_HOUR,
    )
    plan = parse_plan(terraform.show(sealed.plan_file))
    acknowledged = frozenset(map(Danger, sealed.seal.acknowledged))
    refuse_dangers(summarize_plan(context, plan, acknowledged))
    if plan.is_empty:
        print("Nothing to do: the reviewed plan changes nothing.")
        return 0
    terraform.apply(sealed.plan_file)
    store.mark_applied(sealed, now)
    print(f"Applied {sealed.seal.name}, exactly as it was reviewed.")
    return 0


def admit(context: Context, document: Mapping[str, Any]) -> None:
    """Raises GuardError for a plan that nobody has reviewed and that does what has to be acknowledged."""
    refuse_dangers(summarize_plan(context, parse_plan(document)))


def refuse_dangers(summary: Summary) -> None:
    """Raises GuardError when a person's plan does something dangerous that nobody has acknowledged."""
    if not summary.verdict.is_refused:
        return
    missing = summary.verdict.missing
    lines = [f"  {f.danger.value}: {f.address} {f.reason}" for f in summary.verdict.findings if f.danger in missing]
    raise GuardError(
        "The plan does what has to be acknowledged first, so it was not applied:\n" + "\n".join(lines),
        f"If it is meant: `{summary.acknowledging}`, and apply that plan.",
    )


def summarize_plan(context: Context, plan: Plan, acknowledged: frozenset[Danger] = frozenset()) -> Summary:
    """What a plan comes to in this environment, on the evidence of its newest run."""
    environment = context.environment
    limits = environment.limits()
    prices = context.prices(_wanted_by(plan))
    evidence = _evidence(environment, plan, prices) if not plan.is_empty or plan.fleet_after.size else Evidence()
    return summarize(environment.name, plan, prices, evidence, limits.max_usd_per_hour, acknowledged)


def _wanted_by(plan: Plan) -> Wanted:
    """The prices of a plan's groups, those of spot instances being the ones with a policy of mixed instances, and of
    its heads."""
    markets: dict[str, Market | None] = {}
    groups: dict[str, str] = {}
    for group in plan.groups:
        flavor, name = flavor_of(group), group.values.get("name")
        if flavor is not None:
            markets[flavor] = Market.SPOT if group.values.get("mixed_instances_policy") else Market.ON_DEMAND
            groups |= {flavor: name} if isinstance(name, str) else {}
    heads = {head for head in (plan.head_type(after=False), plan.head_type(after=True)) if head is not None}
    return Wanted(markets, groups, frozenset(heads))


def _evidence(environment: Environment, plan: Plan, prices: Mapping[str, Price]) -> Evidence:
    head = plan.head_type(after=True) or plan.head_type(after=False)
    price = head_price(prices, head) if head is not None else None
    head_usd_per_hour = price.usd_per_hour if price is not None else 0.0
    settings = decide_settings(environment, environment.settings.controller.policy, {}, head_usd_per_hour)
    fleets: tuple[Fleet, Fleet] = (plan.fleet_before, plan.fleet_after)
    return read_evidence(environment.runs_directory, environment.name, fleets, prices, environment.limits(), settings)


def propose(context: Context, options: argparse.Namespace) -> int:
    """Looks, decides, and proposes what was decided; an open proposal that is not worth it any more is closed."""
    journal = latest_run(context.environment.runs_directory)
    if journal is None or journal.info().environment != context.environment.name or journal.stage() is Stage.ENDED:
        raise ProposalError("No training runs, so nothing can be measured.", "`centavo optimize --via pull-request`")
    cluster, info = context.cluster(journal), journal.info()
    decide = context.decider(cluster, info.policy)
    decision = decide_on(cluster.observer.look(), journal, cluster.costs.prices(), context.environment.limits(), decide)
    proposals = open_proposals(context, options)
    if decision.verdict is not Verdict.MOVE:
        withdrawn = proposals.withdraw(reason_in_words(decision.reason))
        print(
            f"Nothing to propose: {reason_in_words(decision.reason)}"
            + (f"\nClosed {withdrawn.url}." if withdrawn else "")
        )
        return 0
    proposal = proposal_of(context.environment.name, info.run, _complete(context, journal, decision))
    proposed = proposals.propose(proposal)
    print(f"{proposal.title}: {describe(proposed)}.")
    if proposed.outcome is Outcome.PUSHED:
        _print_for_a_person(context, proposals, proposal)
    return 0


def _print_for_a_person(context: Context, proposals: Proposals, proposal: Proposal) -> None:
    """The body, and the command that opens the pull request with it."""
    file = context.environment.state_directory / "proposal.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(proposals.body_of(proposal), encoding="utf-8")
    print(f"\n{proposals.body_of(proposal)}")
    if proposals.compare_url() is not None:
        print(f"Open it at {proposals.compare_url()}, or with:")
    command = ["gh", "pr", "create", "--head", proposals.branch, "--base", proposals.base]
    print(shlex.join([*command, "--title", proposal.title, "--body-file", str(file)]))


def pull_request_approval(context: Context, journal: Journal, options: argparse.Namespace) -> PullRequestApproval:
    """The approval of `optimize --via pull-request`."""
    tell = partial(_note, context, journal)
    complete = partial(_complete, context, journal)
    proposals = open_proposals(context, options)
    return PullRequestApproval(context.environment.name, journal.info().run, proposals, tell, complete)


def _complete(context: Context, journal: Journal, decision: Decision) -> Decision:
    if decision.fleets:
        return decision
    environment = context.environment
    settings = decide_settings(environment, decision.policy, {}, context.cluster(journal).costs.head_usd_per_hour)
    return with_fleet_estimates(decision, journal, context.prices(), environment.limits(), settings)


def _note(context: Context, journal: Journal, message: str) -> None:
    now = context.clock.now()
    journal.add_event(now, "proposal", message)
    context.reporter.note(now, message)


def open_proposals(context: Context, options: argparse.Namespace) -> Proposals:
    """The environment's proposals, on the remote and the base branch that the options name."""
    environment = context.environment
    git = Git(environment.root, options.remote)
    github = open_github(git.remote_url(), os.environ)
    return Proposals(environment.name, environment.capacity_file, git, github, options.base)


def plan_store(context: Context) -> PlanStore:
    """Where this environment's reviewed plans are kept."""
    return PlanStore(context.environment.state_directory / "plans")


def _ready(context: Context) -> Terraform:
    terraform = context.terraform()
    terraform.init()
    export_terraform_rc(context.environment)
    return terraform


def _provide_capacity_file(context: Context) -> None:
    """Where nothing was ever applied, the fleet to start on, as `apply` would write it."""
    capacity = CapacityFile(context.environment.capacity_file)
    if not capacity.exists():
        capacity.read()
        capacity.write(context.environment.initial_fleet)


def _seal(context: Context, terraform: Terraform, file: Path, summary: Summary) -> SealedPlan:
    seal = Seal(
        environment=context.environment.name,
        plan_sha256=file_sha256(file),
        fingerprint=summary.plan.fingerprint,
        state=_state_id(terraform),
        capacity_sha256=_capacity_sha256(context),
        created_at=context.clock.now(),
        acknowledged=tuple(sorted(danger.value for danger in summary.verdict.acknowledged)),
        missing=tuple(danger.value for danger in summary.verdict.missing),
    )
    return plan_store(context).seal(file, seal, render(summary))


def _state_id(terraform: Terraform) -> StateId:
    lineage, serial = terraform.state_id()
    return StateId(lineage, serial)


def _capacity_sha256(context: Context) -> str | None:
    file = context.environment.capacity_file
    return file_sha256(file) if file.is_file() else None
