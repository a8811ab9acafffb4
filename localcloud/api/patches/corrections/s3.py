"""Corrections of S3."""

from __future__ import annotations

from typing import Any

from moto.s3.models import FakeDeleteMarker
from moto.s3.responses import S3Response

from localcloud.api.patches.replace import replace

LEAST_SIZE = {"x-amz-transition-default-minimum-object-size": "all_storage_classes_128K"}
"""S3's default, in a header of its answer."""


def correct_s3() -> None:
    """Applies all corrections of S3."""
    let_delete_markers_be_deleted()
    send_least_size_of_lifecycle_rules()


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
