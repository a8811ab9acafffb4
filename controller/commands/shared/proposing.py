"""Proposals of an environment, as `propose` and `optimize --via pull-request` make them."""

from __future__ import annotations

import argparse
import os

from controller.commands.context import Context
from controller.domain import Decision
from controller.edges.git import Git
from controller.edges.github import open_github
from controller.loop.decide_settings import decide_settings, with_zones
from controller.record.journal import Journal
from controller.review.plans.evidence import with_fleet_estimates
from controller.review.proposing.proposals import Proposals


def add_proposal_options(parser: argparse.ArgumentParser) -> None:
    """Adds where proposals go."""
    parser.add_argument("--remote", default="origin", help="the git remote to push proposals to (default: %(default)s)")
    parser.add_argument("--base", metavar="BRANCH", help="the branch to merge into (default: the remote's own default)")


def open_proposals(context: Context, options: argparse.Namespace) -> Proposals:
    """Returns the environment's proposals, on the remote and the base branch that the options name."""
    environment = context.environment
    git = Git(environment.root, options.remote)
    github = open_github(git.remote_url(), os.environ)
    return Proposals(environment.name, environment.capacity_file, git, github, options.base)


def with_estimates(context: Context, journal: Journal, decision: Decision) -> Decision:
    """Returns the decision with estimates of the two fleets, also if its policy compares flavors only."""
    if decision.fleets:
        return decision
    environment = context.environment
    cluster = context.cluster(journal)
    settings = decide_settings(environment, decision.policy, {}, cluster.costs.head_usd_per_hour)
    settings = with_zones(settings, cluster.made.outputs.zones, context.prices())
    return with_fleet_estimates(decision, journal, context.prices(), environment.limits(), settings)
