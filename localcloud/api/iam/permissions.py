"""Checking a request against the policies of whoever has signed it."""

from __future__ import annotations

from localcloud.api.iam.conditions import UnknownConditionError
from localcloud.api.iam.policy import Verdict, verdict
from localcloud.api.iam.principals import Principal, principal_of
from localcloud.api.iam.question import ANY, Question
from localcloud.api.iam.requested import ApiRequest
from localcloud.api.iam.resources import questions_of
from localcloud.api.refusal import RefusedError, Why

ALWAYS_ALLOWED = "sts:GetCallerIdentity"
REASONS = {
    Verdict.ALLOWED: "",
    Verdict.NOT_ALLOWED: " because no identity-based policy allows the {action} action",
    Verdict.DENIED: " with an explicit deny in an identity-based policy",
}


def check(request: ApiRequest, access_key_id: str) -> None:
    """Lets a request pass that the policies of its key's role or user allow.

    The key of the person who started the cloud may do everything.

    Raises:
        RefusedError: a policy denies it, or none allows it. The message is AWS's.
    """
    principal = principal_of(access_key_id)
    if principal is None or request.name == ALWAYS_ALLOWED:
        return
    for question in questions_of(request):
        why = _why_not(principal, question)
        if why:
            raise RefusedError(Why.NOT_ALLOWED, f"{_denied(principal, question)}{why}", request.signed_for)


def may(access_key_id: str, question: Question) -> bool:
    """Returns whether the policies of a key's role or user allow something."""
    principal = principal_of(access_key_id)
    return principal is None or not _why_not(principal, question)


def _why_not(principal: Principal, question: Question) -> str:
    """Returns why a principal may not do something; empty if it may."""
    asked = Question(question.action, question.resource, {**question.context, "aws:userid": principal.user_id})
    try:
        found = verdict(principal.policies, asked)
    except UnknownConditionError as error:
        return f": {error}"
    return REASONS[found].format(action=question.action)


def _denied(principal: Principal, question: Question) -> str:
    resource = "" if question.resource == ANY else f" on resource: {question.resource}"
    return f"User: {principal.arn} is not authorized to perform: {question.action}{resource}"
