"""The cluster of one environment during one run, put together from what looks, acts and reckons.

The edges are given from outside, so that tests can put others in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol

from controller.act.apply import Applier, GroupsPort, TerraformPort
from controller.act.capacity import CapacityFile
from controller.act.labels import Labels, LabelsPort
from controller.act.nodes import Nodes, PlaybooksPort
from controller.act.stopwatch import Stopwatch
from controller.config.environment import Environment
from controller.domain import Credits, Fleet, Instance, Observation, Price
from controller.edges.clock import Clock
from controller.edges.terraform import Outputs
from controller.observe.instances import Instances, InstancesPort
from controller.observe.look import FactsPort, Observer
from controller.observe.made import Made, OutputsPort
from controller.observe.prices.costs import Costs
from controller.observe.prices.metering import Unseen, metered
from controller.observe.reaching import Reaching
from controller.record.journal import Journal
from controller.supply.ports import BuilderPort, StorePort
from controller.supply.supplies import Supplies

PLAN_FILE = "capacity.tfplan"


class Terraform(TerraformPort, OutputsPort, Protocol):
    """The part of `edges.terraform.Terraform` that a cluster uses."""


class Ansible(PlaybooksPort, FactsPort, Protocol):
    """The part of `edges.ansible.Ansible` that a cluster uses."""


class Aws(InstancesPort, GroupsPort, LabelsPort, Protocol):
    """The part of `edges.aws.Aws` that a cluster uses."""


class LiveCluster:
    """The cluster of one environment during one run. Implements `act.cluster.Cluster`.

    Attributes:
        made: What Terraform has made.
        instances: What EC2 runs.
        observer: What is seen, the training's end included.
        costs: What head and workers cost.
        capacity: The capacity file.
        applier: What gives the groups their capacity.
        supplies: What the nodes get through the bucket.
        nodes: What is done on the nodes.
    """

    def __init__(
        self,
        environment: Environment,
        prices: Callable[[Outputs | None], Mapping[str, Price]],
        journal: Journal,
        clock: Clock,
        *,
        terraform: Terraform,
        ansible: Ansible,
        aws: Aws,
        store: StorePort,
        builder: BuilderPort,
        tell: Callable[[str], None] = lambda message: None,
        observed: Callable[[Observation], None] = lambda observation: None,
        credits_of: Callable[[Sequence[Instance]], Mapping[str, Credits]] = lambda workers: {},
        nat_bytes_of: Callable[[Sequence[str]], float] = lambda gateway_ids: 0.0,
    ) -> None:
        self._journal, self._observed = journal, observed
        self._credits_of, self._nat_bytes_of = credits_of, nat_bytes_of
        self._stopwatch = Stopwatch(clock.now, journal.add_duration)
        self.made = Made(terraform, environment.name)
        self.instances = Instances(aws, self.made)
        reaching = Reaching(environment, self.made, self.instances, journal.info().run, journal.directory)
        fact_max_age_s = environment.settings.controller.fact_max_age_s
        self.observer = Observer(self.instances, self.members, ansible, reaching, clock, fact_max_age_s)
        self.costs = Costs(environment, self.made, prices)
        self.capacity = CapacityFile(environment.capacity_file, journal.check_writer)
        plan_file = environment.state_directory / PLAN_FILE
        self.applier = Applier(self.capacity, self.made, terraform, aws, plan_file, journal.check_writer)
        self._labels = Labels(aws, self.made, journal.info().run, journal.check_writer)
        self.supplies = Supplies(environment, self.made, journal.directory, store, builder, tell)
        self.nodes = Nodes(ansible, self.instances, reaching, self.supplies, journal.set_members, journal.check_writer)

    # what a pass sees

    def observe(self) -> Observation:
        """Looks at EC2, the head and the nodes, and keeps what it saw in the journal."""
        seen = self.observer.look()
        observation = replace(seen, credits=self._credits_of(self.instances.last_workers))
        self._keep(observation)
        self._observed(observation)
        return observation

    def workers(self) -> tuple[Instance, ...]:
        """Returns the workers that are pending or running. Raises AwsError."""
        return self.instances.workers()

    def last_workers(self) -> tuple[Instance, ...]:
        """Returns the workers that the last look found pending or running."""
        return self.instances.last_workers

    def members(self) -> frozenset[str]:
        """Returns the ids of the instances in the hosts file, as last written."""
        return self._journal.members()

    def desired(self) -> Fleet:
        """Returns what the Auto Scaling groups are set to. Raises AwsError."""
        return self.applier.desired()

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        """Returns what EC2 said of the flavors that it could not launch since a time (seconds since the epoch)."""
        return self.instances.launch_failures(flavors, since)

    def training_has_ended(self) -> bool:
        """Returns whether a look has found the training at its end."""
        return self.observer.end is not None

    # what a pass does

    def set_capacity(self, fleet: Fleet) -> None:
        """Makes Terraform ask for this fleet. GuardError and CapacityFileError mean that nothing was changed."""
        with self._stopwatch.applying(fleet.beyond(self.capacity.last).size):
            self.applier.set_capacity(fleet)

    def empty_groups(self) -> None:
        """Gives all workers back without Terraform. Raises AwsError."""
        self.applier.empty_groups()

    def keep_labels(self, observation: Observation) -> None:
        """Gives the cluster's parts the names of run and ranks, where they lack them. Raises AwsError."""
        self._labels.keep_true(self.instances.listed, observation)

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        """Allows a scale-in to end exactly these instances."""
        self.applier.lift_protection(instances)

    def configure(self, instances: Sequence[Instance], timeout_s: float, *, with_head: bool = False) -> None:
        """Makes workers of these instances, warm and ready to join. Raises AnsibleError."""
        with self._stopwatch.configuring(len(instances)):
            self.nodes.configure(instances, timeout_s, with_head=with_head)

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        """Writes the hosts file: these instances take part in the training. Raises AnsibleError."""
        self.nodes.set_hosts(instances)

    def start_training(self) -> None:
        """Starts the launcher, unless it runs. Raises AnsibleError."""
        self.nodes.start_training()

    def stop_training(self) -> None:
        """Stops the launcher. Raises AnsibleError."""
        self.nodes.stop_training()

    # what is kept

    def _keep(self, observation: Observation) -> None:
        last_at = self._journal.last_observed_at()
        before = Unseen(self._journal.info().started_at if last_at is None else last_at, is_first=last_at is None)
        workers, head = self.instances.last_workers, self.instances.listed_head
        nat_bytes = self._nat_bytes_of(self.made.outputs.nat_gateway_ids)
        paid = metered(self.costs, workers, head, observation, before, nat_bytes)
        self._journal.add_observation(observation, paid.total_usd_per_hour, paid)
