"""The rendezvous server: where ranks ask for their place in the next world, and meet.

It takes the place of Horovod's own (horovod/runner/http/http_server.py, version 0.28.1), which listens on every
interface, answers everybody, and unpickles the body of a request. This one listens on one address, answers only
requests that know the secret of this attempt, and unpickles nothing.

Horovod's C++ client can send no header of ours. It builds a URL from `HOROVOD_GLOO_RENDEZVOUS_ADDR` and
`HOROVOD_GLOO_RENDEZVOUS_PORT` without looking at them (HTTPStore in horovod/common/gloo/http_store.h). So the address
that ranks are given ends in the secret, which becomes the first part of each request's path. The ranks get it over SSH.
"""

from __future__ import annotations

import hmac
import secrets
import threading
from collections.abc import Callable, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

BACKLOG = 1024
"""Connections that may wait. With Horovod's 5, some of eleven ranks lose a second each."""
LARGEST_BODY_BYTES = 1 << 20
REQUEST_TIMEOUT_S = 3.0
PLACES = "rank_and_size"

Place = Callable[[str, int], str | None]
"""Takes a host and a slot, and waits for the rank's place in the next world. None: the host has none and is to begin
anew."""


class RendezvousServer:
    """A store of bytes by scope and key for the ranks of one attempt, and their places in the next world."""

    def __init__(self, address: str) -> None:
        self._address = address
        self._secret = secrets.token_urlsafe(32)
        self._store: dict[tuple[str, str], bytes] = {}
        self._lock = threading.Lock()
        self._server: ThreadingHTTPServer | None = None

    def start(self, place: Place) -> None:
        """Listens on a free port of the address, and answers in threads of its own."""
        handler = type("Handler", (_Handler,), {"rendezvous": self, "place": staticmethod(place)})
        self._server = _Server((self._address, 0), handler)
        threading.Thread(target=self._server.serve_forever, name="rendezvous", daemon=True).start()

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        assert self._server is not None, "the server has not been started"
        return int(self._server.server_address[1])

    @property
    def address_for_ranks(self) -> str:
        """The value of `HOROVOD_GLOO_RENDEZVOUS_ADDR`: address, port and secret. Whoever knows it is answered."""
        return f"{self._address}:{self.port}/{self._secret}"

    def init(self, assignments: Sequence[Any]) -> None:
        """Forgets what the ranks of the last world have stored: a new world begins. Horovod's driver calls it."""
        with self._lock:
            self._store.clear()

    def stop(self) -> None:
        """Listens no more. A second call does nothing."""
        server, self._server = self._server, None
        if server is not None:
            server.shutdown()
            server.server_close()

    def knows(self, word: str) -> bool:
        """Returns whether `word`, the first part of a path, is this attempt's secret. Takes the same time for each."""
        given = word.partition(":")[0]  # Horovod adds the port to what it takes for an address
        return hmac.compare_digest(given.encode("utf-8", "replace"), self._secret.encode())

    def get(self, scope: str, key: str) -> bytes | None:
        """Returns what a rank has stored, or None."""
        with self._lock:
            return self._store.get((scope, key))

    def put(self, scope: str, key: str, value: bytes) -> None:
        """Stores a value."""
        with self._lock:
            self._store[scope, key] = value


class _Server(ThreadingHTTPServer):
    request_queue_size = BACKLOG
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Says nothing about a connection that broke: the rank asks again, and a stranger needs no line in the log."""


class _Handler(BaseHTTPRequestHandler):
    """Answers one request. `rendezvous` and `place` are set in a subclass for each server."""

    timeout = REQUEST_TIMEOUT_S
    rendezvous: RendezvousServer
    place: Callable[[str, int], str | None]

    def do_GET(self) -> None:
        """Answers with a value, or with a rank's place in the next world."""
        if (names := self._names()) is None:
            return
        if names[0] == PLACES:
            self._answer_place(names[1])
            return
        value = self.rendezvous.get(*names)
        self._answer(404 if value is None else 200, value or b"")

    def do_PUT(self) -> None:
        """Stores a value."""
        length = self.headers.get("Content-Length", "")
        if not length.isdigit() or int(length) > LARGEST_BODY_BYTES:
            self._answer(413)
            return
        body = self.rfile.read(int(length))
        if (names := self._names()) is not None:
            self.rendezvous.put(*names, body)
            self._answer(200)

    def do_DELETE(self) -> None:
        """Does nothing: what is stored is forgotten when the next world begins."""
        if self._names() is not None:
            self._answer(200)

    def log_message(self, *arguments: Any) -> None:
        """Logs nothing, since a path has the secret in it."""

    def _names(self) -> tuple[str, str] | None:
        """Returns scope and key of the path. None where the request has been refused."""
        secret, *names = self.path.removeprefix("/").split("/")
        if not self.rendezvous.knows(secret):
            self._answer(403)
        elif len(names) != 2:
            self._answer(400)
        else:
            return names[0], names[1]
        return None

    def _answer_place(self, key: str) -> None:
        host, _, slot = key.rpartition(":")
        if not host or not slot.isdigit():
            self._answer(400)
            return
        place = self.place(host, int(slot))
        self._answer(410 if place is None else 200, (place or "").encode())

    def _answer(self, status: int, body: bytes = b"") -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
