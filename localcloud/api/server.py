"""The HTTP server of the API: werkzeug's, with a thread for each request. It logs failed requests only."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from werkzeug.serving import BaseWSGIServer, WSGIRequestHandler, make_server

log = logging.getLogger("localcloud.api")


class _Handler(WSGIRequestHandler):
    def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
        if str(code).startswith("5"):
            log.warning("%s answered %s", self.path, code)

    def log_error(self, format: str, *args: Any) -> None:
        log.warning(format, *args)


def make_api_server(address: str, port: int, application: Callable[..., Any]) -> BaseWSGIServer:
    """Returns a server that listens already. It answers requests once `serve_forever` runs."""
    return make_server(address, port, application, threaded=True, request_handler=_Handler)
