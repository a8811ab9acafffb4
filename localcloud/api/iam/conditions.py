"""The conditions of a statement.

https://docs.aws.amazon.com/IAM/latest/UserGuide/reference_policies_elements_condition_operators.html
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from localcloud.api.iam.patterns import fits

Test = Callable[[str, str], bool]


class UnknownConditionError(ValueError):
    """A policy has a condition that localcloud cannot evaluate."""


def _equal(wanted: str, value: str) -> bool:
    return wanted == value


def _equal_in_any_case(wanted: str, value: str) -> bool:
    return wanted.lower() == value.lower()


TESTS: Mapping[str, Test] = {
    "StringEquals": _equal,
    "StringEqualsIgnoreCase": _equal_in_any_case,
    "StringLike": fits,
    "ArnEquals": fits,
    "ArnLike": fits,
    "Bool": _equal_in_any_case,
}
NEGATED: Mapping[str, str] = {
    "StringNotEquals": "StringEquals",
    "StringNotEqualsIgnoreCase": "StringEqualsIgnoreCase",
    "StringNotLike": "StringLike",
    "ArnNotEquals": "ArnEquals",
    "ArnNotLike": "ArnLike",
}


def hold(conditions: Mapping[str, Mapping[str, Any]], context: Mapping[str, str]) -> bool:
    """Returns whether all conditions of a statement hold. The names of keys ignore case.

    Raises:
        UnknownConditionError: an operator is not known here.
    """
    values = {key.lower(): value for key, value in context.items()}
    return all(
        _holds(operator, values.get(key.lower()), _texts(wanted))
        for operator, keys in conditions.items()
        for key, wanted in keys.items()
    )


def _holds(operator: str, value: str | None, wanted: list[str]) -> bool:
    """Returns whether one condition holds. A request has at most one value of a key here."""
    kind = operator.removeprefix("ForAnyValue:").removesuffix("IfExists")
    if kind == "Null":
        return (value is None) is (wanted[0].lower() == "true")
    negated = kind in NEGATED
    test = TESTS.get(NEGATED.get(kind, kind))
    if test is None:
        raise UnknownConditionError(f"localcloud does not evaluate the condition {operator}")
    if value is None:
        return negated or operator.endswith("IfExists")
    return any(test(one, value) for one in wanted) is not negated


def _texts(value: Any) -> list[str]:
    several = value if isinstance(value, list) else [value]
    return [str(one).lower() if isinstance(one, bool) else str(one) for one in several]
