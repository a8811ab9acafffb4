"""The metadata service of one host: version 1 and version 2 (with session tokens) of IMDS."""

from __future__ import annotations

import secrets
import time

from aiohttp import web

from localcloud.hosts.metadata.tree import document_tree, find
from localcloud.link.spec import HostSpec

TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"
MAX_TTL_S = 21_600


class MetadataService:
    """Answers for the instance that `spec` describes. `spec` may be replaced while the service runs."""

    def __init__(self, spec: HostSpec) -> None:
        self.spec = spec
        self._tokens: dict[str, float] = {}
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> None:
        """Starts to listen.

        Raises:
            OSError: the address or the port cannot be used.
        """
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
        """Stops listening. Harmless if the service never listened."""
        if self._runner:
            await self._runner.cleanup()
            self._runner = None

    async def _issue_token(self, request: web.Request) -> web.Response:
        ttl = request.headers.get(TTL_HEADER, "")
        if not ttl.isdigit() or not 1 <= int(ttl) <= MAX_TTL_S:
            raise web.HTTPBadRequest(text=f"send the header {TTL_HEADER} with 1 to {MAX_TTL_S} seconds")
        if "X-Forwarded-For" in request.headers:
            raise web.HTTPForbidden(text="a token is not given through a proxy; ask the service directly")
        now = time.monotonic()
        self._tokens = {token: end for token, end in self._tokens.items() if end > now}
        token = secrets.token_urlsafe(42)
        self._tokens[token] = now + int(ttl)
        return web.Response(text=token, headers={TTL_HEADER: ttl})

    async def _get(self, request: web.Request) -> web.Response:
        token = request.headers.get(TOKEN_HEADER)
        if token is None and self.spec.tokens_required:
            raise web.HTTPUnauthorized(text=f"PUT /latest/api/token for a token, then send it as {TOKEN_HEADER}")
        if token is not None and self._tokens.get(token, 0.0) <= time.monotonic():
            raise web.HTTPUnauthorized(text="the token is unknown or has expired: PUT /latest/api/token for a new one")
        answer = find(document_tree(self.spec), request.match_info["path"])
        if answer is None:
            raise web.HTTPNotFound(text=f"no metadata under /latest/{request.match_info['path']}")
        return web.Response(text=answer)
