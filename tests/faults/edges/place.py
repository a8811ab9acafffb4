"""Where the faults take place: a copy of the checkout with the stub as its trainer, and a cloud of its own."""

from __future__ import annotations

import json
import shutil
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from localcloud.credentials import Credentials
from tests.support.local_cloud import free_port
from tests.support.sandbox import LEFT_OUT, REPOSITORY, Sandbox, edit_yaml, end_processes

STUB = Path(__file__).parent / "stub"
PARTS = ("ansible", "controller", "localcloud", "requirements", "terraform")
HERE = {"t2.large": 2, "c5.large": 1}
THERE = {"c5.xlarge": 2, "c5.large": 1}
"""The two fleets between which a run moves. One node of three stays."""
PRICES_HERE = {"t2.large": 0.05, "c5.large": 0.08, "c5.xlarge": 0.20}
PRICES_THERE = {"t2.large": 0.20, "c5.large": 0.08, "c5.xlarge": 0.05}
OTHERS = ("t2.medium", "t2.xlarge", "c5.2xlarge")
STEPS = 1_000_000
"""More steps than any run makes: a run ends when the file `end` lies on its head."""


class Place:
    """A checkout and a cloud for many runs. `close` ends everything in it."""

    def __init__(self, root: Path) -> None:
        self._stack = ExitStack()
        self._stack.callback(shutil.rmtree, root, ignore_errors=True)
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

    def home(self, instance_id: str) -> Path:
        """Returns the home directory of an instance's host."""
        return next((self.sandbox.root / ".localcloud").glob(f"**/{instance_id}/home"))

    def instances(self) -> list[dict[str, Any]]:
        """Returns the instances that are not terminated, as any EC2 client sees them."""
        found = []
        for reservation in self.sandbox.ec2().describe_instances()["Reservations"]:
            for instance in reservation["Instances"]:
                tags = {tag["Key"]: tag["Value"] for tag in instance.get("Tags", [])}
                if instance["State"]["Name"] in ("pending", "running"):
                    role = tags.get("centavo:role", "")
                    found.append(
                        {
                            "id": instance["InstanceId"],
                            "flavor": instance["InstanceType"],
                            "address": instance.get("PrivateIpAddress", ""),
                            "role": role,
                        }
                    )
        return found

    def workers(self) -> list[dict[str, Any]]:
        """Returns the workers that are pending or running."""
        return [instance for instance in self.instances() if instance["role"] == "worker"]

    def head(self) -> dict[str, Any]:
        """Returns the head."""
        return next(instance for instance in self.instances() if instance["role"] == "head")

    def desired(self) -> dict[str, int]:
        """Returns what the Auto Scaling groups are set to, by flavor, without zeros."""
        groups = self.control("status")["groups"]
        return {group["flavor"]: group["desired"] for group in groups if group["desired"]}

    def hosts_file(self) -> Path:
        """Returns the hosts file of the head."""
        return self.home(self.head()["id"]) / "centavo" / "hosts"

    def set_prices(self, prices: dict[str, float]) -> None:
        """Sets the prices that decide where the run moves to."""
        lines = {**dict.fromkeys(OTHERS, 9.0), "t3.micro": 0.01, **prices}
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
        main.write_text(main.read_text().replace("2222", str(ssh)))


def _settings(it: dict[str, Any], endpoint: str, ssh_port: int) -> None:
    it["aws"]["environment"]["AWS_ENDPOINT_URL"] = endpoint
    it["ssh"]["port"] = ssh_port
    it["fleet"]["initial"] = dict(HERE)
    it["limits"] = {"min_nodes": 3, "max_nodes": 3, "exclude": list(OTHERS)}
    it["limits"]["max_nodes_per_flavor"] = {flavor: 2 for flavor in PRICES_HERE}
    it["controller"].update(
        policy="hourly-price",
        interval_s=1,
        poll_s=0.5,
        unavailable_s=5,
        ending_s=5,
        timeouts={"boot_s": 30, "configure_s": 45, "join_s": 15, "drain_s": 6},
        health={"finish_s": 300, "silent_s": 20, "service_s": 6, "tries": 2},
    )
