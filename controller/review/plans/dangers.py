"""The dangers that a person has to acknowledge, by the words that `--acknowledge` takes."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum


class Danger(str, Enum):
    """What has to be acknowledged."""

    DESTROY_STORAGE = "destroy-storage"
    OPEN_NETWORK = "open-network"
    CHANGE_IAM = "change-iam"
    END_TRAINING = "end-training"
    EXCEED_HOURLY_LIMIT = "exceed-hourly-limit"
    BUY_TOO_SMALL = "buy-too-small"


@dataclass(frozen=True)
class Finding:
    """One dangerous thing that a plan does. `address` is empty if it is about the whole plan."""

    danger: Danger
    address: str
    reason: str


def as_options(dangers: Iterable[Danger]) -> str:
    """Returns the options that acknowledge these dangers, each with a space before it."""
    return "".join(f" --acknowledge {danger.value}" for danger in dangers)
