"""AWS's clients, and what their failures are."""

from __future__ import annotations

from typing import Any

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

AWS_ERRORS = (ClientError, BotoCoreError, ResponseParserError)
CLUSTER_TAG, ROLE_TAG = "centavo:cluster", "centavo:role"


def client(service: str, region: str) -> Any:
    """Returns a client. A call ends within about a minute, all its tries included."""
    config = Config(
        retries={"total_max_attempts": 4, "mode": "standard"},
        connect_timeout=5,
        read_timeout=10,
        s3={"addressing_style": "path"} if service == "s3" else None,
    )
    return boto3.client(service, region_name=region, config=config)


def code_of(error: Exception) -> str:
    """Returns AWS's code of an error; empty where AWS has not answered."""
    return str(error.response.get("Error", {}).get("Code", "")) if isinstance(error, ClientError) else ""
