"""Changes of who may do what."""

from __future__ import annotations

from collections.abc import Iterator

from controller.edges.terraform_plan import Action, PlanChange
from controller.review.plans.dangers import Danger, Finding

IDENTITY_PREFIXES = ("aws_iam_", "aws_ssoadmin_", "aws_identitystore_", "aws_organizations_")
IDENTITY_TYPES = ("aws_s3_bucket_policy", "aws_kms_key_policy", "aws_kms_grant")
ACTION_VERBS = {
    Action.CREATE: "created",
    Action.DESTROY: "destroyed",
    Action.REPLACE: "replaced",
    Action.FORGET: "forgotten",
}


def identity(change: PlanChange) -> Iterator[Finding]:
    """Yields the permissions that a change touches."""
    if change.type.startswith(IDENTITY_PREFIXES) or change.type in IDENTITY_TYPES:
        reason = f"who may do what: it would be {ACTION_VERBS.get(change.action, 'changed')}"
        yield Finding(Danger.CHANGE_IAM, change.address, reason)
    elif change.before is not None and change.after is not None:
        if any(attribute.path.startswith("iam_instance_profile") for attribute in change.attributes()):
            yield Finding(Danger.CHANGE_IAM, change.address, "its instances would act in another role")
