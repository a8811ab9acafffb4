"""The context of a command: one environment, with its prices, its edges, its run and its main job put together."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from controller.cluster import LiveCluster
from controller.commands.shared.before_apply import check_before_apply
from controller.commands.shared.exports import export, export_terraform_rc
from controller.commands.shared.node_memory import refuse_too_small
from controller.commands.shared.owned import Owner
from controller.commands.shared.unfinished import unfinished_here
from controller.config.checks import check_budget, check_limits
from controller.config.constraints import Asked, Constraints, nothing_asked
from controller.config.environment import Environment
from controller.config.load import load_environment
from controller.domain import Observation, Price
from controller.edges.account.credits import AwsCredits
from controller.edges.account.gateways import AwsGateways
from controller.edges.ansible import Ansible
from controller.edges.aws import Aws
from controller.edges.clock import SystemClock
from controller.edges.prices import AwsPrices
from controller.edges.supplying.store import Store
from controller.edges.supplying.wheel_builder import WheelBuilder
from controller.edges.terraform import Outputs, Terraform, TerraformLimits
from controller.edges.terraform_plan import parse_plan
from controller.loop import Approval, Decider, Optimizer, at_once
from controller.loop.decide_settings import check_policy, decide_settings, make_decider
from controller.observe.credits.asked import AskedCredits
from controller.observe.made import Made
from controller.observe.prices.asked import Wanted
from controller.observe.prices.book import NOTHING_WANTED, open_book, wanted_by
from controller.observe.prices.gateways import AskedGateways
from controller.observe.prices.listed import require_prices
from controller.observe.progress import read_progress
from controller.record.journal import Journal
from controller.record.journal.runs import start_run
from controller.record.live.reporter import Reporter
from controller.supply.provided import kept
from controller.supply.supplies import check_corpus


@dataclass
class Context:
    """What the commands work with, in one environment.

    Attributes:
        admit: Raises GuardError for the plan (its JSON) of a person that does what has to be acknowledged first.
    """

    environment: Environment
    clock: SystemClock
    reporter: Reporter
    admit: Callable[[Mapping[str, Any]], None] = lambda document: None

    def __post_init__(self) -> None:
        api = AwsPrices(self.environment.settings.aws.region)
        self.book = open_book(self.environment, api, self.clock.now, self.note)
        self._journal: Journal | None = None
        self.owner = Owner(self.environment, self.clock, self.note, self._tell)
        self._made: Made | None = None

    # prices

    def prices(self, wanted: Wanted = NOTHING_WANTED) -> Mapping[str, Price]:
        """Returns all prices that are known, those wanted as fresh as can be had. Raises ConfigError."""
        return self.book.of(wanted)

    @property
    def usd_per_hour(self) -> Mapping[str, float]:
        """The latest prices as plain numbers. The mapping follows them."""
        return self.book.usd_per_hour

    def check_first_fleet(self) -> None:
        """Raises ConfigError when a flavor of the initial fleet has no price, the limits allow no such fleet, or a file
        of the corpus is missing."""
        environment = self.environment
        if self._journal is None or kept(self._journal.directory) is None:
            check_corpus(environment)
        flavors = {*environment.initial_fleet, *environment.settings.limits.max_nodes_per_flavor}
        prices = self.prices(Wanted(dict.fromkeys(flavors)))
        require_prices(prices, environment.initial_fleet, environment)
        check_limits(environment, {flavor: price.usd_per_hour for flavor, price in prices.items()})

    # edges

    def terraform(self, log_directory: Path | None = None) -> Terraform:
        """Returns Terraform, with its log in the run's folder or beside the environment's keys."""
        environment = self.environment
        log = (log_directory or environment.state_directory) / "terraform.log"
        init_script = [str(environment.root / "terraform" / "init"), environment.name]
        limits = TerraformLimits(**environment.settings.controller.timeouts.terraform.model_dump())
        records = environment.state_directory / "terraform"
        return Terraform(environment.directory, log, init_script, self.clock.is_stopping, limits, records, self.note)

    def cluster(self, journal: Journal) -> LiveCluster:
        """Returns the cluster, as one run sees it."""
        environment = self.environment
        started_at, region = journal.info().started_at, environment.settings.aws.region

        def observed(observation: Observation) -> None:
            progress = read_progress(observation, started_at)
            self.reporter.observed(observation, progress, journal.spent_usd())
            self.owner.saw(progress, observation.at)

        cluster = LiveCluster(
            environment,
            lambda outputs: self.prices(wanted_by(outputs)),
            journal,
            self.clock,
            terraform=self.terraform(journal.directory),
            ansible=Ansible(environment.root, journal.directory / "ansible", self.clock.is_stopping, self.clock.now),
            aws=Aws(region),
            store=Store(region),
            builder=WheelBuilder(environment.root, self.clock.is_stopping),
            tell=self.note,
            observed=observed,
            credits_of=AskedCredits(AwsCredits(region), self.clock.now, self.note).of,
            nat_bytes_of=AskedGateways(AwsGateways(region), started_at, self.clock.now, self.note).bytes_of,
        )
        self._made = cluster.made
        return cluster

    def known(self) -> Outputs | None:
        """Returns what Terraform has made, if this command has read it already."""
        return None if self._made is None else self._made.known

    # the run

    def set_interval(self, interval_s: float | None) -> None:
        """Sets the time between two looks of the loop, in seconds; None keeps centavo.yml's. Raises ConfigError."""
        self.environment = self.environment.with_interval(interval_s)

    def journal(self, policy: str | None = None, ask: Asked = nothing_asked) -> Journal:
        """Returns the journal of the unfinished run, or of a new one.

        Args:
            policy: How to decide; None is what centavo.yml says.
            ask: What a person asks of the run: deadline and budget.

        Raises:
            ConfigError: What is asked can't be. No run was made then.
        """
        environment = self.environment
        journal = unfinished_here(environment, self.owner, self.clock.now())
        started_at = self.clock.now() if journal is None else journal.info().started_at
        asked, policy = ask(started_at), policy or environment.settings.controller.policy
        if asked.budget_usd is not None:
            check_budget(environment, asked.budget_usd)
        if journal is None:
            self.owner.check_new_run()
            journal = start_run(
                environment.runs_directory,
                environment=environment.name,
                policy=policy,
                initial=environment.initial_fleet,
                now=started_at,
            )
        self.owner.take_over(journal)
        journal.set_policy(policy)
        limits = environment.settings.limits
        journal.keep_constraints(asked, Constraints(limits.deadline_at, limits.budget_usd, limits.ceiling_usd))
        self._journal = journal
        return journal

    def bring_up(self, cluster: LiveCluster, journal: Journal) -> None:
        """Makes everything that Terraform declares, with the fleet of the capacity file, or else the initial fleet.

        This is a person's command: where the environment exists already, its plan has to be admitted. A first apply
        that was killed is made again as a first one.
        """
        self.check_first_fleet()
        cluster.supplies.make_ready()
        terraform = self.terraform(journal.directory)
        fleet = cluster.capacity.read()
        if fleet.size == 0:
            fleet = self.environment.initial_fleet
            cluster.capacity.write(fleet)
        require_prices(self.prices(Wanted(dict.fromkeys(fleet.present))), fleet.present, self.environment)
        journal.set_initial(fleet)
        terraform.init()
        export_terraform_rc(self.environment)
        exists = terraform.is_made()
        if exists and cluster.made.is_anything:
            self._start_head(cluster)
        plan = terraform.plan(self.environment.state_directory / "apply.tfplan")
        if plan.has_changes:
            parsed = parse_plan(plan.document)
            check_before_apply(self.environment, parsed)
            refuse_too_small(self.environment, parsed, self.note)
            types = sorted(parsed.instance_types)
            require_prices(self.prices(Wanted(dict.fromkeys(types))), types, self.environment)
            if exists:
                self.admit(plan.document)
            journal.check_writer()
            terraform.apply(plan.file)
        cluster.made.forget()
        outputs = cluster.made.outputs
        self.owner.found(outputs.bucket, journal)
        require_prices(cluster.costs.prices(), [*outputs.flavors, outputs.head.instance_type], self.environment)

    def _start_head(self, cluster: LiveCluster) -> None:
        """Starts a head that the dead man's switch has stopped. Raises AwsError."""
        head = cluster.made.outputs.head.instance_id
        if Aws(self.environment.settings.aws.region).start_stopped(head, self.clock.sleep):
            self.note(f"the head {head} was stopped, and is started again")

    def decider(self, cluster: LiveCluster, policy: str) -> Decider:
        """Returns how to decide in this environment with this policy."""
        return make_decider(self.environment, cluster, policy)

    def optimizer(self, journal: Journal, approval: Approval = at_once) -> Optimizer:
        """Returns the main job on one run; `approval` says which fleet may be moved to. Raises ConfigError."""
        self.check_first_fleet()
        cluster = self.cluster(journal)
        return Optimizer(
            self.environment,
            cluster,
            journal,
            self.clock,
            self.reporter,
            decider=self.decider(cluster, journal.info().policy),
            bring_up=lambda: self.bring_up(cluster, journal),
            approval=approval,
            asked=lambda: self.owner.asked(journal.info().run),
        )

    def _tell(self, message: str) -> None:
        """Tells people something, and leaves the journal alone."""
        self.reporter.note(self.clock.now(), message)

    def note(self, message: str) -> None:
        """Tells people something, and keeps it in the journal if there is a run."""
        now = self.clock.now()
        if self._journal is not None:
            self._journal.add_event(now, "note", message)
        self.reporter.note(now, message)


def open_context(root: Path, name: str, reporter: Reporter, clock: SystemClock) -> Context:
    """Returns the context of an environment, whose settings were read and checked.

    What boto3, Terraform and Ansible read is exported to the process's environment.

    Raises:
        ConfigError: The settings can't be used.
    """
    environment = load_environment(root, name)
    check_policy(environment.settings.controller.policy)
    decide_settings(environment, environment.settings.controller.policy, {}, 0.0)
    export(environment)
    return Context(environment, clock, reporter)
