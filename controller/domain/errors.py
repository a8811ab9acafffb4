"""The errors that Centavo tells a person about: what happened, to what, and what to do next.

Everything else that is raised is a fault of the program itself and keeps its traceback. Imports nothing of ours.
"""

from __future__ import annotations


class CentavoError(Exception):
    """Something went wrong that a person can do something about.

    `what` says what happened and to what, `next_step` what to do about it. `exit_code` is that of the command.
    """

    exit_code = 1

    def __init__(self, what: str, next_step: str = "") -> None:
        super().__init__(f"{what}\n  {next_step}" if next_step else what)
        self.what = what
        self.next_step = next_step


class ConfigError(CentavoError):
    """The settings, prices or limits of an environment can't be used."""

    exit_code = 4


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
    """A playbook failed on some hosts; `hosts` tells of each what went wrong there."""

    exit_code = 7

    def __init__(self, what: str, next_step: str = "", hosts: dict[str, str] | None = None) -> None:
        super().__init__(what, next_step)
        self.hosts = hosts or {}


class AwsError(CentavoError):
    """The AWS API could not be reached or refused a call."""

    exit_code = 8


class CapacityUnavailableError(CentavoError):
    """EC2 has no capacity, or the account no quota, for the flavors named."""

    exit_code = 9

    def __init__(self, what: str, flavors: tuple[str, ...] = ()) -> None:
        super().__init__(what)
        self.flavors = flavors


class NodesError(CentavoError):
    """Nodes did not come to life, answer, get configured or join within their time."""

    exit_code = 10

    def __init__(self, what: str, flavors: tuple[str, ...] = ()) -> None:
        super().__init__(what, "Look at the nodes with `centavo status`, and at the logs in runs/latest/.")
        self.flavors = flavors


class MoveStuckError(CentavoError):
    """A move can be neither finished nor undone at the moment. Nothing was removed."""

    exit_code = 11


class TrainingFailedError(CentavoError):
    """The training ended without success."""

    exit_code = 12


class JournalError(CentavoError):
    """A run's journal can't be read, or belongs to something else."""

    exit_code = 13


class StoppedError(CentavoError):
    """A person asked to stop (Ctrl-C, SIGTERM). The journal holds the state; the fleet stays as it is."""

    exit_code = 130
