"""Which actions of AWS's API were called, by the names that IAM policies give them."""

from __future__ import annotations

import threading
from urllib.parse import parse_qs

from moto.core.models import DEFAULT_ACCOUNT_ID

from localcloud.api.wsgi import Environ, action_of, header_of

S3_SETTINGS = {
    "accelerate": "AccelerateConfiguration",
    "acl": "BucketAcl",
    "cors": "BucketCORS",
    "encryption": "EncryptionConfiguration",
    "lifecycle": "LifecycleConfiguration",
    "location": "BucketLocation",
    "logging": "BucketLogging",
    "object-lock": "BucketObjectLockConfiguration",
    "ownershipControls": "BucketOwnershipControls",
    "policy": "BucketPolicy",
    "publicAccessBlock": "BucketPublicAccessBlock",
    "replication": "ReplicationConfiguration",
    "requestPayment": "BucketRequestPayment",
    "tagging": "BucketTagging",
    "versioning": "BucketVersioning",
    "website": "BucketWebsite",
}
"""By the parameter of a request to a bucket, the setting in the names of IAM's actions."""
S3_VERBS = {"GET": "Get", "PUT": "Put", "DELETE": "Put"}
"""S3's requests that remove a setting need the permission to put it, with one exception: the policy."""


class Calls:
    """The calls that were made with one access key: the action, and of S3 and IAM the resource too."""

    def __init__(self, access_key_id: str) -> None:
        self._access_key_id, self._lock = access_key_id, threading.Lock()
        self._made: set[tuple[str, str]] = set()

    def add(self, environ: Environ, body: bytes, service: str) -> None:
        """Notes a request that was let pass, if this key has signed it."""
        authorization = header_of(environ, "Authorization") or ""
        if f"Credential={self._access_key_id}/" not in authorization:
            return
        call = (
            s3_call(environ) if service == "s3" else (f"{service}:{_action(environ, body)}", _resource(service, body))
        )
        with self._lock:
            self._made.add(call)

    def made(self) -> list[dict[str, str]]:
        """Returns every call once."""
        with self._lock:
            return [{"action": action, "resource": resource} for action, resource in sorted(self._made)]


def _action(environ: Environ, body: bytes) -> str:
    """Returns the action of a request in AWS's query or JSON protocol."""
    target = header_of(environ, "X-Amz-Target")
    return target.rpartition(".")[2] if target else action_of(body, environ.get("QUERY_STRING", ""))


def _resource(service: str, body: bytes) -> str:
    """Returns the ARN of the role or the instance profile that a call of IAM is about; empty for other calls."""
    given = parse_qs(body.decode(errors="replace")) if service == "iam" else {}
    for parameter, kind in (("InstanceProfileName", "instance-profile"), ("RoleName", "role")):
        if parameter in given:
            return f"arn:aws:iam::{DEFAULT_ACCOUNT_ID}:{kind}/{given[parameter][0]}"
    return ""


def s3_call(environ: Environ) -> tuple[str, str]:
    """Returns the action of a request to S3, and the ARN of the bucket or object."""
    bucket, _, key = environ.get("PATH_INFO", "").strip("/").partition("/")
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    resource = f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}" if bucket else "*"
    return f"s3:{_s3_action(environ['REQUEST_METHOD'], bucket, key, query)}", resource


def _s3_action(method: str, bucket: str, key: str, query: dict[str, list[str]]) -> str:
    """Returns IAM's name of an action. Actions have other names than requests (Service Authorization Reference)."""
    if key:
        verb = {"GET": "Get", "HEAD": "Get", "PUT": "Put", "POST": "Put", "DELETE": "Delete"}[method]
        part = "Tagging" if "tagging" in query else "Version" if "versionId" in query and verb != "Put" else ""
        return f"{verb}Object{part}"
    for parameter, setting in S3_SETTINGS.items():
        if parameter in query and method in S3_VERBS:
            return "DeleteBucketPolicy" if (method, parameter) == ("DELETE", "policy") else S3_VERBS[method] + setting
    if "versions" in query:
        return "ListBucketVersions"
    if "delete" in query and method == "POST":
        return "DeleteObjectVersion"
    without = {"PUT": "CreateBucket", "DELETE": "DeleteBucket"}
    if not bucket:
        return "ListAllMyBuckets"
    return without.get(method, "ListBucket")
