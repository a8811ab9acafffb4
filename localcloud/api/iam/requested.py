"""A request, read as IAM sees it: its service and action by IAM's names, and its parameters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import parse_qs, unquote

import botocore.session

from localcloud.api.wsgi import Environ, action_of, header_of

PREFIXES = {"monitoring": "cloudwatch", "tagging": "tag"}
"""By the name that requests are signed for, the name of a service in policies, where the two differ."""
VERSION = re.compile(r"\d{8}(v\d+)?$")
PLACE = re.compile(r"\{(\w+)\+?\}")


@dataclass(frozen=True)
class ApiRequest:
    """A request to a service other than S3 has an action. What a request to S3 does is in its method, path and query.

    Attributes:
        service: the name of the service in policies.
        signed_for: the name of the service that the request is signed for.
        parameters: by name; of the query protocol each is a text, of the JSON protocol whatever was sent.
    """

    service: str
    action: str
    parameters: Mapping[str, Any]
    environ: Environ
    body: bytes
    region: str
    signed_for: str

    @property
    def name(self) -> str:
        """The action as policies name it."""
        return f"{self.service}:{self.action}"

    def text(self, *names: str) -> str:
        """Returns the first of these parameters that was sent; empty if none was."""
        return next((str(self.parameters[name]) for name in names if self.parameters.get(name)), "")

    def numbered(self, name: str) -> list[str]:
        """Returns a list of the query protocol: `InstanceId.1`, `InstanceId.2`, and so on."""
        return [str(value) for key, value in self.parameters.items() if re.fullmatch(rf"{name}(\.member)?\.\d+", key)]


def read_request(environ: Environ, body: bytes, service: str, region: str) -> ApiRequest:
    """Returns a request that is signed for a service in a region."""
    action, parameters = _asked(environ, body, service)
    return ApiRequest(PREFIXES.get(service, service), action, parameters, environ, body, region, service)


def _asked(environ: Environ, body: bytes, service: str) -> tuple[str, Mapping[str, Any]]:
    query = environ.get("QUERY_STRING", "")
    target = header_of(environ, "X-Amz-Target")
    if target:
        return target.rpartition(".")[2], _object(body)
    if service == "s3":
        return "", {}
    action = action_of(body, query)
    if action:
        sent = {**parse_qs(query), **parse_qs(body.decode(errors="replace"))}
        return action, {name: values[0] for name, values in sent.items()}
    return _of_rest(environ["REQUEST_METHOD"], environ.get("PATH_INFO", ""), service)


def _object(body: bytes) -> dict[str, Any]:
    try:
        found = json.loads(body or b"{}")
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}


def _of_rest(method: str, path: str, service: str) -> tuple[str, Mapping[str, Any]]:
    """Returns the action of a service such as Lambda, whose actions are methods and paths, and what the path names."""
    for wanted, expression, action in _routes(service):
        found = re.fullmatch(expression, path)
        if wanted == method and found:
            return action, {name: unquote(value) for name, value in found.groupdict().items()}
    return "", {}


@lru_cache(maxsize=20)
def _routes(service: str) -> list[tuple[str, str, str]]:
    """Returns method, expression of the path and action of each operation of a service, from botocore's description."""
    session = botocore.session.Session()
    if service not in session.get_available_services():
        return []
    model = session.get_service_model(service)
    routes = []
    for name in model.operation_names:
        http = model.operation_model(name).http
        path = PLACE.sub(r"(?P<\1>[^/]+)", http["requestUri"].partition("?")[0])
        routes.append((http["method"], path.rstrip("/") + "/?", VERSION.sub("", name)))
    return routes
