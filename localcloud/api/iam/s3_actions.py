"""What a request to S3 does, by the names that the Service Authorization Reference gives to S3's actions."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import unescape
from urllib.parse import parse_qs, unquote

from moto.core.models import DEFAULT_ACCOUNT_ID
from moto.s3.models import s3_backends

from localcloud.api.iam.question import EVERYTHING, Question
from localcloud.api.wsgi import Environ, header_of

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
OBJECT_VERBS = {"GET": "Get", "HEAD": "Get", "PUT": "Put", "POST": "Put", "DELETE": "Delete"}
UPLOADS = {"GET": "ListMultipartUploadParts", "DELETE": "AbortMultipartUpload"}
"""What a request to an upload in parts does that does not put."""
READS, WRITES = ("s3:GetObject", "s3:GetObjectVersion"), ("s3:PutObject",)
OBJECT = re.compile(rb"<Object>(.*?)</Object>", re.DOTALL)
KEY = re.compile(rb"<Key>(.*?)</Key>", re.DOTALL)

Query = Mapping[str, list[str]]


def s3_questions(environ: Environ, body: bytes) -> list[Question]:
    """Returns what a request to S3 asks: of each object if there are several, and of the key that encrypts them."""
    path = environ.get("PATH_INFO", "").encode("latin-1").decode(errors="replace")  # as PEP 3333 has it
    bucket, _, key = path.strip("/").partition("/")
    query = parse_qs(environ.get("QUERY_STRING", ""), keep_blank_values=True)
    method = environ["REQUEST_METHOD"]
    if bucket and not key and "delete" in query and method == "POST":
        return _deletions(bucket, body)
    action = f"s3:{_action(method, bucket, key, query)}"
    context = {"s3:prefix": query["prefix"][0]} if "prefix" in query and not key else {}
    questions = [Question(action, _arn(bucket, key), context)]
    source = unquote((header_of(environ, "X-Amz-Copy-Source") or "").partition("?")[0]).strip("/")
    if source:
        questions.append(Question("s3:GetObject", _arn(*source.partition("/")[::2])))
    return questions + [used for question in questions for used in _key_of_bucket(question)]


def _action(method: str, bucket: str, key: str, query: Query) -> str:
    if key:
        return _object_action(method, query)
    for parameter, setting in S3_SETTINGS.items():
        if parameter in query and method in S3_VERBS:
            return "DeleteBucketPolicy" if (method, parameter) == ("DELETE", "policy") else S3_VERBS[method] + setting
    for parameter, action in (("versions", "ListBucketVersions"), ("uploads", "ListBucketMultipartUploads")):
        if parameter in query:
            return action
    without = {"PUT": "CreateBucket", "DELETE": "DeleteBucket"}
    if not bucket:
        return "ListAllMyBuckets"
    return without.get(method, "ListBucket")


def _object_action(method: str, query: Query) -> str:
    if "uploadId" in query and method in UPLOADS:
        return UPLOADS[method]
    verb = OBJECT_VERBS.get(method, method)
    part = "Tagging" if "tagging" in query else "Version" if "versionId" in query and verb != "Put" else ""
    return f"{verb}Object{part}"


def _deletions(bucket: str, body: bytes) -> list[Question]:
    """Returns the questions of a request that deletes many objects or versions of objects."""
    questions = []
    for entry in OBJECT.findall(body):
        found = KEY.search(entry)
        action = "s3:DeleteObjectVersion" if b"<VersionId>" in entry else "s3:DeleteObject"
        questions.append(Question(action, _arn(bucket, unescape(found[1].decode()) if found else "")))
    return questions


def _key_of_bucket(question: Question) -> list[Question]:
    """Returns the question of the KMS key that encrypts the bucket, if one does."""
    if question.action not in READS + WRITES:
        return []
    name = question.resource.removeprefix("arn:aws:s3:::").partition("/")[0]
    bucket = s3_backends[DEFAULT_ACCOUNT_ID]["aws"].buckets.get(name)
    key = _key_arn((bucket.encryption if bucket else None) or {})
    action = "kms:Decrypt" if question.action in READS else "kms:GenerateDataKey"
    return [Question(action, key)] if key else []


def _key_arn(encryption: Mapping[str, object]) -> str:
    """Returns the ARN of the key in the default encryption of a bucket; empty if S3's keys encrypt it."""
    rule = encryption.get("Rule")
    default = rule.get("ApplyServerSideEncryptionByDefault") if isinstance(rule, dict) else None
    key = str(default.get("KMSMasterKeyID") or "") if isinstance(default, dict) else ""
    return key if key.startswith("arn:") else ""


def _arn(bucket: str, key: str) -> str:
    if not bucket:
        return EVERYTHING
    return f"arn:aws:s3:::{bucket}/{key}" if key else f"arn:aws:s3:::{bucket}"
