"""The faults of a host that `python -m localcloud fault` injects, with a real host and their real effect."""

from __future__ import annotations

import base64
import contextlib
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.local_cloud import LocalCloud, command, free_port, wait_until
from tests.support.roles import make_profile

pytestmark = pytest.mark.slow

SILENT_S = 1.5
"""How long a test waits for an answer that must not come."""

CLOSED_S = 14.0
"""TCP repeats a close after 0.2 s, 0.6 s and so on up to 12.6 s. Then it waits for another 12.8 s."""

TICK = "import time\nwhile True: open('ticks', 'a').write('x'); time.sleep(0.02)"

WRITE = """
import time
while True:
    try:
        with open("tried", "a") as file:
            file.write("x")
        told = "written"
    except OSError as error:
        told = str(error.errno)
    print(told, flush=True)
    time.sleep(0.05)
"""

SERVE = """
import socket, threading
def serve(connection):
    while data := connection.recv(100):
        connection.sendall(data)
server = socket.create_server(("{address}", {port}))
while True:
    threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
"""

TALK = """
import socket, time
connection = socket.create_connection(("{address}", {port}))
while True:
    connection.sendall(b"x")
    open("{name}", "ab").write(connection.recv(100))
    time.sleep(0.02)
"""

HEAR = """
import socket
server = socket.create_server(("{address}", {port}))
open("listening", "w").write("x")
connection, _ = server.accept()
while connection.recv(100):
    open("heard", "w").write("x")
open("closed", "w").write("x")
"""

HANG_UP = """
import pathlib, socket, time
connection = socket.create_connection(("{address}", {port}))
connection.sendall(b"x")
while not pathlib.Path("hang-up").exists():
    time.sleep(0.05)
connection.close()
open("hung-up", "w").write("x")
"""

CALL = """
import boto3, botocore, time

config = botocore.config.Config(read_timeout=1, retries={"total_max_attempts": 1})
while True:
    try:
        boto3.client("ec2", config=config).describe_instances()
        open("calls", "a").write("x")
    except (botocore.exceptions.BotoCoreError, botocore.exceptions.ClientError) as error:
        open("refused", "a").write(type(error).__name__ + "\\n")
    time.sleep(0.05)
"""


def fault(cloud: LocalCloud, *arguments: str) -> str:
    """Runs the command, and returns what it prints."""
    result = command("fault", *arguments, state_dir=cloud.state_dir)
    assert result.returncode == 0, result.stderr
    return result.stdout


class Node:
    """An instance with its host."""

    def __init__(self, cloud: LocalCloud, **entries: object) -> None:
        self.cloud = cloud
        self.id = cloud.run(**entries)
        self.address = cloud.ready(self.id)
        self.home = cloud.state_dir / "instances" / self.id / "home"

    def start(self, script: str) -> None:
        """Starts a Python program that goes on without its session."""
        coded = base64.b64encode(script.encode()).decode()
        program = f"exec(__import__('base64').b64decode('{coded}'))"
        result = self.cloud.ssh(self.address, f'(setsid python3 -c "{program}" < /dev/null > log 2>&1 &)')
        assert result.returncode == 0, result.stderr

    def written(self, name: str) -> int:
        """Returns how much the programs of the host have written to a file in its home."""
        file = self.home / name
        return file.stat().st_size if file.exists() else 0

    def goes_on(self, name: str = "ticks") -> bool:
        """Returns whether more is written to a file now."""
        before = self.written(name)
        with contextlib.suppress(AssertionError):
            return bool(wait_until(lambda: self.written(name) > before, "more", limit_s=SILENT_S))
        return False

    def hangs(self) -> bool:
        """Returns whether the host accepts a connection to its SSH server and then says nothing."""
        with socket.create_connection((self.address, self.cloud.config["ssh_port"]), timeout=SILENT_S) as connection:
            try:
                connection.recv(1)
            except TimeoutError:
                return True
        return False

    def is_unreachable(self) -> bool:
        """Returns whether nobody answers who wants to connect to the host's SSH server."""
        try:
            socket.create_connection((self.address, self.cloud.config["ssh_port"]), timeout=SILENT_S).close()
        except TimeoutError:
            return True
        return False


@pytest.fixture
def node(cloud: LocalCloud) -> Iterator[Node]:
    """A node. All faults end with the test."""
    one = Node(cloud)
    yield one
    cloud.control("clear", {})
    cloud.ec2.terminate_instances(InstanceIds=[one.id])


def test_a_host_whose_ssh_hangs_accepts_and_never_answers_until_it_is_cleared(cloud: LocalCloud, node: Node) -> None:
    node.start(TICK)
    assert f"hang-ssh {node.id}" in fault(cloud, "hang-ssh", node.id)
    wait_until(node.hangs, "the silence")
    wait_until(node.goes_on, "the programs on the host, which go on")
    waiting = subprocess.Popen(cloud.ssh_arguments(node.address, "echo late"), stdout=subprocess.PIPE, text=True)
    fault(cloud, "clear")
    assert waiting.communicate(timeout=120)[0] == "late\n"
    assert cloud.ssh(node.address, "echo back").stdout == "back\n"


def test_a_session_that_is_open_hangs_too_and_goes_on_afterwards(cloud: LocalCloud, node: Node) -> None:
    client = subprocess.Popen(
        cloud.ssh_arguments(node.address, "tee heard"), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert client.stdin and client.stdout
    client.stdin.write("one\n")
    client.stdin.flush()
    assert client.stdout.readline() == "one\n"
    fault(cloud, "hang-ssh", node.id)
    wait_until(node.hangs, "the silence")
    client.stdin.write("two\n")
    client.stdin.flush()
    assert not node.goes_on("heard")
    fault(cloud, "clear")
    assert client.stdout.readline() == "two\n"
    client.stdin.close()
    assert client.wait(120) == 0
    client.stdout.close()


def test_a_frozen_host_does_nothing_until_it_thaws(cloud: LocalCloud, node: Node) -> None:
    node.start(TICK)
    wait_until(node.goes_on, "the first ticks")
    fault(cloud, "freeze", node.id)
    wait_until(lambda: not node.goes_on(), "the standstill")
    assert node.hangs()
    assert "ended: " in fault(cloud, "thaw", node.id)
    wait_until(node.goes_on, "the thaw")
    assert cloud.ssh(node.address, "true").returncode == 0


def test_a_fault_ends_with_its_instance(cloud: LocalCloud, node: Node) -> None:
    node.start(TICK)
    wait_until(node.goes_on, "the first ticks")
    fault(cloud, "freeze", node.id)
    wait_until(lambda: not node.goes_on(), "the standstill")
    cloud.ec2.terminate_instances(InstanceIds=[node.id])
    wait_until(lambda: cloud.state(node.id) == "terminated", "the termination")
    assert fault(cloud, "list") == "no faults\n"


def test_a_reboot_ends_a_freeze_and_all_that_ran(cloud: LocalCloud, node: Node) -> None:
    node.start(TICK)
    fault(cloud, "freeze", node.id)
    wait_until(node.hangs, "the silence")
    assert "reboots" in fault(cloud, "reboot", node.id)
    wait_until(lambda: fault(cloud, "list") == "no faults\n", "the end of the fault")
    wait_until(lambda: cloud.ssh(node.address, "true").returncode == 0, "the next boot")
    assert not node.goes_on()


def test_a_fault_ends_by_itself_after_its_time(cloud: LocalCloud, node: Node) -> None:
    assert "s more)" in fault(cloud, "hang-ssh", node.id, "--for", "4")
    wait_until(node.hangs, "the silence")
    assert cloud.ssh(node.address, "echo back").stdout == "back\n"
    assert fault(cloud, "list") == "no faults\n"


def test_on_a_full_disk_nothing_is_written_and_what_runs_goes_on(cloud: LocalCloud, node: Node) -> None:
    words = cloud.ssh_arguments(node.address, "exec python3 -u -")
    program = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert program.stdin and program.stdout
    lines = program.stdout
    program.stdin.write(WRITE)
    program.stdin.close()
    assert lines.readline() == "written\n"
    fault(cloud, "fill-disk", node.id)
    wait_until(lambda: lines.readline() == "27\n", "the full disk")
    refused = cloud.ssh(node.address, "echo text > file; cat file | wc -c")
    assert "File too large" in refused.stderr
    assert refused.stdout.strip() == "0"
    for protocol in ([], ["-O"]):  # SFTP, and the old protocol of scp
        copy = ["scp", "-q", *protocol, *cloud.ssh_options(), __file__, f"me@{node.address}:copy"]
        assert subprocess.run(copy, capture_output=True, timeout=120, check=False).returncode != 0
        assert (node.home / "copy").read_bytes() != Path(__file__).read_bytes()
    fault(cloud, "clear")
    wait_until(lambda: lines.readline() == "written\n", "room on the disk")
    assert cloud.ssh(node.address, "echo text > file && cat file").stdout == "text\n"
    program.kill()
    program.wait()
    lines.close()


def test_a_host_that_is_cut_off_reaches_nobody_and_nobody_reaches_it(cloud: LocalCloud, node: Node) -> None:
    other, port = Node(cloud), free_port()
    other.start(SERVE.format(address=other.address, port=port))
    wait_until(lambda: can_connect(other.address, port), "the server")
    node.start(TALK.format(address=other.address, port=port, name="talk"))
    node.start(TICK)
    wait_until(lambda: node.goes_on("talk"), "the conversation")
    fault(cloud, "partition", node.id)
    wait_until(lambda: not node.goes_on("talk"), "the silence")
    wait_until(node.goes_on, "the programs on the host, which go on")
    wait_until(node.is_unreachable, "that nobody reaches it")
    assert cloud.ssh(other.address, "true").returncode == 0
    fault(cloud, "clear")
    wait_until(lambda: node.goes_on("talk"), "the conversation, which goes on")
    assert cloud.ssh(node.address, "true").returncode == 0


def test_a_connection_that_is_closed_during_a_partition_ends_with_it(cloud: LocalCloud, node: Node) -> None:
    other, port = Node(cloud), free_port()
    other.start(HEAR.format(address=other.address, port=port))
    wait_until(lambda: other.written("listening"), "the server")
    node.start(HANG_UP.format(address=other.address, port=port))
    wait_until(lambda: other.written("heard"), "the conversation")
    fault(cloud, "partition", node.id)
    wait_until(node.is_unreachable, "the silence")
    (node.home / "hang-up").touch()
    wait_until(lambda: node.written("hung-up"), "the end that hangs up")
    time.sleep(CLOSED_S)
    fault(cloud, "clear")
    wait_until(lambda: other.written("closed"), "the other end, which learns of it", limit_s=CLOSED_S / 2)


def test_a_host_that_is_cut_off_from_one_reaches_the_others(cloud: LocalCloud, node: Node) -> None:
    lost, kept, port = Node(cloud), Node(cloud), free_port()
    for name, server in (("lost", lost), ("kept", kept)):
        server.start(SERVE.format(address=server.address, port=port))
        wait_until(lambda one=server: can_connect(one.address, port), "the server")
        node.start(TALK.format(address=server.address, port=port, name=name))
    wait_until(lambda: node.goes_on("lost") and node.goes_on("kept"), "both conversations")
    assert f"partition {node.id} from {lost.id}" in fault(cloud, "partition", node.id, "--from", lost.id)
    wait_until(lambda: not node.goes_on("lost"), "the silence of one")
    wait_until(lambda: node.goes_on("kept"), "the other conversation, which goes on")
    assert cloud.ssh(node.address, "true").returncode == 0
    fault(cloud, "clear")
    wait_until(lambda: node.goes_on("lost"), "the conversation, which goes on")


def test_the_api_does_not_hear_a_host_that_is_cut_off(cloud: LocalCloud) -> None:
    node = Node(cloud, IamInstanceProfile={"Name": make_profile(cloud, "calling", "s3:*", "ec2:Describe*")})
    node.start(CALL)
    wait_until(lambda: node.goes_on("calls"), "the first calls")
    fault(cloud, "partition", node.id)
    wait_until(lambda: not node.goes_on("calls"), "the silence")
    wait_until(lambda: node.written("refused"), "a call in vain")
    assert "ReadTimeoutError" in (node.home / "refused").read_text()
    fault(cloud, "clear")
    wait_until(lambda: node.goes_on("calls"), "calls that are answered")


def can_connect(address: str, port: int) -> bool:
    with contextlib.suppress(OSError), socket.create_connection((address, port), timeout=60):
        return True
    return False
