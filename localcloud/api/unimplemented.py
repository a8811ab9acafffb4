"""What moto does not implement is answered as AWS answers what it does not know, and not with a page of HTML."""

from __future__ import annotations

import json

from flask import Flask, Response, request
from moto.backends import SERVICE_NAMES
from moto.moto_server.werkzeug_app import create_backend_app

CODE = "UnsupportedOperation"


def backend(service: SERVICE_NAMES) -> Flask:
    """Returns moto's application for a service."""
    application: Flask = create_backend_app(service)
    application.register_error_handler(NotImplementedError, _answer)
    return application


def _answer(error: NotImplementedError) -> Response:
    if request.headers.get("X-Amz-Target"):
        content, form = json.dumps({"__type": CODE, "message": str(error)}), "application/x-amz-json-1.1"
    else:
        inner = f"<Code>{CODE}</Code><Message>{error}</Message>"
        both = f"<Error>{inner}</Error><Errors><Error>{inner}</Error></Errors>"
        content, form = f"<ErrorResponse>{both}</ErrorResponse>", "text/xml"
    return Response(content, status=400, content_type=form)
