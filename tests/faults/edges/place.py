"""Where the faults take place: a copy of the checkout with the stub as its trainer, and a cloud of its own."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import urllib.request
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from controller.edges.connecting.ssh import control_directory
from localcloud.credentials import Credentials
from tests.support.local_cloud import free_port
from tests.support.sandbox import LEFT_OUT, REPOSITORY, Sandbox, edit_yaml, end_processes

STUB = Path(__file__).parent / "stub"
PARTS = ("ansible", "controller", "localcloud", "requirements", "terraform")
HERE = {"t2.large": 2, "c5.large": 1}
THERE = {"c5.xlarge": 2, "c5.large": 1}
"""The two fleets between which a run moves. One node of three stays."""
MOST = {flavor: max(HERE.get(flavor, 0), THERE.get(flavor, 0)) for flavor in {*HERE, *THERE}}
"""The most nodes of each flavor that a move between the two fleets needs, and that a run may have."""
PRICES_HERE = {"t2.large": 0.05, "c5.large": 0.08, "c5.xlarge": 0.20}
PRICES_THERE = {"t2.large": 0.20, "c5.large": 0.08, "c5.xlarge": 0.05}
HEAD, HEAD_USD = "t3.micro", 0.01
OTHERS = ("t2.medium", "t2.xlarge", "c5.2xlarge")
GROUPS = "centavo-local-"
STEPS = 1_000_000
"""More steps than any run makes: a run ends when the file `end` lies on its head."""


@dataclass(frozen=True)
class Machine:
    """An instance. `host` says how its host is: booting, ready and so on."""

    id: str
    flavor: str
    address: str
    role: str
    host: str | None


class Place:
    """A checkout and a cloud for many runs. `close` ends everything in it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._stack = ExitStack()
        self._stack.callback(shutil.rmtree, root, ignore_errors=True)
        self._stack.callback(self._remove_control_sockets)
        self.log = root / "stub.log"
        self.canary = root / "canary"
        try:
            self.sandbox = self._make(root / "checkout")
        except BaseException:
            self._stack.close()
            raise

    def close(self) -> None:
        """Ends the cloud, every process of it and of the checkout, and removes the checkout."""
        self._stack.close()

    def control(self, action: str, **request: Any) -> dict[str, Any]:
        """Asks localcloud's control API, as `python -m localcloud fault` does."""
        secrets = Credentials.from_text((self.sandbox.root / ".localcloud" / "credentials").read_text())
        document = None if action in ("status", "faults") else json.dumps(request).encode()
        token = {"Authorization": f"Bearer {secrets.control_token}"}
        url = f"{self.sandbox.endpoint}/_localcloud/{action}"
        with urllib.request.urlopen(urllib.request.Request(url, data=document, headers=token), timeout=60) as answer:
            return dict(json.load(answer))

    def start(self, command: str, output: IO[str]) -> subprocess.Popen[str]:
        """Starts a command of Centavo in a process group of its own."""
        return subprocess.Popen(
            [sys.executable, "-m", "controller", "--root", str(self.sandbox.root), "--env", "local", command],
            cwd=self.sandbox.root, env=self.sandbox.process_environment(), text=True, start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        )  # fmt: skip

    def processes(self, *words: str) -> list[int]:
        """Returns the processes of the checkout whose command line has all of these words."""
        mark, found = os.fsencode(self.sandbox.root), []
        for entry in Path("/proc").glob("[0-9]*"):
            try:
                command = (entry / "cmdline").read_bytes()
                about = command + (entry / "environ").read_bytes()
            except OSError:
                continue
            if mark in about and all(word.encode() in command for word in words):
                found.append(int(entry.name))
        return found

    def terraforms(self) -> list[int]:
        """Returns the processes of Terraform and its providers."""
        found = []
        for process in self.processes():
            with suppress(OSError):
                if Path(f"/proc/{process}/comm").read_text().startswith("terraform"):
                    found.append(process)
        return found

    def end_connection(self, instance_id: str) -> None:
        """Ends the SSH connection that all commands of the controller to an instance share."""
        known_hosts = self.sandbox.root / ".centavo" / "local" / "known_hosts"
        path = control_directory(known_hosts) / instance_id
        command = ["ssh", "-F", "none", "-o", f"ControlPath={path}", "-O", "exit", "worker@localhost"]
        subprocess.run(command, capture_output=True, timeout=20, check=False)

    def sockets(self) -> set[str]:
        """Returns the inodes of all sockets of the checkout's processes."""
        found = set()
        for process in self.processes():
            for descriptor in Path(f"/proc/{process}/fd").glob("*"):
                with suppress(OSError):
                    link = os.readlink(descriptor)
                    if link.startswith("socket:["):
                        found.add(link[8:-1])
        return found

    def home(self, instance_id: str) -> Path:
        """Returns the home directory of an instance's host."""
        return next((self.sandbox.root / ".localcloud").glob(f"**/{instance_id}/home"))

    def instances(self) -> list[Machine]:
        """Returns the instances that are pending or running."""
        return [
            Machine(one["instance_id"], one["flavor"], one["ip"], one["tags"].get("centavo:role", ""), one["host"])
            for one in self.control("status")["instances"]
            if one["state"] in ("pending", "running")
        ]

    def workers(self) -> list[Machine]:
        """Returns the workers that are pending or running."""
        return [machine for machine in self.instances() if machine.role == "worker"]

    def head(self) -> Machine:
        """Returns the head."""
        return next(machine for machine in self.instances() if machine.role == "head")

    def desired(self) -> dict[str, int]:
        """Returns what the Auto Scaling groups are set to, by flavor, without zeros."""
        groups = self.control("status")["groups"]
        return {group["name"].removeprefix(GROUPS): group["desired"] for group in groups if group["desired"]}

    def hosts_file(self, head_id: str) -> Path:
        """Returns the hosts file of the head."""
        return self.home(head_id) / "centavo" / "hosts"

    def end_file(self, head_id: str) -> Path:
        """Returns the file on the head whose presence ends a training."""
        return self.home(head_id) / "centavo" / "end"

    def let_train(self) -> None:
        """Lets the next training begin, though the one before has ended. They share their head."""
        for machine in self.instances():
            if machine.role == "head":
                self.end_file(machine.id).unlink(missing_ok=True)

    def set_prices(self, prices: dict[str, float]) -> None:
        """Sets the prices that decide where the run moves to."""
        lines = {HEAD: HEAD_USD, **prices}
        path = self.sandbox.environment / "prices.yml"
        part = path.with_name(".prices.new")
        part.write_text("".join(f"{flavor}: {usd}\n" for flavor, usd in lines.items()))
        part.replace(path)

    def events(self) -> list[dict[str, Any]]:
        """Returns what the stub has noted, oldest first."""
        if not self.log.exists():
            return []
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.endswith("}")]

    def _make(self, root: Path) -> Sandbox:
        root.mkdir(parents=True)
        for part in PARTS:
            shutil.copytree(REPOSITORY / part, root / part, ignore=LEFT_OUT)
        shutil.copytree(STUB, root / "trainer", ignore=LEFT_OUT)
        shutil.copy(REPOSITORY / "pyproject.toml", root)
        ports = [free_port() for _ in range(3)]
        sandbox = Sandbox(root, f"http://127.0.0.1:{ports[0]}")
        self._configure(sandbox, ports)
        self._stack.callback(end_processes, sandbox)
        self._stack.callback(sandbox.localcloud, "down")
        up = sandbox.localcloud("up")
        if up.returncode != 0:
            raise RuntimeError(f"localcloud did not start: {up.stdout}{up.stderr}")
        return sandbox

    def _remove_control_sockets(self) -> None:
        known_hosts = self.root / "checkout" / ".centavo" / "local" / "known_hosts"
        shutil.rmtree(control_directory(known_hosts), ignore_errors=True)

    def _configure(self, sandbox: Sandbox, ports: list[int]) -> None:
        folder = sandbox.environment
        api, ssh, metadata = ports
        edit_yaml(
            folder / "localcloud.yml",
            lambda it: it.update(
                port=api, ssh_port=ssh, metadata_port=metadata, speeds={}, boot_delay_s=0.3, scaling_retry_s=1,
                terminated_visible_s=5,
            ),
        )  # fmt: skip
        edit_yaml(folder / "centavo.yml", lambda it: _settings(it, sandbox.endpoint, ssh))
        edit_yaml(folder / "training.yml", lambda it: it.update(stop={"steps": STEPS}, stub={"log": str(self.log)}))
        main = folder / "main.tf"
        lines = main.read_text().replace("2222", str(ssh)).splitlines()
        main.write_text("\n".join(line for line in lines if not any(f'"{other}"' in line for other in OTHERS)) + "\n")


def _settings(it: dict[str, Any], endpoint: str, ssh_port: int) -> None:
    """Sets what the campaign needs. Nodes may be slow: a run avoids a flavor that was late."""
    it["aws"]["environment"]["AWS_ENDPOINT_URL"] = endpoint
    it["ssh"]["port"] = ssh_port
    it["fleet"]["initial"] = dict(HERE)
    it["limits"] = {"min_nodes": 3, "max_nodes": 3, "exclude": []}
    it["limits"]["max_nodes_per_flavor"] = dict(MOST)
    it["controller"].update(
        policy="hourly-price",
        interval_s=1,
        poll_s=0.5,
        unavailable_s=5,
        ending_s=5,
        timeouts={"boot_s": 90, "configure_s": 120, "join_s": 30, "drain_s": 6},
        health={"finish_s": 300, "silent_s": 20, "service_s": 6, "tries": 2},
    )
