"""An evaluator of IAM policies: actions, resources and conditions of identity-based policies.

It follows "Policy evaluation logic" in AWS's IAM guide: an explicit denial wins, and what nothing allows is denied.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from enum import Enum
from typing import Any

from localcloud.api.iam.conditions import hold
from localcloud.api.iam.patterns import fits
from localcloud.api.iam.question import ANY, Question

Policy = Mapping[str, Any]
VARIABLE = re.compile(r"\$\{([^}]+)\}")
NOTHING = "\0"
"""What stands for a policy variable that a request does not have: no resource has it in its name."""


class Verdict(Enum):
    """What policies say to a question."""

    ALLOWED = "allowed"
    DENIED = "denied"
    NOT_ALLOWED = "not allowed"


def verdict(policies: Iterable[Policy], question: Question) -> Verdict:
    """Returns what policies say together.

    Raises:
        UnknownConditionError: a statement that fits has a condition that is not known here.
    """
    statements = [statement for policy in policies for statement in _several(policy["Statement"])]
    effects = {statement["Effect"] for statement in statements if _applies(statement, question)}
    if "Deny" in effects:
        return Verdict.DENIED
    return Verdict.ALLOWED if "Allow" in effects else Verdict.NOT_ALLOWED


def _applies(statement: Mapping[str, Any], question: Question) -> bool:
    return (
        _names_action(statement, question.action)
        and _names_resource(statement, question)
        and hold(statement.get("Condition", {}), question.context)
    )


def _names_action(statement: Mapping[str, Any], action: str) -> bool:
    """Returns whether a statement is about an action. Actions ignore case."""
    if "NotAction" in statement:
        return not any(fits(wanted, action, fold=True) for wanted in _several(statement["NotAction"]))
    return any(fits(wanted, action, fold=True) for wanted in _several(statement["Action"]))


def _names_resource(statement: Mapping[str, Any], question: Question) -> bool:
    if question.resource == ANY:
        return True
    patterns = [_filled(p, question.context) for p in _several(statement.get("Resource", statement.get("NotResource")))]
    return any(fits(pattern, question.resource) for pattern in patterns) is ("Resource" in statement)


def _filled(pattern: str, context: Mapping[str, str]) -> str:
    """Returns a pattern with the values of its policy variables, such as `${aws:userid}`."""
    return VARIABLE.sub(lambda found: context.get(found[1], NOTHING), pattern)


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]
