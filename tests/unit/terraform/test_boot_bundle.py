"""The program by which a worker prepares itself at its boot, against a bucket and a metadata service of the test."""

from __future__ import annotations

import datetime
import hashlib
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
from argparse import Namespace
from collections.abc import Iterator
from email.utils import format_datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from botocore.auth import S3SigV4QueryAuth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from controller.edges.archive import packed
from controller.warden.admitting.keys import with_keys
from tests.support.user_data import PROGRAM, user_data, worker_every_boot

WRITTEN = datetime.datetime(2026, 11, 23, 3, tzinfo=datetime.timezone.utc)
MOST_USER_DATA = 16384
"""Bytes that EC2 takes (EC2 User Guide, \"Run commands when you launch an EC2 instance with user data input\")."""
KEY = {"AccessKeyId": "ASIAUNIT", "SecretAccessKey": "secret/+", "Token": "token/+=", "Code": "Success"}
APPLY = """
import json, os, pathlib, sys
given = json.load(sys.stdin)
with open(os.path.expanduser("~/applied"), "a") as file:
    file.write(json.dumps(given) + "\\n")
service = pathlib.Path(os.path.expanduser("~/centavo/services/worker.conf"))
service.parent.mkdir(parents=True, exist_ok=True)
service.touch()
sys.exit(int(os.environ.get("FAILS", "0")))
"""


class Cloud:
    """S3 and the metadata service at one address. `age_s` is the age of every object."""

    def __init__(self) -> None:
        self.objects: dict[str, bytes] = {}
        self.age_s, self.asked = 0.0, list[str]()
        cloud = self

        class Handler(BaseHTTPRequestHandler):
            def do_PUT(self) -> None:
                self.answer(b"a token")

            def do_GET(self) -> None:
                path = urlsplit(self.path).path
                cloud.asked.append(path)
                metadata = path.removeprefix("/latest/meta-data/")
                if metadata != path:
                    found = {
                        "iam/security-credentials/": b"the-role",
                        "iam/security-credentials/the-role": json.dumps(KEY).encode(),
                        "instance-id": b"i-1",
                        "local-ipv4": b"10.0.0.1",
                        "instance-type": b"c5.large",
                    }.get(metadata)
                else:
                    found = cloud.objects.get(path.removeprefix("/bucket/"))
                self.answer(found)

            def answer(self, body: bytes | None) -> None:
                self.send_response_only(404 if body is None else 200)
                self.send_header("Date", format_datetime(WRITTEN + datetime.timedelta(seconds=cloud.age_s), True))
                self.send_header("Last-Modified", format_datetime(WRITTEN, usegmt=True))
                self.send_header("Content-Length", str(len(body or b"")))
                self.end_headers()
                self.wfile.write(body or b"")

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()

    def lease(self, **entries: Any) -> None:
        document = {
            "run": "run-1", "stage": "training", "fired": None, "released": True, "lasts_s": 900,
            "holder": {"checkout": "a-checkout"}, **entries,
        }  # fmt: skip
        self.objects["control/lease.json"] = json.dumps(document).encode()

    def bundle(self, **entries: Any) -> None:
        """Writes a bundle whose program notes what it is given, and a pointer to it."""
        house = {"key": "wheelhouse/a b.tar", "sha256": "0", "size": 1}
        variables = json.dumps({"centavo": {"wheelhouse": house, "corpus": {"files": [dict(house)]}}}).encode()
        files = {"variables.json": (variables, 0o644), "ansible/bin/apply_here.py": (APPLY.encode(), 0o644)}
        content = packed(files)
        digest = hashlib.sha256(content).hexdigest()
        key = f"control/boot/{digest}.tar.gz"
        self.objects[key] = content
        pointer = {"version": 1, "cluster": "unit", "run": "run-1", "key": key, "sha256": digest, "root": "~/centavo"}
        self.objects["control/boot.json"] = json.dumps({**pointer, "when": "unowned", **entries}).encode()


class Node:
    def __init__(self, home: Path, cloud: Cloud, program: ModuleType) -> None:
        self.home, self.cloud, self.program = home, cloud, program
        program.HOME.mkdir(parents=True)

    def boot(self) -> str:
        """Looks once. Returns what the node waits for."""
        return str(self.program.waits_for(Namespace(bucket="bucket", region="us-east-1", cluster="unit")))

    @property
    def applied(self) -> list[dict[str, Any]]:
        file = self.home / "applied"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    one = Cloud()
    yield one
    one.server.shutdown()
    one.server.server_close()


@pytest.fixture
def node(tmp_path: Path, cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> Node:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("AWS_ENDPOINT_URL", cloud.url)
    monkeypatch.delenv("AWS_ENDPOINT_URL_S3", raising=False)
    monkeypatch.setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", cloud.url)
    return Node(tmp_path, cloud, load())


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("boot_bundle", PROGRAM)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_node_that_nobody_prepares_applies_the_bundle_once(node: Node) -> None:
    node.cloud.lease()
    node.cloud.bundle()
    assert node.boot() == ""
    (given,) = node.applied
    assert given["here"] == {"instance_id": "i-1", "private_ip": "10.0.0.1", "flavor": "c5.large"}
    urls = [given["centavo"]["wheelhouse"]["url"], given["centavo"]["corpus"]["files"][0]["url"]]
    assert all(url.startswith(f"{node.cloud.url}/bucket/wheelhouse/a%20b.tar?X-Amz-") for url in urls)
    assert node.boot() == "" and len(node.applied) == 1, "a second boot applies nothing"


@pytest.mark.parametrize(
    ("lease", "pointer", "age_s", "waits"),
    [
        ({}, {}, 0, ""),
        ({"released": False}, {}, 900, "a controller lives"),
        ({"released": False}, {}, 901, ""),
        ({"released": False}, {"when": "always"}, 0, ""),
        ({"stage": "ended"}, {"when": "always"}, 0, "ends or has ended"),
        ({"stage": "ending"}, {}, 0, "ends or has ended"),
        ({"fired": {"by": "head"}}, {}, 0, "ends or has ended"),
        ({"run": "run-2"}, {"when": "always"}, 0, "the cluster's run is run-2"),
        ({}, {"cluster": "another"}, 0, "of another version or cluster"),
        ({}, {"key": "control/../x"}, 0, "of another version or cluster"),
        ({}, {"version": 2}, 0, "of another version or cluster"),
    ],
)
def test_whose_turn_it_is_follows_from_pointer_and_lease(
    node: Node, lease: dict[str, Any], pointer: dict[str, Any], age_s: float, waits: str
) -> None:
    node.cloud.lease(**lease)
    node.cloud.bundle(**pointer)
    node.cloud.age_s = age_s
    said = node.boot()
    assert (waits in said) if waits else said == ""
    assert len(node.applied) == (not waits)


def test_without_a_pointer_or_a_lease_nothing_is_done(node: Node) -> None:
    assert "names no bundle yet" in node.boot()
    node.cloud.bundle()
    assert "has no lease" in node.boot()
    assert node.applied == []


def test_a_bundle_with_a_wrong_digest_is_not_used_and_the_digest_is_told(node: Node) -> None:
    node.cloud.lease()
    node.cloud.bundle()
    (key,) = (one for one in node.cloud.objects if one.startswith("control/boot/"))
    node.cloud.objects[key] += b"x"
    said = node.boot()
    assert "has the SHA-256" in said and "it is not used" in said and node.applied == []
    assert not list((node.program.HOME / "bundles").glob("*")), "nothing of it is unpacked"


def test_a_bundle_that_is_missing_or_a_pointer_that_is_torn_is_told(node: Node) -> None:
    node.cloud.lease()
    node.cloud.bundle()
    (key,) = (one for one in node.cloud.objects if one.startswith("control/boot/"))
    del node.cloud.objects[key]
    assert "is missing" in node.boot()
    node.cloud.objects["control/boot.json"] = b'{"version": 1'
    assert "JSONDecodeError" in node.boot()
    node.cloud.objects["control/boot.json"] = b"[]"
    assert "TypeError" in node.boot()


@pytest.mark.parametrize(
    ("lease", "names"),
    [
        ({}, ["a-checkout", "head.run-1"]),
        ({"stage": "ended"}, ["a-checkout"]),
        ({"fired": {"by": "head"}}, ["a-checkout"]),
        ({"run": "run-2"}, ["a-checkout"]),
        ({"holder": {"checkout": "another"}}, ["head.run-1"]),
        ({"holder": {"checkout": "../other/evil"}, "run": "x\nssh-rsa AAAA"}, []),
    ],
)
def test_who_controls_the_cluster_is_let_in_before_anybody_prepares_the_node(
    node: Node, lease: dict[str, Any], names: list[str]
) -> None:
    """The warden, which keeps the file later, finds it as it would write it."""
    own = "ssh-rsa AAAA of the launch template\nssh-ed25519 AAAAC3Nza centavo-head"
    keys = {"a-checkout": "ssh-ed25519 AAAAC3Nz/+a= ada@desk", "head.run-1": "ssh-ed25519 AAAAC3Nz/+b="}
    node.cloud.objects |= {f"control/keys/{name}.pub": key.encode() for name, key in keys.items()}
    node.cloud.objects["control/other/evil.pub"] = b"ssh-rsa AAAA"
    file = node.home / ".ssh" / "authorized_keys"
    file.parent.mkdir()
    file.write_text(f"{own}\n")
    for _ in range(2):
        node.cloud.lease(**lease)
        assert "names no bundle yet" in node.boot()
        lines = [f"{' '.join(keys[name].split()[:2])} centavo:{name}" for name in names]
        assert file.read_text() == with_keys(f"{own}\n", lines)
    assert not lines or file.stat().st_mode & 0o777 == 0o600
    node.cloud.lease(stage="ended", holder={"checkout": "gone"})
    node.boot()
    assert file.read_text() == f"{own}\n"


def test_what_is_no_public_key_lets_nobody_in(node: Node) -> None:
    file = node.home / ".ssh" / "authorized_keys"
    file.parent.mkdir()
    for content in (b"", b"ssh-ed25519", b'command="x" ssh-rsa AAAA', b"\xff\xfe", b"\nssh-rsa AAAA"):
        node.cloud.objects["control/keys/a-checkout.pub"] = content
        node.cloud.lease()
        node.boot()
        assert not file.exists()


def test_an_application_that_failed_or_was_cut_short_is_made_again(node: Node, monkeypatch: pytest.MonkeyPatch) -> None:
    node.cloud.lease()
    node.cloud.bundle()
    monkeypatch.setenv("FAILS", "4")
    assert "exit code 4" in node.boot()
    monkeypatch.setenv("FAILS", "0")
    assert node.boot() == "" and len(node.applied) == 2
    assert node.boot() == "" and len(node.applied) == 2


def test_a_node_that_ansible_has_prepared_is_left_as_it_is(node: Node) -> None:
    node.cloud.lease()
    node.cloud.bundle()
    service = node.home / "centavo" / "services" / "worker.conf"
    service.parent.mkdir(parents=True)
    service.touch()
    assert node.boot() == "" and node.applied == []


def test_the_program_looks_again_in_the_background_until_it_is_the_nodes_turn(
    node: Node, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    begun: list[list[str]] = []
    command = ["boot.py", "--bucket", "bucket", "--region", "r", "--cluster", "unit"]
    with monkeypatch.context() as patch:
        patch.setattr(node.program.subprocess, "Popen", lambda command, **options: begun.append(command))
        patch.setattr(sys, "argv", command)
        node.program.main()
    assert begun == [[sys.executable, *command, "--again"]] and node.applied == []
    looks = iter([lambda: None, node.cloud.lease, node.cloud.bundle])
    clock = SimpleNamespace(sleep=lambda seconds: next(looks)(), monotonic=time.monotonic, time=time.time)
    monkeypatch.setattr(node.program, "time", clock)
    monkeypatch.setattr(sys, "argv", begun[0][1:])
    node.program.main()
    assert len(node.applied) == 1
    assert capfd.readouterr().out.count("names no bundle yet") == 2, "each process tells it once"


class Auth(S3SigV4QueryAuth):
    """botocore's signature of a URL at a given time."""

    def __init__(self, at: str) -> None:
        key = Credentials(KEY["AccessKeyId"], KEY["SecretAccessKey"], KEY["Token"])
        super().__init__(key, "s3", "eu-west-3", expires=3600)
        self.at = at

    def signed(self, url: str) -> str:
        request = AWSRequest("GET", url)
        request.context["timestamp"] = self.at
        self._modify_request_before_signing(request)
        to_sign = self.string_to_sign(request, self.canonical_request(request))
        self._inject_signature_to_request(request, self.signature(to_sign, request))
        return str(request.url)


@pytest.mark.parametrize("own", [True, False])
def test_the_signature_is_the_one_that_botocore_makes(node: Node, monkeypatch: pytest.MonkeyPatch, own: bool) -> None:
    bucket = node.program.Bucket("bucket", "eu-west-3")
    if not own:
        monkeypatch.delenv("AWS_ENDPOINT_URL")
    place = urlsplit(bucket.url("run/a key+=.tar"))
    assert place.netloc == (urlsplit(node.cloud.url).netloc if own else "bucket.s3.eu-west-3.amazonaws.com")
    at = dict(part.split("=", 1) for part in place.query.split("&"))["X-Amz-Date"]
    signed = Auth(at).signed(f"{place.scheme}://{place.netloc}{place.path}")
    assert sorted(urlsplit(signed).query.split("&")) == sorted(place.query.split("&"))


def test_the_user_data_of_a_worker_runs_the_program_and_is_not_too_large(tmp_path: Path) -> None:
    script = worker_every_boot("a-bucket", "unit", program="import json, sys\nprint(json.dumps(sys.argv[1:]))")
    environment = {"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(["bash", "-c", script], check=False, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout) == ["--bucket", "a-bucket", "--region", "us-east-1", "--cluster", "unit"]
    whole = user_data(worker_every_boot("b" * 63, "c" * 25), login_user="admin")
    assert len(whole) < MOST_USER_DATA - 1000, "room for packages and long names"


def test_a_node_that_a_controller_has_begun_to_prepare_leaves_it_to_that(node: Node) -> None:
    node.cloud.lease()
    node.cloud.bundle()
    outside = node.program.HOME / "outside"
    outside.touch()
    assert node.boot() == "a controller prepares the node now" and node.applied == []
    os.utime(outside, (time.time() - 601, time.time() - 601))
    assert node.boot() == ""
    assert len(node.applied) == 1
