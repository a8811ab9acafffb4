"""What is scarce and how boots fail in this cloud: set by the configuration, and changed by the control API."""

from __future__ import annotations

from dataclasses import dataclass

from localcloud.settings import BootFailure, Settings


@dataclass
class Faults:
    """Limits and failures by name. A name that is missing has no limit and no failure.

    Attributes:
        capacity: flavor to the most instances at a time.
        vcpu_quotas: code of an EC2 quota to vCPUs; a quota that is missing has its default.
        boot_failures: flavor to how the boot of new instances fails.
    """

    capacity: dict[str, int]
    vcpu_quotas: dict[str, int]
    boot_failures: dict[str, BootFailure]

    @classmethod
    def of(cls, settings: Settings) -> Faults:
        """Returns the limits and failures that a cloud starts with."""
        return cls(dict(settings.capacity), dict(settings.vcpu_quotas), dict(settings.fail_boot))
