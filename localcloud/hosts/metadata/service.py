"""The metadata service of one host: version 1 and version 2 (with session tokens) of IMDS."""

from __future__ import annotations

import os
import secrets
import socket
import time

from aiohttp import web
from aiohttp.typedefs import Handler

from localcloud.hosts.metadata.tree import document_tree, find, special_lists
from localcloud.link.spec import HostSpec
from localcloud.support.sockets import user_of_peer

TTL_HEADER = "X-aws-ec2-metadata-token-ttl-seconds"
TOKEN_HEADER = "X-aws-ec2-metadata-token"
MAX_TTL_S = 21_600

ROOT = 0
BACKLOG = 128

VERSIONS = ("2009-04-04", "2021-03-23", "latest")
VERSION = r"latest|\d{4}-\d{2}-\d{2}"
"""Every version is answered alike. cloud-init asks for the two that are listed by their dates."""


class MetadataService:
    """Answers for the instance that `spec` describes. `spec` may be replaced while the service runs.

    Only processes of the same user are answered, and root's: the credentials of a role are as good as a login. A web
    page that a browser shows is not answered either, by whatever name it calls this address.

    Args:
        spec: the instance.
        of_a_machine: whether the service stands in a network namespace of the instance's own. All who ask are the
            instance's processes then, and each may ask, as on EC2.
    """

    def __init__(self, spec: HostSpec, of_a_machine: bool = False) -> None:
        self.spec = spec
        self._of_a_machine = of_a_machine
        self._tokens: dict[str, float] = {}
        self._runner: web.AppRunner | None = None

    async def start(self, address: str, port: int) -> None:
        """Starts to listen.

        Raises:
            OSError: the address or the port cannot be used.
        """
        await self.serve(socket.create_server((address, port), backlog=BACKLOG))

    async def serve(self, door: socket.socket) -> None:
        """Starts to answer on a socket that listens."""
        application = web.Application(middlewares=[_admit_address if self._of_a_machine else _admit])
        application.router.add_put("/{version:latest}/api/token", self._issue_token)
        application.router.add_get("/", self._list_versions)
        application.router.add_get(f"/{{version:{VERSION}}}/{{path:.*}}", self._get)
        self._runner = web.AppRunner(application, access_log=None, handle_signals=False, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.SockSite(self._runner, door).start()

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

    async def _list_versions(self, request: web.Request) -> web.Response:
        self._check_token(request)
        return web.Response(text="\n".join(VERSIONS))

    async def _get(self, request: web.Request) -> web.Response:
        self._check_token(request)
        path = request.match_info["path"]
        answer = find(document_tree(self.spec), path, special_lists(self.spec))
        if answer is None:
            raise web.HTTPNotFound(text=f"no metadata under /{request.match_info['version']}/{path}")
        return web.Response(text=answer)

    def _check_token(self, request: web.Request) -> None:
        token = request.headers.get(TOKEN_HEADER)
        if token is None and self.spec.tokens_required:
            raise web.HTTPUnauthorized(text=f"PUT /latest/api/token for a token, then send it as {TOKEN_HEADER}")
        if token is not None and self._tokens.get(token, 0.0) <= time.monotonic():
            raise web.HTTPUnauthorized(text="the token is unknown or has expired: PUT /latest/api/token for a new one")


@web.middleware
async def _admit(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses other users of this machine, and browsers that were led here by a name of somebody else's."""
    assert request.transport
    own, peer = (request.transport.get_extra_info(name) for name in ("sockname", "peername"))
    if user_of_peer(peer, own) not in (os.getuid(), ROOT):
        raise web.HTTPForbidden(text="the service answers processes of its instance only")
    return await _admit_address(request, handler)


@web.middleware
async def _admit_address(request: web.Request, handler: Handler) -> web.StreamResponse:
    """Refuses browsers that were led here by a name of somebody else's."""
    assert request.transport
    own = request.transport.get_extra_info("sockname")
    if request.host.partition(":")[0] != own[0]:
        raise web.HTTPForbidden(text=f"ask for the address {own[0]} itself")
    return await handler(request)
