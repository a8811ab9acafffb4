"""A small evaluator of IAM policies: action, resource and conditions of one policy, without boundaries or roles.

It follows "Policy evaluation logic" in AWS's IAM guide: an explicit denial wins, and what nothing allows is denied.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

ANY = ""
"""A resource that is not known: a statement on any resource then counts."""


def allows(policy: Mapping[str, Any], action: str, resource: str, context: Mapping[str, str]) -> bool:
    """Returns whether a policy allows an action on a resource in the context of a request."""
    effects = [s["Effect"] for s in policy["Statement"] if _applies(s, action, resource, context)]
    return "Allow" in effects and "Deny" not in effects


def _applies(statement: Mapping[str, Any], action: str, resource: str, context: Mapping[str, str]) -> bool:
    return (
        any(_like(wanted, action, fold=True) for wanted in _several(statement["Action"]))
        and (resource == ANY or any(_like(wanted, resource) for wanted in _several(statement["Resource"])))
        and all(_holds(test, keys, context) for test, keys in statement.get("Condition", {}).items())
    )


def _holds(test: str, keys: Mapping[str, Any], context: Mapping[str, str]) -> bool:
    """Returns whether a condition holds. A key that the request does not have makes it fail."""
    kind = test.removeprefix("ForAnyValue:")
    assert kind in ("StringEquals", "StringLike"), f"{test} is not known here"
    return all(
        key in context
        and any(
            _like(wanted, context[key]) if kind == "StringLike" else wanted == context[key] for wanted in _several(v)
        )
        for key, v in keys.items()
    )


def _like(pattern: str, text: str, fold: bool = False) -> bool:
    """Returns whether a text fits a pattern with `*` and `?`. Actions ignore case."""
    expression = re.escape(pattern).replace(r"\*", ".*").replace(r"\?", ".")
    return re.fullmatch(expression, text, re.IGNORECASE if fold else 0) is not None


def _several(value: Any) -> list[str]:
    return [value] if isinstance(value, str) else list(value)
