"""Finding a cluster's bucket from any machine with credentials.

Terraform gives the bucket a name that begins with the cluster's, and the cluster's tag. Listing the buckets shows a new
one at once, which the Resource Groups Tagging API does not.
"""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from controller.domain.errors import ConfigError
from controller.edges.aws import CLUSTER_TAG, speak

QUICK = Config(
    connect_timeout=2, read_timeout=5, retries={"total_max_attempts": 2, "mode": "standard"}, tcp_keepalive=True
)
"""How patient a client is whose answer somebody waits for, or whose question is asked again anyway."""
NO_TAGS = ("NoSuchTagSet", "NoSuchBucket", "404")
"""A bucket without tags, or one that was deleted a moment ago."""


def find_bucket(region: str, cluster: str) -> str | None:
    """Returns the name of the bucket that carries the cluster's tag; None where there is none.

    Needs `s3:ListAllMyBuckets`, and `s3:GetBucketTagging` on the bucket.

    Raises:
        AwsError: AWS can't be asked.
        ConfigError: Two clusters have this name.
    """
    s3: Any = boto3.client("s3", region_name=region, config=QUICK)
    names = speak(f"find the bucket of the cluster {cluster}", lambda: _tagged(s3, cluster))
    if len(names) > 1:
        raise ConfigError(
            f"Several buckets carry the tag {CLUSTER_TAG} = {cluster}: {', '.join(names)}. Two clusters share a name.",
            "Destroy one of them with the environment that made it, or give this environment another name (`cluster` "
            "in centavo.yml) before anything is made.",
        )
    return names[0] if names else None


def _tagged(s3: Any, cluster: str) -> list[str]:
    prefix = f"{cluster}-"
    pages = s3.get_paginator("list_buckets").paginate(Prefix=prefix)
    names = [bucket["Name"] for page in pages for bucket in page.get("Buckets", ())]
    return sorted(name for name in names if name.startswith(prefix) and _cluster_of(s3, name) == cluster)


def _cluster_of(s3: Any, bucket: str) -> str | None:
    """Returns the name of the cluster that a bucket belongs to, if it belongs to one."""
    try:
        tags = s3.get_bucket_tagging(Bucket=bucket)["TagSet"]
    except ClientError as error:
        if error.response["Error"]["Code"] in NO_TAGS:
            return None
        raise
    return next((tag["Value"] for tag in tags if tag["Key"] == CLUSTER_TAG), None)
