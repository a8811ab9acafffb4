"""What the EC2 instance metadata service, version 2, says about this node."""

from __future__ import annotations

import os
import socket
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass

ENDPOINT_VARIABLE = "AWS_EC2_METADATA_SERVICE_ENDPOINT"
DEFAULT_ENDPOINT = "http://169.254.169.254"
TIMEOUT_S = 1.0

# The metadata service is on the node itself: a proxy that the environment names is never asked.
_OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@dataclass(frozen=True)
class Instance:
    """An instance's id and its flavor (EC2 instance type); outside EC2 the host name and "unknown"."""

    instance_id: str
    flavor: str


class Metadata:
    """A client of the metadata service. An answer is None where the service is not there or does not know it."""

    def __init__(self, environment: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S) -> None:
        self._endpoint = (os.environ if environment is None else environment).get(ENDPOINT_VARIABLE, DEFAULT_ENDPOINT)
        self._timeout_s = timeout_s
        self.is_there = False
        """Whether the service has ever answered."""

    def instance(self) -> Instance:
        """Returns the id and the flavor of this instance."""
        token = self._token()
        self.is_there = token is not None
        instance_id = self._get("meta-data/instance-id", token)
        flavor = self._get("meta-data/instance-type", token)
        return Instance(instance_id or socket.gethostname(), flavor or "unknown")

    def interruption(self) -> str | None:
        """Returns the spot service's notice (JSON) that this instance is about to be taken back, or None."""
        return self._get("meta-data/spot/instance-action", self._token())

    def rebalance(self) -> str | None:
        """Returns the recommendation (JSON) to replace this instance, which may be taken back soon, or None."""
        return self._get("meta-data/events/recommendations/rebalance", self._token())

    def _token(self) -> str | None:
        return self._ask("PUT", "api/token", {"X-aws-ec2-metadata-token-ttl-seconds": "300"})

    def _get(self, path: str, token: str | None) -> str | None:
        return None if token is None else self._ask("GET", path, {"X-aws-ec2-metadata-token": token})

    def _ask(self, method: str, path: str, headers: dict[str, str]) -> str | None:
        request = urllib.request.Request(f"{self._endpoint.rstrip('/')}/latest/{path}", headers=headers, method=method)
        try:
            with _OPENER.open(request, timeout=self._timeout_s) as answer:
                return str(answer.read().decode()).strip()
        except (OSError, ValueError):
            return None
