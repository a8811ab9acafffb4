"""Applying capacity: capacity file, plan, guard, apply, and nothing where all is so already."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from controller.act.capacity import CapacityFile, check_capacity
from controller.act.guard import Allowance, check
from controller.domain import Fleet, Instance
from controller.domain.errors import CapacityFileError, GuardError, TerraformError
from controller.domain.reasons.plans import CapacityNotApplied
from controller.edges.terraform import Plan
from controller.observe.made import Made
from controller.words.reasons.sentences import as_sentence


class TerraformPort(Protocol):
    """The part of `edges.terraform.Terraform` that is used here."""

    def plan(self, file: Path, *, destroy: bool = False, read: bool = True) -> Plan: ...
    def apply(self, file: Path) -> None: ...


class GroupsPort(Protocol):
    """The part of `edges.aws.Aws` that is used here."""

    def desired(self, groups: Iterable[str]) -> dict[str, int]: ...
    def empty(self, groups: Iterable[str]) -> None: ...
    def set_protection(self, group: str, instance_ids: Iterable[str], *, protected: bool) -> None: ...
    def end_instance(self, instance_id: str) -> None: ...
    def reboot(self, instance_id: str) -> None: ...


class Applier:
    """Gives the flavors' Auto Scaling groups the capacity that is wanted.

    Every method that changes something raises SupersededError where another controller has taken over.

    Args:
        check_writer: Raises SupersededError where this controller may not change anything any more.
    """

    def __init__(
        self,
        file: CapacityFile,
        made: Made,
        terraform: TerraformPort,
        aws: GroupsPort,
        plan_file: Path,
        check_writer: Callable[[], None] = lambda: None,
    ) -> None:
        self._file, self._made, self._check_writer = file, made, check_writer
        self._terraform, self._aws, self._plan_file = terraform, aws, plan_file

    def set_capacity(self, fleet: Fleet) -> None:
        """Makes Terraform ask for this fleet, every declared flavor written out.

        Raises:
            CapacityFileError: The fleet is not allowed, or someone else has changed the file. Nothing was changed.
            GuardError: The plan would do more than change capacities. The file was put back, nothing was applied.
            TerraformError: Planning failed, and the file was put back; or applying failed, and the file stays.
        """
        whole = Fleet({flavor: fleet.count(flavor) for flavor in {*self._made.outputs.flavors, *fleet}})
        check_capacity(whole, self._file.path, self._made.max_nodes)
        self._file.refuse_if_changed()
        before = self._file.last
        if before == whole and self.desired() == whole:
            return
        self._file.write(whole)
        try:
            plan = self._guarded_plan(whole)
        except (GuardError, TerraformError):
            self._file.write(before)
            raise
        if plan.has_changes:
            self._check_writer()
            self._terraform.apply(plan.file)

    def _guarded_plan(self, fleet: Fleet) -> Plan:
        """Returns a plan that may be applied. Raises GuardError for one that may not."""
        plan = self._terraform.plan(self._plan_file)
        if plan.has_changes:
            check(plan.document, Allowance(fleet, self._made.group_flavors, self._made.max_nodes))
        return plan

    def lift_protection(self, instances: Sequence[Instance]) -> None:
        """Allows a scale-in to end exactly these instances."""
        for flavor in sorted({i.flavor for i in instances}):
            group = self._made.outputs.flavors[flavor].autoscaling_group
            self._check_writer()
            self._aws.set_protection(group, [i.instance_id for i in instances if i.flavor == flavor], protected=False)

    def end_instance(self, instance: Instance) -> None:
        """Ends a worker, so that its group launches another one."""
        self._check_writer()
        self._aws.end_instance(instance.instance_id)

    def reboot(self, instance: Instance) -> None:
        """Reboots an instance. Its services come up by themselves."""
        self._check_writer()
        self._aws.reboot(instance.instance_id)

    def empty_groups(self) -> None:
        """Gives all workers back without Terraform, which finds it done when it looks the next time."""
        self._check_writer()
        self._aws.empty(self._made.group_flavors)
        self._file.write(Fleet(dict.fromkeys(self._made.outputs.flavors, 0)))

    def check_file_is_applied(self) -> None:
        """Raises CapacityFileError when the file asks for another fleet than the groups are set to.

        Then a person has changed the file and not applied it.
        """
        asked, applied = self._file.read(), self.desired()
        if asked != applied:
            reason = CapacityNotApplied(str(self._file.path), asked, applied)
            raise CapacityFileError(
                as_sentence(reason),
                "Run `centavo apply` to apply the file, or restore it; then start `centavo optimize` again.",
                reason=reason,
            )

    def desired(self) -> Fleet:
        """Returns what the Auto Scaling groups are set to. Raises AwsError."""
        flavors = self._made.group_flavors
        return Fleet({flavors[group]: count for group, count in self._aws.desired(flavors).items()})
