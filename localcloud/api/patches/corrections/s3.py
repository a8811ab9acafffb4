"""Corrections of S3."""

from __future__ import annotations

import json
from typing import Any

from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket, FakeDeleteMarker
from moto.s3.responses import S3Response

from localcloud.api.patches.replace import replace

LEAST_SIZE = {"x-amz-transition-default-minimum-object-size": "all_storage_classes_128K"}
"""S3's default, in a header of its answer."""


def correct_s3() -> None:
    """Applies all corrections of S3."""
    let_delete_markers_be_deleted()
    send_least_size_of_lifecycle_rules()
    let_loopback_count_as_tls()


def let_delete_markers_be_deleted() -> None:
    """Lets the delete markers of a versioned bucket be deleted, before the bucket itself. moto fails at them."""
    replace(FakeDeleteMarker, "dispose", lambda marker, garbage=False: None)


def send_least_size_of_lifecycle_rules() -> None:
    """Sends the header that the provider waits for. moto leaves it out (getmoto/moto issues 9708 and 9729)."""
    get = S3Response.get_bucket_lifecycle

    def get_bucket_lifecycle(response: S3Response) -> Any:
        answer = get(response)
        return answer if isinstance(answer, tuple) else (200, dict(LEAST_SIZE), answer)

    replace(S3Response, "get_bucket_lifecycle", get_bucket_lifecycle)


def let_loopback_count_as_tls() -> None:
    """Lets requests pass that a bucket's policy refuses only without TLS. moto does not read such conditions."""

    def get_permission(bucket: FakeBucket, action: str, resource: str) -> Any:
        if bucket.policy is None:
            return PermissionResult.NEUTRAL
        document = json.loads(bucket.policy)
        statements = document["Statement"] if isinstance(document["Statement"], list) else [document["Statement"]]
        kept = [statement for statement in statements if not _refuses_without_tls(statement)]
        return IAMPolicy(json.dumps({**document, "Statement": kept})).is_action_permitted(action, resource)

    replace(FakeBucket, "get_permission", get_permission)


def _refuses_without_tls(statement: dict[str, Any]) -> bool:
    condition = statement.get("Condition", {})
    is_without_tls = str(condition.get("Bool", {}).get("aws:SecureTransport")).lower() == "false"
    return statement["Effect"] == "Deny" and len(condition) == 1 and is_without_tls
