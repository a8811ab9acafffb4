"""The cluster as the loop and a move see it: Terraform, Ansible, AWS and SSH put together, with the journal kept.

The four edges are given from outside, so that tests can put others in their places.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

from controller.act.capacity import CapacityFile, check_capacity
from controller.act.guard import Allowance, check
from controller.config.environment import Environment
from controller.domain import Fleet, Instance, Observation, Price, UnknownNode, head_price
from controller.domain.errors import (
    AnsibleError,
    AwsError,
    CapacityFileError,
    CapacityUnavailableError,
    CentavoError,
    GuardError,
    NodesError,
    TerraformError,
)
from controller.edges.ansible import Outcome
from controller.edges.clock import Clock
from controller.edges.files import write_whole
from controller.edges.ssh import SshAccess
from controller.edges.terraform import Outputs, Plan
from controller.observe.facts import LocalFacts, read_facts
from controller.observe.prices import no_price, require_prices
from controller.observe.progress import TrainingEnd, read_end
from controller.record.journal import Journal

PLAN_FILE = "capacity.tfplan"


class TerraformPort(Protocol):
    """The part of `edges.terraform.Terraform` that is used here."""

    def init(self) -> None: ...
    def plan(self, file: Path, *, destroy: bool = False, read: bool = True) -> Plan: ...
    def apply(self, file: Path) -> None: ...
    def outputs(self) -> Outputs | None: ...


class AnsiblePort(Protocol):
    """The part of `edges.ansible.Ansible` that is used here."""

    def read_local_facts(
        self, access: SshAccess, instances: Sequence[Instance], variables: Mapping[str, Any]
    ) -> Outcome: ...
    def play(
        self,
        playbook: str,
        access: SshAccess,
        instances: Sequence[Instance],
        variables: Mapping[str, Any],
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
    ) -> Outcome: ...


class AwsPort(Protocol):
    """The part of `edges.aws.Aws` that is used here."""

    def instances(self, cluster: str) -> tuple[Instance, ...]: ...
    def failures(self, group: str, since: float) -> tuple[str, ...]: ...
    def desired(self, groups: Iterable[str]) -> dict[str, int]: ...
    def empty(self, groups: Iterable[str]) -> None: ...
    def set_protection(self, group: str, instance_ids: Iterable[str], *, protected: bool) -> None: ...


Answering = Callable[[SshAccess, Iterable[Instance]], dict[str, "str | None"]]


class LiveCluster:
    """The cluster of one environment during one run. Implements `act.move.Cluster`."""

    def __init__(
        self,
        environment: Environment,
        prices: Callable[[Outputs | None], Mapping[str, Price]],
        journal: Journal,
        clock: Clock,
        *,
        terraform: TerraformPort,
        ansible: AnsiblePort,
        aws: AwsPort,
        answering: Answering,
        observed: Callable[[Observation], None] = lambda observation: None,
    ) -> None:
        self._environment, self._journal, self._clock = environment, journal, clock
        self._terraform, self._ansible, self._aws, self._answering = terraform, ansible, aws, answering
        self._prices = prices
        self._observed = observed
        self.capacity = CapacityFile(environment.capacity_file)
        self._outputs: Outputs | None = None
        self._workers: tuple[Instance, ...] = ()
        self._head: Instance | None = None
        self.end: TrainingEnd | None = None

    # what Terraform keeps

    @property
    def outputs(self) -> Outputs:
        """What Terraform made. Raises CentavoError before the first apply."""
        if self._outputs is None:
            self._outputs = self._terraform.outputs()
        if self._outputs is None:
            raise CentavoError(f"The environment {self._environment.name} is not up.", "Run `centavo apply` first.")
        return self._outputs

    def forget(self) -> None:
        """Reads anew what Terraform made: after an apply that a person asked for."""
        self._outputs, self._head = None, None

    def prices(self) -> Mapping[str, Price]:
        """What flavors and head cost now; before the first apply, whatever is known."""
        return self._prices(self._outputs)

    @property
    def head_usd_per_hour(self) -> float:
        """What the head costs an hour. Raises ConfigError when its type has no price."""
        return self._head_usd_per_hour(self.prices())

    def set_capacity(self, fleet: Fleet) -> None:
        """Capacity file, plan, guard, apply: for `fleet`, every declared flavor written out. Does nothing when all is
        so already. Where nothing was applied the file is put back as it was."""
        whole = Fleet({flavor: fleet.count(flavor) for flavor in {*self.outputs.flavors, *fleet}})
        check_capacity(whole, self.capacity.path, self._most())
        self.capacity.refuse_if_changed()
        before = self.capacity.last
        if before == whole and self._desired() == whole:
            return
        self.capacity.write(whole)
        file = self._environment.state_directory / PLAN_FILE
        try:
            plan = self._terraform.plan(file)
            if plan.has_changes:
                check(plan.document, Allowance(whole, self._group_flavors(), self._most()))
        except (GuardError, TerraformError):
            self.capacity.write(before)
            raise
        if plan.has_changes:
            self._terraform.apply(file)

    def empty_groups(self) -> None:
        """Gives all workers back without Terraform, which finds it done when it looks the next time."""
        self._aws.empty(self._group_flavors())
        self.capacity.write(Fleet(dict.fromkeys(self.outputs.flavors, 0)))

    def _most(self) -> dict[str, int]:
        return {flavor: output.max_nodes for flavor, output in self.outputs.flavors.items()}

    def _group_flavors(self) -> dict[str, str]:
        return {output.autoscaling_group: flavor for flavor, output in self.outputs.flavors.items()}

    def _desired(self) -> Fleet:
        flavors = self._group_flavors()
        return Fleet({flavors[group]: count for group, count in self._aws.desired(flavors).items()})

    def check_file_is_applied(self) -> None:
        """Raises CapacityFileError when the file asks for another fleet than the groups have: a person has changed it
        and not applied it."""
        if self.capacity.read() != (desired := self._desired()):
            raise CapacityFileError(
                f"{self.capacity.path} asks for {self.capacity.last}, and the groups are set to {desired}.",
                "Run `centavo apply` to take that up, or restore the file; then start `centavo optimize` again.",
            )

    # what EC2 runs

    def workers(self) -> tuple[Instance, ...]:
        """Workers that are pending or running."""
        instances = self._aws.instances(self.outputs.cluster)
        self._head = next((i for i in instances if i.instance_id == self.outputs.head.instance_id), self._head)
        self._workers = tuple(i for i in instances if i.role == "worker")
        return self._workers

    def head(self) -> Instance:
        """The head. Raises NodesError when EC2 does not run it."""
        if self._head is None:
            self.workers()
        if self._head is None:
            raise NodesError(f"The head {self.outputs.head.instance_id} does not run. `centavo apply` makes another.")
        return self._head

    def launch_failures(self, flavors: Iterable[str], since: float) -> Mapping[str, str]:
        """Flavors that EC2 could not launch since then, with its reason; unknown counts as none."""
        found: dict[str, str] = {}
        for flavor in flavors:
            try:
                failures = self._aws.failures(self.outputs.flavors[flavor].autoscaling_group, since)
            except AwsError:
                continue
            if failures:
                found[flavor] = failures[0]
        return found

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        """Lets exactly these instances be ended by a scale-in."""
        for flavor in sorted({i.flavor for i in instances}):
            group = self.outputs.flavors[flavor].autoscaling_group
            self._aws.set_protection(group, [i.instance_id for i in instances if i.flavor == flavor], protected=False)

    def wait_until_running(self, fleet: Fleet, since: float) -> tuple[Instance, ...]:
        """The running workers once they are `fleet` and answer, head included. Raises NodesError or
        CapacityUnavailableError, naming what is missing."""
        timeouts, poll_s = self._environment.settings.controller.timeouts, self._environment.settings.controller.poll_s
        deadline = self._clock.now() + timeouts.boot_s
        while True:
            running = [i for i in self.workers() if i.is_running]
            counts = Fleet({f: sum(i.flavor == f for i in running) for f in {i.flavor for i in running}})
            missing = {f: n - counts.count(f) for f, n in fleet.present.items() if counts.count(f) < n}
            silent = {} if missing else self.silent([self.head(), *running])
            if not missing and not silent:
                return tuple(running)
            if failures := self.launch_failures(missing, since):
                raise CapacityUnavailableError(
                    "EC2 could not launch "
                    + "; ".join(f"{flavor}: {reason}" for flavor, reason in sorted(failures.items())),
                    tuple(sorted(failures)),
                )
            if self._clock.now() >= deadline:
                what = (
                    f"do not run: {Fleet(missing)}"
                    if missing
                    else "do not answer over SSH: "
                    + "; ".join(f"{node} ({said})" for node, said in sorted(silent.items()))
                )
                raise NodesError(f"After {timeouts.boot_s:.0f} s these nodes {what}.")
            self._clock.sleep(poll_s)

    # what Ansible does on the nodes

    def silent(self, instances: Sequence[Instance]) -> Mapping[str, str]:
        """Those that don't answer SSH, with what was said."""
        answers = self._answering(self._access(), instances)
        return {node: said for node, said in answers.items() if said is not None}

    def configure(self, instances: Sequence[Instance], timeout_s: float) -> None:
        """Makes workers of these nodes, warm and ready to join."""
        self._keep_training_config()
        self._play("site.yml", instances, limit=[i.instance_id for i in instances], timeout_s=timeout_s)

    def configure_all(self) -> Outcome:
        """Prepares the head and all running workers; changes nothing where all is so already."""
        timeout_s = self._environment.settings.controller.timeouts.configure_s
        self._keep_training_config()
        return self._play("site.yml", self._running(), timeout_s=timeout_s)

    def set_hosts(self, instances: Sequence[Instance]) -> None:
        """Writes the hosts file: who takes part. The journal is told first, so that it never knows too little."""
        self._journal.set_members(frozenset(i.instance_id for i in instances))
        self._play("hosts.yml", [], addresses=[i.private_ip for i in instances])

    def start_training(self) -> None:
        """Starts the launcher on the head, unless it runs already."""
        self._play("start.yml", [])

    def stop_training(self) -> None:
        """Stops the launcher on the head."""
        self._play("stop.yml", [])

    def fetch_results(self) -> None:
        """Brings the training's results from the head into the run's folder."""
        destination = self._journal.directory / "results"
        destination.mkdir(exist_ok=True)
        self._play("fetch.yml", [], destination=str(destination))

    def members(self) -> frozenset[str]:
        """The instances in the hosts file, as last written."""
        return self._journal.members()

    def _play(
        self,
        playbook: str,
        instances: Sequence[Instance],
        *,
        limit: Sequence[str] | None = None,
        timeout_s: float | None = None,
        **extra: Any,
    ) -> Outcome:
        return self._ansible.play(
            playbook,
            self._access(),
            [self.head(), *instances],
            {"centavo": self._variables(), **extra},
            limit=limit,
            timeout_s=timeout_s,
        )

    def _running(self) -> list[Instance]:
        return [i for i in self.workers() if i.is_running]

    def _access(self) -> SshAccess:
        ssh = self._environment.settings.ssh
        return SshAccess(
            ssh.user,
            ssh.port,
            self._environment.identity_file,
            self._environment.state_directory / "known_hosts",
            self.head(),
            ssh.jump_through_head,
        )

    def _variables(self) -> dict[str, Any]:
        settings = self._environment.settings
        return {
            "root": settings.nodes.root,
            "python": settings.nodes.python,
            "fact_path": settings.nodes.fact_path,
            "network_interface": settings.nodes.network_interface,
            "ssh_port": settings.ssh.port,
            "cluster": self.outputs.cluster,
            "bucket": self.outputs.bucket,
            "run": self._journal.info().run,
            "training_config": str(self._training_config),
            "package": str(self._journal.directory / "trainer.zip"),
            "min_np": 1,
            "max_np": self._max_ranks(),
            "environment": self._environment.name,
        }

    @property
    def _training_config(self) -> Path:
        """The run's own copy of training.yml."""
        return self._journal.directory / "training.yml"

    def _keep_training_config(self) -> None:
        """Copies training.yml, once in a run: nodes that join later get what the first ones got."""
        if not self._training_config.is_file():
            given = self._environment.path(self._environment.settings.training.config)
            write_whole(self._training_config, given.read_bytes())

    def _max_ranks(self) -> int:
        """As many ranks as may ever train at once: two fleets, while a move has grown and not yet shrunk."""
        declared = sum(self._most().values())
        most = self._environment.settings.limits.max_nodes
        return declared if most is None else min(declared, 2 * most)

    # what the nodes say

    def observe(self) -> Observation:
        """Reads the facts of all members and keeps them in the journal. What can't be asked is unknown."""
        observation = self.look()
        self._journal.add_observation(observation, self._cost(self._workers))
        self._observed(observation)
        return observation

    def look(self) -> Observation:
        """Reads the facts of all members; keeps nothing."""
        try:
            workers = self.workers()
        except AwsError as error:
            return self._blind(f"EC2 could not be asked: {error.what}")
        members = self.members()
        taking_part = tuple(i for i in workers if i.is_running and i.instance_id in members)
        try:
            outcome = self._ansible.read_local_facts(
                self._access(), [self.head(), *taking_part], {"centavo": self._variables()}
            )
        except AnsibleError as error:
            return self._blind(f"Ansible could not be run: {error.what}")
        now = self._clock.now()
        self.end = read_end(outcome.local_facts.get(self.head().instance_id)) or self.end
        facts, unknown = read_facts(
            taking_part,
            LocalFacts(outcome.local_facts, outcome.failures),
            now=now,
            max_age_s=self._environment.settings.controller.fact_max_age_s,
        )
        aside = tuple(
            UnknownNode(i.instance_id, i.flavor, "it does not take part in the training yet")
            for i in workers
            if i not in taking_part
        )
        return Observation(now, _fleet(workers), facts, unknown + aside)

    def note_cost(self) -> None:
        """Keeps in the journal what runs and costs money now, without asking the nodes."""
        workers = self.workers()
        unknown = tuple(UnknownNode(i.instance_id, i.flavor, "it was not asked") for i in workers)
        self._journal.add_observation(Observation(self._clock.now(), _fleet(workers), (), unknown), self._cost(workers))

    def _blind(self, reason: str) -> Observation:
        """The fleet as it was last seen, with nothing known of it."""
        unknown = tuple(UnknownNode(i.instance_id, i.flavor, reason) for i in self._workers)
        return Observation(self._clock.now(), _fleet(self._workers), (), unknown)

    def training_has_ended(self) -> bool:
        """Whether the last observation found the training at its end."""
        return self.end is not None

    def _cost(self, workers: Collection[Instance]) -> float:
        """US dollars an hour of head and workers. Raises ConfigError when one of them has no price."""
        prices = self.prices()
        require_prices(prices, (i.flavor for i in workers), self._environment)
        return self._head_usd_per_hour(prices) + sum(prices[i.flavor].usd_per_hour for i in workers)

    def _head_usd_per_hour(self, prices: Mapping[str, Price]) -> float:
        instance_type = self.outputs.head.instance_type
        price = head_price(prices, instance_type)
        if price is None:
            raise no_price([instance_type], self._environment)
        return price.usd_per_hour


def _fleet(workers: Sequence[Instance]) -> Fleet:
    running = [i.flavor for i in workers if i.is_running]
    return Fleet({flavor: running.count(flavor) for flavor in set(running)})
