"""What policies are asked: whether an action on a resource is allowed, in the context of a request."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

ANY = ""
"""A resource that is not known: a statement on any resource then counts."""
EVERYTHING = "*"
"""The resource of an action that IAM cannot limit to a resource."""


@dataclass(frozen=True)
class Question:
    """An action, and the ARN of what it is done to.

    Attributes:
        context: the values of condition keys, such as `aws:ResourceTag/NAME`; a key that is missing has no value.
    """

    action: str
    resource: str = ANY
    context: Mapping[str, str] = field(default_factory=dict)
