"""A copy of this checkout with a cloud of its own on free ports, so that a whole job can be run and torn down."""

from __future__ import annotations

import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import boto3
import yaml

from localcloud.commands.client import ask
from localcloud.credentials import Credentials
from localcloud.state import StateDir

REPOSITORY = Path(__file__).resolve().parents[2]
LEFT_OUT = shutil.ignore_patterns(
    ".git",
    ".venv*",
    ".centavo",
    ".localcloud",
    "runs",
    ".terraform*",
    "*.tfstate*",
    "__pycache__",
    ".*_cache",
    "capacity.auto.tfvars.json",
)


@dataclass(frozen=True)
class Sandbox:
    """Where the copy lies, and the address of its cloud."""

    root: Path
    endpoint: str

    @property
    def environment(self) -> Path:
        return self.root / "terraform" / "environments" / "local"

    @property
    def report(self) -> dict[str, Any]:
        document: dict[str, Any] = json.loads((self.root / "runs" / "latest" / "report.json").read_text())
        return document

    def centavo(self, *arguments: str, timeout_s: float = 900) -> subprocess.CompletedProcess[str]:
        """Runs a command to its end; its output is also kept in the pytest report when it fails."""
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=timeout_s)
        print(output)
        return subprocess.CompletedProcess(process.args, process.returncode, output)

    def succeed(self, *arguments: str, timeout_s: float = 1800) -> str:
        """Runs a command for a bench, and returns its output. A command that fails ends the bench."""
        done = self.centavo(*arguments, timeout_s=timeout_s)
        if done.returncode:
            raise SystemExit(f"centavo {' '.join(arguments)} ended with exit code {done.returncode} (see above).")
        return done.stdout

    def start(self, *arguments: str, output: IO[str] | int = subprocess.PIPE) -> subprocess.Popen[str]:
        """Starts a command in a process group of its own, which writes to `output`."""
        return subprocess.Popen(
            [sys.executable, "-m", "controller", "--root", str(self.root), "--env", "local", *arguments],
            cwd=self.root,
            env=self.process_environment(),
            text=True,
            start_new_session=True,
            stdout=output,
            stderr=subprocess.STDOUT,
        )

    def localcloud(self, command: str) -> subprocess.CompletedProcess[str]:
        """`python -m localcloud up|status|down`."""
        return subprocess.run(
            [
                sys.executable,
                "-m",
                "localcloud",
                command,
                "--config",
                str(self.environment / "localcloud.yml"),
                "--state-dir",
                str(self.root / ".localcloud"),
            ],
            cwd=self.root,
            env=self.process_environment(),
            text=True,
            capture_output=True,
            timeout=500,
            check=False,
        )

    def ec2(self) -> Any:
        """A boto3 client of the sandbox's cloud."""
        return client_of(self.root, self.endpoint, "ec2")

    def running_workers(self) -> dict[str, int]:
        """Running workers by flavor, as any EC2 client sees them."""
        return dict(Counter(instance["InstanceType"] for instance in running_instances(self.ec2(), "worker")))

    def control(self, action: str, request: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Asks the control API of the sandbox's cloud."""
        state = StateDir(self.root / ".localcloud")
        running = state.running()
        assert running is not None, "the cloud does not run"
        return ask(state, running.settings, action, request)

    def processes(self) -> dict[int, str]:
        """Command lines of all processes that work in the sandbox: by their folder, arguments or environment."""
        return processes_of(self.root)

    def process_environment(self) -> dict[str, str]:
        """Returns the environment variables of the sandbox's processes."""
        return process_environment(self.root)


def client_of(root: Path, endpoint: str, service: str) -> Any:
    """Returns a boto3 client of the cloud whose state lies in a checkout's `.localcloud`."""
    key = Credentials.from_text((root / ".localcloud" / "credentials").read_text()).user
    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name="us-east-1",
        aws_access_key_id=key.access_key_id,
        aws_secret_access_key=key.secret_access_key,
    )


def running_instances(ec2: Any, role: str) -> list[dict[str, Any]]:
    """Returns the running instances of a role, `head` or `worker`, as EC2 describes them."""
    filters = [
        {"Name": "tag:centavo:role", "Values": [role]},
        {"Name": "instance-state-name", "Values": ["running"]},
    ]
    pages = ec2.get_paginator("describe_instances").paginate(Filters=filters)
    return [one for page in pages for reservation in page["Reservations"] for one in reservation["Instances"]]


def process_environment(root: Path) -> dict[str, str]:
    """Returns the environment variables of processes that work in a checkout: none that name another cloud."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "CENTAVO_", "TF_VAR_"))}
    return {
        **kept,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": str(root),
        "PYTHONUNBUFFERED": "1",
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    }


def processes_of(root: Path) -> dict[int, str]:
    """Returns the command lines of all processes that work below a folder: by arguments, environment or own folder."""
    mark = os.fsencode(root)
    found = {}
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == os.getpid():
            continue
        try:
            command = (entry / "cmdline").read_bytes()
            about = command + (entry / "environ").read_bytes() + os.fsencode(os.readlink(entry / "cwd"))
        except OSError:
            continue
        if mark in about:
            found[int(entry.name)] = command.replace(b"\0", b" ").decode(errors="replace")
    return found


def move_phases(run: Path) -> list[str]:
    """Returns the phase of every move in the journal of a run, oldest first."""
    journal = run / "journal.sqlite"
    if not journal.is_file():
        return []
    with sqlite3.connect(f"file:{journal}?mode=ro", uri=True) as connection:
        try:
            return [phase for (phase,) in connection.execute("SELECT phase FROM moves ORDER BY move_id")]
        except sqlite3.OperationalError:
            return []


def make_sandbox(
    root: Path,
    stack: ExitStack,
    *,
    initial: Mapping[str, int],
    speeds: Mapping[str, float],
    steps: int,
    cloud: Mapping[str, Any] | None = None,
    prices: Mapping[str, float] | None = None,
) -> Sandbox:
    """Copies the checkout, gives it free ports and a small training, starts its cloud; `stack` ends all of it.

    `cloud` has further entries of localcloud.yml, and `prices` entries of prices.yml.
    """
    shutil.copytree(REPOSITORY, root, ignore=LEFT_OUT)
    api, ssh, metadata = free_ports(3)
    sandbox = Sandbox(root, f"http://127.0.0.1:{api}")
    directory = sandbox.environment
    edit_yaml(
        directory / "localcloud.yml",
        lambda it: it.update(port=api, ssh_port=ssh, metadata_port=metadata, speeds=dict(speeds), **(cloud or {})),
    )
    if prices:
        edit_yaml(directory / "prices.yml", lambda it: it.update(prices))

    def settings(it: dict[str, Any]) -> None:
        it["aws"]["environment"]["AWS_ENDPOINT_URL"] = sandbox.endpoint
        it["ssh"]["port"] = ssh
        it["fleet"]["initial"] = dict(initial)
        it["controller"]["decide"]["switching"] = dict.fromkeys(("boot_s", "configure_s", "pause_s", "drain_s"), 1)
        it["limits"].update(min_nodes=sum(initial.values()), max_nodes=sum(initial.values()))

    edit_yaml(directory / "centavo.yml", settings)

    def training(it: dict[str, Any]) -> None:
        it["stop"] = {"steps": steps}
        it["corpus"].update(pairs=4000, held_out=100)
        it["translate"].update(test_sentences=40, beam_size=2)

    edit_yaml(directory / "training.yml", training)
    main = directory / "main.tf"
    main.write_text(main.read_text().replace("2222", str(ssh)))
    stack.callback(end_processes, sandbox)
    stack.callback(sandbox.localcloud, "down")
    up = sandbox.localcloud("up")
    assert up.returncode == 0, up.stdout + up.stderr
    return sandbox


def edit_yaml(file: Path, change: Callable[[dict[str, Any]], None]) -> None:
    document = yaml.safe_load(file.read_text())
    change(document)
    file.write_text(yaml.safe_dump(document, sort_keys=False))


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on, on any of this machine's addresses."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("", 0))
        return [one.getsockname()[1] for one in sockets]


def end_processes(sandbox: Sandbox) -> None:
    """Kills whatever a failed test left behind."""
    mark = os.fsencode(sandbox.root)
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit() and int(entry.name) != os.getpid():
            try:
                about = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
                if mark in about:
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                continue


def wait_until(condition: Callable[[], bool], limit_s: float, what: str) -> None:
    """Polls until the condition holds; fails the test with `what` when the limit is over."""
    deadline = time.monotonic() + limit_s
    while not condition():
        assert time.monotonic() < deadline, f"not within {limit_s:g} s: {what}"
        time.sleep(0.2)
