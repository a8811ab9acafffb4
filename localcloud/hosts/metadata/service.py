"""The instance metadata service of one host (IMDSv2), on the host's own address.

Paths and answers follow https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instancedata-data-categories.html.
"""

from __future__ import annotations

import json
import secrets
import time
from datetime import datetime, timedelta, timezone

from aiohttp import web

from localcloud.link.spec import HostSpec

TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"
MAX_TTL_S = 21_600
ROLE_CREDENTIALS_LAST = timedelta(hours=6)

Tree = dict[str, "str | Tree"]


class MetadataService:
    """Serves what `spec` says; `spec` may be replaced while it runs."""

    def __init__(self, spec: HostSpec) -> None:
        self.spec = spec
        self._tokens: dict[str, float] = {}
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> None:
        """Listen; raises OSError when the port is taken."""
        application = web.Application()
        application.router.add_put("/latest/api/token", self._issue_token)
        application.router.add_get("/latest/{path:.*}", self._get)
        runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await runner.setup()
        try:
            await web.TCPSite(runner, address, port).start()
        except OSError:
            await runner.cleanup()
            raise
        self._runner = runner

    async def stop(self) -> None:
        """Stop listening; harmless when it never did."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    async def _issue_token(self, request: web.Request) -> web.Response:
        ttl = request.headers.get(TTL_HEADER, "")
        if not ttl.isdigit() or not 1 <= int(ttl) <= MAX_TTL_S:
            raise web.HTTPBadRequest(text=f"{TTL_HEADER} must be 1 to {MAX_TTL_S}")
        if "X-Forwarded-For" in request.headers:
            raise web.HTTPForbidden(text="a token is not given through a proxy")
        now = time.monotonic()
        self._tokens = {token: end for token, end in self._tokens.items() if end > now}
        token = secrets.token_urlsafe(42)
        self._tokens[token] = now + int(ttl)
        return web.Response(text=token, headers={TTL_HEADER: ttl})

    async def _get(self, request: web.Request) -> web.Response:
        token = request.headers.get(TOKEN_HEADER)
        if token is None and self.spec.tokens_required:
            raise web.HTTPUnauthorized(text=f"IMDSv2 is required: PUT /latest/api/token, then send {TOKEN_HEADER}")
        if token is not None and self._tokens.get(token, 0.0) <= time.monotonic():
            raise web.HTTPUnauthorized(text="the token is unknown or has expired")
        answer = find(document_tree(self.spec), request.match_info["path"])
        if answer is None:
            raise web.HTTPNotFound(text=f"no metadata under /latest/{request.match_info['path']}")
        return web.Response(text=answer)


def find(tree: Tree, path: str) -> str | None:
    """The answer to a path: a value, a listing of a folder (subfolders end in /), or None."""
    node: str | Tree = tree
    for part in path.strip("/").split("/") if path.strip("/") else []:
        if not isinstance(node, dict) or part not in node:
            return None
        node = node[part]
    if isinstance(node, str):
        return node
    return "\n".join(name + ("/" if isinstance(value, dict) else "") for name, value in node.items())


def document_tree(spec: HostSpec) -> Tree:
    """All that the service answers for an instance, under /latest/."""
    meta: Tree = {
        "ami-id": spec.image_id,
        "hostname": spec.hostname,
        "instance-id": spec.instance_id,
        "instance-life-cycle": "spot" if spec.spot else "on-demand",
        "instance-type": spec.flavor,
        "local-hostname": spec.hostname,
        "local-ipv4": spec.address,
        "placement": {"availability-zone": spec.availability_zone, "region": spec.region},
        "services": {"domain": "amazonaws.com", "partition": "aws"},
    }
    if spec.public_address:
        meta["public-ipv4"] = spec.public_address
    if spec.public_key:
        meta["public-keys"] = {"0": {"openssh-key": spec.public_key.strip()}}
    if spec.tags_in_metadata:
        meta["tags"] = {"instance": {**spec.tags}}
    if spec.role:
        meta["iam"] = {"security-credentials": {spec.role: _credentials()}}
    if spec.spot_notice:
        notice = {"action": spec.spot_notice.action, "time": spec.spot_notice.time}
        meta["spot"] = {"instance-action": json.dumps(notice)}
        if spec.spot_notice.action == "terminate":
            meta["spot"] = {"instance-action": json.dumps(notice), "termination-time": spec.spot_notice.time}
    tree: Tree = {
        "dynamic": {"instance-identity": {"document": _identity(spec)}},
        "meta-data": meta,
    }
    if spec.user_data:
        tree["user-data"] = spec.user_data
    return tree


def _credentials() -> str:
    now = datetime.now(timezone.utc)
    return json.dumps(
        {
            "Code": "Success",
            "LastUpdated": now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "Type": "AWS-HMAC",
            "AccessKeyId": "test",
            "SecretAccessKey": "test",
            "Token": "test",
            "Expiration": (now + ROLE_CREDENTIALS_LAST).strftime("%Y-%m-%dT%H:%M:%SZ"),
        },
        indent=2,
    )


def _identity(spec: HostSpec) -> str:
    return json.dumps(
        {
            "accountId": spec.account,
            "architecture": "x86_64",
            "availabilityZone": spec.availability_zone,
            "imageId": spec.image_id,
            "instanceId": spec.instance_id,
            "instanceType": spec.flavor,
            "privateIp": spec.address,
            "region": spec.region,
            "version": "2017-09-30",
        },
        indent=2,
    )
