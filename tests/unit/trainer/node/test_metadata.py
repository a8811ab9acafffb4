"""The node knows itself through the metadata service's second version, and outside EC2 by its host name."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from trainer.node.metadata import Instance, Metadata

ANSWERS = {"/latest/meta-data/instance-id": "i-0abc", "/latest/meta-data/instance-type": "c5.large"}


class Service(BaseHTTPRequestHandler):
    """IMDSv2: a token by PUT, answers only with it."""

    def do_PUT(self) -> None:
        known = self.path == "/latest/api/token" and "X-aws-ec2-metadata-token-ttl-seconds" in self.headers
        self._answer(200 if known else 400, "secret")

    def do_GET(self) -> None:
        if self.headers.get("X-aws-ec2-metadata-token") != "secret":
            self._answer(401, "")
        elif self.path in ANSWERS:
            self._answer(200, ANSWERS[self.path])
        else:
            self._answer(404, "")

    def _answer(self, status: int, body: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()


def test_the_identity_is_asked_with_a_token(endpoint: str) -> None:
    metadata = Metadata({"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint})
    assert metadata.instance() == Instance("i-0abc", "c5.large")


def test_no_spot_notice_is_no_interruption(endpoint: str) -> None:
    assert Metadata({"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint}).interruption() is None


def test_a_recommendation_to_replace_the_node_is_read(endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    metadata = Metadata({"AWS_EC2_METADATA_SERVICE_ENDPOINT": endpoint})
    assert metadata.rebalance() is None
    monkeypatch.setitem(ANSWERS, "/latest/meta-data/events/recommendations/rebalance", '{"noticeTime": "now"}')
    assert metadata.rebalance() == '{"noticeTime": "now"}'


def test_outside_ec2_the_host_name_stands_in() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
        assert Metadata({"AWS_EC2_METADATA_SERVICE_ENDPOINT": nobody}).instance() == Instance(
            socket.gethostname(), "unknown"
        )
