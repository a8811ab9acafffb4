"""The module `fetched`: files that are right are there afterwards, or it is told why not."""

from __future__ import annotations

import hashlib
import http.server
import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

MODULE = Path(__file__).resolve().parents[3] / "ansible" / "library" / "fetched.py"
CONTENT = b"a sentence\n" * 1000
SECRET = "X-Amz-Signature=1234567890"


class Server:
    """Answers as S3 does. `answers` are taken one after the other, the last one for good."""

    def __init__(self) -> None:
        self.answers: list[tuple[int, bytes, int]] = [(200, CONTENT, len(CONTENT))]
        self.asked = 0
        server = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                server.asked += 1
                status, body, length = server.answers[0]
                if len(server.answers) > 1:
                    server.answers.pop(0)
                self.send_response(status)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None: ...

        self._http = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._http.server_port}/corpus/file?{SECRET}"
        threading.Thread(target=self._http.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._http.shutdown()
        self._http.server_close()


@pytest.fixture
def server() -> Iterator[Server]:
    one = Server()
    yield one
    one.close()


def fetched(server: Server, path: Path, content: bytes = CONTENT, **other: Any) -> dict[str, Any]:
    """Runs the module as Ansible does, without its pauses; returns what it says."""
    file = {"url": server.url, "sha256": hashlib.sha256(content).hexdigest(), "size": len(content), "path": str(path)}
    arguments = json.dumps({"ANSIBLE_MODULE_ARGS": {"files": [{**file, **other}]}})
    quick = (
        f"import runpy, sys, time; time.sleep = lambda s: None; runpy.run_path({str(MODULE)!r}, run_name='__main__')"
    )
    done = subprocess.run([sys.executable, "-c", quick, arguments], capture_output=True, text=True, check=False)
    assert SECRET not in done.stdout
    return dict(json.loads(done.stdout))


def test_a_file_is_fetched_once_and_again_where_it_was_altered(server: Server, tmp_path: Path) -> None:
    path = tmp_path / "corpus" / "file"
    assert fetched(server, path)["changed"] is True
    assert path.read_bytes() == CONTENT
    assert (fetched(server, path)["changed"], server.asked) == (False, 1)
    path.write_bytes(b"b" + CONTENT[1:])
    assert (fetched(server, path)["changed"], path.read_bytes() == CONTENT) == (True, True)


def test_a_network_that_fails_at_first_is_tried_again(server: Server, tmp_path: Path) -> None:
    server.answers[:0] = [(503, b"slow down", 9), (200, CONTENT[:500], len(CONTENT))]
    assert fetched(server, tmp_path / "file")["changed"] is True
    assert server.asked == 3


def test_a_file_with_another_content_is_refused(server: Server, tmp_path: Path) -> None:
    server.answers = [(200, b"x" * len(CONTENT), len(CONTENT))]
    said = fetched(server, tmp_path / "file")
    assert said["failed"] and "SHA-256" in said["msg"]
    assert list(tmp_path.iterdir()) == []


def test_a_url_that_is_not_valid_any_more_is_told_at_once(server: Server, tmp_path: Path) -> None:
    server.answers = [(403, b"expired", 7)]
    said = fetched(server, tmp_path / "file")
    assert said["failed"] and "answers 403" in said["msg"] and server.asked == 1


def test_a_node_that_does_not_reach_the_bucket_is_told(server: Server, tmp_path: Path) -> None:
    server.close()
    said = fetched(server, tmp_path / "file")
    assert said["failed"] and "can't be reached" in said["msg"]


def test_a_volume_that_is_too_small_is_told_before_anything_is_fetched(server: Server, tmp_path: Path) -> None:
    said = fetched(server, tmp_path / "file", size=10**18)
    assert said["failed"] and "larger volume" in said["msg"] and server.asked == 0
