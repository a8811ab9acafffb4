"""Puts a command's parts together: settings, prices, the edges, the journal, the policy."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from functools import partial
from pathlib import Path
from typing import Any

from controller.cluster import LiveCluster
from controller.config.constraints import Asked, Promises, nothing_asked
from controller.config.environment import Environment, PriceSource, check_limits, load_environment
from controller.decide import POLICIES, Batches, DecideSettings, DecisionInput, Objective, SwitchingAssumptions, decide
from controller.domain import Decision, Flavor, Fleet, Market, Observation, Price
from controller.domain.errors import ConfigError
from controller.edges.ansible import Ansible
from controller.edges.aws import Aws
from controller.edges.clock import SystemClock
from controller.edges.prices import AwsPrices
from controller.edges.ssh import answering, ensure_key_pair
from controller.edges.terraform import FlavorOutput, Outputs, Terraform
from controller.loop import Approval, Decider, Optimizer, at_once
from controller.observe.asked_prices import Wanted
from controller.observe.price_book import NOTHING_WANTED, open_book
from controller.observe.prices import require_prices
from controller.observe.progress import read_progress
from controller.record.journal import Journal
from controller.record.journal.runs import start_run, unfinished_run
from controller.record.live.reporter import Reporter

BURSTABLE_FAMILIES = ("t2.", "t3.", "t3a.", "t4g.")
"""Instance families that earn CPU credits (EC2 User Guide, "Burstable performance instances")."""


DECIDED_ELSEWHERE = {"truth", "flavors", "policy", "head_usd_per_hour", "price_max_age_s"}
"""Settings of deciding that `controller.decide` may not name."""


@dataclass
class Context:
    """What the commands work with, in one environment."""

    environment: Environment
    clock: SystemClock
    reporter: Reporter
    admit: Callable[[Mapping[str, Any]], None] = lambda document: None
    """Raises GuardError for a person's plan (its JSON) that does what has to be acknowledged first."""

    def __post_init__(self) -> None:
        self.book = open_book(
            self.environment, AwsPrices(self.environment.settings.aws.region), self.clock.now, self._note
        )
        self._journal: Journal | None = None

    def prices(self, wanted: Wanted = NOTHING_WANTED) -> Mapping[str, Price]:
        """All prices that are known, those wanted as fresh as can be had. Raises ConfigError."""
        return self.book.of(wanted)

    @property
    def usd_per_hour(self) -> Mapping[str, float]:
        """The latest prices as plain numbers; the mapping follows them."""
        return self.book.usd_per_hour

    def check_first_fleet(self) -> None:
        """Raises ConfigError when a flavor of the initial fleet has no price, or the limits admit no such fleet."""
        flavors = {*self.environment.initial_fleet, *self.environment.settings.limits.max_nodes_per_flavor}
        prices = self.prices(Wanted(dict.fromkeys(flavors)))
        require_prices(prices, self.environment.initial_fleet, self.environment)
        check_limits(self.environment, {flavor: price.usd_per_hour for flavor, price in prices.items()})

    def _note(self, message: str) -> None:
        now = self.clock.now()
        if self._journal is not None:
            self._journal.add_event(now, "note", message)
        self.reporter.note(now, message)

    def terraform(self, log_directory: Path | None = None) -> Terraform:
        """Terraform, with its log in the run's folder or beside the environment's keys."""
        environment = self.environment
        log = (log_directory or environment.state_directory) / "terraform.log"
        return Terraform(
            environment.directory,
            log,
            [str(environment.root / "terraform" / "init"), environment.name],
            self.clock.is_stopping,
        )

    def journal(self, policy: str | None = None, ask: Asked = nothing_asked) -> Journal:
        """The journal of the unfinished run, or of a new one. Raises ConfigError, and begins no run, when what is asked
        of it can't be."""
        environment = self.environment
        journal = unfinished_run(environment.runs_directory, environment.name)
        started_at = self.clock.now() if journal is None else journal.info().started_at
        asked, policy = ask(started_at), policy or environment.settings.controller.policy
        if journal is None:
            journal = start_run(
                environment.runs_directory,
                environment=environment.name,
                policy=policy,
                initial=environment.initial_fleet,
                now=started_at,
            )
        journal.set_policy(policy)
        limits = environment.settings.limits
        journal.promise(asked, Promises(limits.deadline_at, limits.budget_usd))
        self._journal = journal
        return journal

    def cluster(self, journal: Journal) -> LiveCluster:
        """The cluster, as one run sees it."""
        environment = self.environment
        started_at = journal.info().started_at

        def observed(observation: Observation) -> None:
            self.reporter.observed(observation, read_progress(observation, started_at), journal.spent_usd())

        return LiveCluster(
            environment,
            lambda outputs: self.prices(wanted_by(outputs)),
            journal,
            self.clock,
            terraform=self.terraform(journal.directory),
            ansible=Ansible(environment.root, journal.directory / "ansible", self.clock.is_stopping),
            aws=Aws(environment.settings.aws.region),
            answering=answering,
            observed=observed,
        )

    def bring_up(self, cluster: LiveCluster, journal: Journal) -> None:
        """Everything that Terraform declares, with the fleet of the capacity file, or the initial one where that is
        empty. A person's command: of an environment that exists, its plan has to be admitted."""
        self.check_first_fleet()
        terraform = self.terraform(journal.directory)
        fleet = cluster.capacity.read()
        if fleet.size == 0:
            fleet = self.environment.initial_fleet
            cluster.capacity.write(fleet)
        require_prices(self.prices(Wanted(dict.fromkeys(fleet.present))), fleet.present, self.environment)
        journal.set_initial(fleet)
        terraform.init()
        take_up_terraform_rc(self.environment)
        exists = terraform.outputs() is not None
        plan = terraform.plan(self.environment.state_directory / "apply.tfplan", read=exists)
        if plan.has_changes:
            if exists:
                self.admit(plan.document)
            terraform.apply(plan.file)
        cluster.forget()
        flavors = [*cluster.outputs.flavors, cluster.outputs.head.instance_type]
        require_prices(cluster.prices(), flavors, self.environment)

    def optimizer(
        self,
        journal: Journal,
        interval_s: float | None = None,
        approval: Approval = at_once,
    ) -> Optimizer:
        """The main job on one run; `approval` says which fleet may be moved to. Raises ConfigError."""
        self.check_first_fleet()
        environment = with_interval(self.environment, interval_s)
        cluster = self.cluster(journal)
        return Optimizer(
            environment,
            cluster,
            journal,
            self.clock,
            self.reporter,
            decider=self.decider(cluster, journal.info().policy),
            bring_up=lambda: self.bring_up(cluster, journal),
            approval=approval,
        )

    def decider(self, cluster: LiveCluster, policy: str) -> Decider:
        """How to decide in this environment with this policy."""
        return partial(self._decide, cluster, policy)

    def _decide(
        self,
        cluster: LiveCluster,
        policy: str,
        given: DecisionInput,
    ) -> Decision:
        declared = cluster.outputs.flavors
        settings = decide_settings(self.environment, policy, declared, cluster.head_usd_per_hour)
        usable = {flavor: price for flavor, price in given.prices.items() if flavor in declared}
        prices = ageless(usable, given.observations[-1].fleet)
        return decide(replace(given, prices=prices, settings=settings))


def open_context(root: Path, name: str, reporter: Reporter, clock: SystemClock) -> Context:
    """Reads and checks an environment's settings, and exports what the edges read from the process's environment.
    Raises ConfigError."""
    environment = load_environment(root, name)
    check_policy(environment.settings.controller.policy)
    decide_settings(environment, environment.settings.controller.policy, {}, 0.0)
    _export(environment)
    return Context(environment, clock, reporter)


def wanted_by(outputs: Outputs | None) -> Wanted:
    """The prices of what Terraform made."""
    if outputs is None:
        return NOTHING_WANTED
    return Wanted(
        markets={flavor: Market(made.market) for flavor, made in outputs.flavors.items()},
        groups={flavor: made.autoscaling_group for flavor, made in outputs.flavors.items()},
        heads=frozenset({outputs.head.instance_type}),
    )


def ageless(prices: Mapping[str, Price], fleet: Fleet) -> dict[str, Price]:
    """The prices, those of the flavors that run without their age: an old price is no reason to leave a flavor, only
    one not to move to it."""
    return {f: replace(price, fetched_at=None) if fleet.count(f) else price for f, price in prices.items()}


def check_policy(policy: str) -> None:
    """Raises ConfigError for a policy that there is not."""
    if policy not in POLICIES:
        raise ConfigError(f"There is no policy {policy!r}.", f"Choose one of {', '.join(sorted(POLICIES))}.")


def decide_settings(
    environment: Environment,
    policy: str,
    declared: Mapping[str, FlavorOutput],
    head_usd_per_hour: float,
) -> DecideSettings:
    """The policy's settings: those that the controller knows by itself, and `controller.decide` of centavo.yml."""
    controller, prices = environment.settings.controller, environment.settings.prices
    options: dict[str, Any] = dict(controller.decide)
    known = {field.name for field in fields(DecideSettings)} - DECIDED_ELSEWHERE
    unknown = sorted(set(options) - known)
    if unknown:
        raise ConfigError(
            f"{environment.settings_file}: controller.decide has unknown keys: {', '.join(unknown)}.",
            f"Known are {', '.join(sorted(known))}.",
        )
    try:
        for name, kind in (("objective", Objective), ("batches", Batches)):
            if name in options:
                options[name] = kind(options[name])
        if "switching" in options:
            options["switching"] = SwitchingAssumptions(**options["switching"])
    except (TypeError, ValueError) as error:
        raise ConfigError(f"{environment.settings_file}: controller.decide: {error}.", "Mend it there.") from error
    flavors = {name: _flavor(name, output) for name, output in declared.items()}
    return DecideSettings(
        **{
            "minimum_window": controller.minimum_window,
            "cooldown_s": controller.cooldown_s,
            **options,
            "policy": policy,
            "flavors": flavors,
            "head_usd_per_hour": head_usd_per_hour,
            "price_max_age_s": prices.max_age_s if prices.source is PriceSource.AWS else None,
        }
    )


def with_interval(environment: Environment, interval_s: float | None) -> Environment:
    """The environment with another rhythm of the loop."""
    if interval_s is None:
        return environment
    if interval_s <= 0:
        raise ConfigError(f"The interval is {interval_s} s.", "Give a number of seconds above zero.")
    controller = environment.settings.controller.model_copy(update={"interval_s": interval_s})
    settings = environment.settings.model_copy(update={"controller": controller})
    return Environment(environment.name, environment.root, settings)


def _flavor(name: str, output: FlavorOutput) -> Flavor:
    return Flavor(
        name,
        Market(output.market),
        output.max_nodes,
        output.vcpus,
        output.memory_bytes,
        burstable=name.startswith(BURSTABLE_FAMILIES),
    )


def _export(environment: Environment) -> None:
    """What boto3, Terraform and Ansible read from the process's environment."""
    aws = environment.settings.aws
    os.environ |= {
        **aws.environment,
        "AWS_REGION": aws.region,
        "AWS_DEFAULT_REGION": aws.region,
        "TF_IN_AUTOMATION": "1",
    }
    os.environ |= {"TF_VAR_ssh_public_key": ensure_key_pair(environment.identity_file)}
    take_up_terraform_rc(environment)


def take_up_terraform_rc(environment: Environment) -> None:
    """The CLI configuration that `terraform/init` has made, where it has made one (a provider mirror)."""
    configuration = environment.root / ".centavo" / "terraform.rc"
    if configuration.is_file():
        os.environ["TF_CLI_CONFIG_FILE"] = str(configuration)
