"""The errors that Centavo tells a person about: what happened, to what, and what to do next.

Everything else that is raised is a fault of the program itself and keeps its traceback.
"""

from __future__ import annotations

from controller.domain.reasons import Reason, Said


class CentavoError(Exception):
    """Something went wrong that a person can do something about.

    Attributes:
        what: What happened and to what, for people.
        next_step: What to do about it, for people.
        reason: The same as `what`, for programs. `Said` where no reason of its own kind exists.
        exit_code: The exit code of a command that ends with this error.
    """

    exit_code = 1

    def __init__(self, what: str, next_step: str = "", *, reason: Reason | None = None) -> None:
        super().__init__(f"{what}\n  {next_step}" if next_step else what)
        self.what = what
        self.next_step = next_step
        self.reason: Reason = Said(what) if reason is None else reason


class ConfigError(CentavoError):
    """The settings, prices or limits of an environment can't be used."""

    exit_code = 4


class NodesTooSmallError(ConfigError):
    """Nodes that were about to be bought have too little memory for the training. None was bought."""


class CapacityFileError(CentavoError):
    """The capacity file is corrupt, asks for something absurd, or was changed by someone else."""

    exit_code = 5


class GuardError(CentavoError):
    """A plan would do more than it may."""

    exit_code = 3


class TerraformError(CentavoError):
    """A Terraform command failed."""

    exit_code = 6


class AnsibleError(CentavoError):
    """A playbook failed. `hosts` says of each host where it failed what went wrong there."""

    exit_code = 7

    def __init__(
        self,
        what: str,
        next_step: str = "",
        hosts: dict[str, str] | None = None,
        *,
        reason: Reason | None = None,
    ) -> None:
        super().__init__(what, next_step, reason=reason)
        self.hosts = hosts or {}


class SupplyError(AnsibleError):
    """What the nodes need could not be made, such as their packages."""


class AwsError(CentavoError):
    """The AWS API could not be reached or refused a call."""

    exit_code = 8


class FlavorsError(CentavoError):
    """Nodes of some flavors could not be had or used. `flavors` names them; empty where it is not known which."""

    def __init__(
        self,
        what: str,
        next_step: str = "",
        *,
        reason: Reason | None = None,
        flavors: tuple[str, ...] = (),
    ) -> None:
        super().__init__(what, next_step, reason=reason)
        self.flavors = flavors


class CapacityUnavailableError(FlavorsError):
    """EC2 has no capacity, or the account no quota, for the flavors named."""

    exit_code = 9


class NodesError(FlavorsError):
    """Nodes did not come to life, answer, get configured, join or end within their time."""

    exit_code = 10


class HeadError(CentavoError):
    """The head does not answer, and nothing can be done with the nodes without it."""

    exit_code = 11


class TrainingFailedError(CentavoError):
    """The training ended without success."""

    exit_code = 12


class BudgetReachedError(CentavoError):
    """The training was stopped, because its budget is used up. Everything was given back."""

    exit_code = 14


class AskedToStopError(CentavoError):
    """The training was stopped, because a person asked for it. Everything was given back."""

    exit_code = 15


class JournalError(CentavoError):
    """A run's journal can't be read, or belongs to something else."""

    exit_code = 13


class LockedError(CentavoError):
    """Another command works in the environment. Nothing was changed."""

    exit_code = 16


class SupersededError(CentavoError):
    """This controller has lost the environment's lock or the cluster's lease, or another one has taken over its run.

    It does nothing more.
    """

    exit_code = 17


class LeaseUncertainError(CentavoError):
    """The cluster's lease may have run out, since its bucket can't be reached. Nothing is changed until it is sure."""

    exit_code = 19


class DiskError(CentavoError):
    """A file that has to be written can't be: the disk is full or fails. A later attempt may do better."""

    exit_code = 18


class StoppedError(CentavoError):
    """A person asked to stop (Ctrl-C, SIGTERM). The journal holds the state; the fleet stays as it is."""

    exit_code = 130
