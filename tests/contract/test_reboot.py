"""After a reboot a node's services come up by themselves: by Terraform's user data and Ansible's programs together."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.local_cloud import LocalCloud, wait_until
from tests.support.node_programs import place_programs, supervisor_ctl
from tests.support.user_data import terraform, user_data

SERVICE = """[program:{name}]
command=sh -c 'echo started >> {root}/{name}.starts; exec sleep 1000'
autostart=false
"""


@pytest.fixture
def cloud(tmp_path: Path) -> Iterator[LocalCloud]:
    with LocalCloud(tmp_path) as cloud:
        yield cloud


class Node:
    """A node with two services, set up as the roles do it."""

    def __init__(self, cloud: LocalCloud) -> None:
        data = user_data(terraform("every_boot.sh.tftpl", login_user=""))
        self.cloud, self.instance_id = cloud, cloud.run(UserData=data)
        self.address = cloud.ready(self.instance_id)
        wait_until(lambda: cloud.host(self.instance_id)["user_data"] == "done", "the first boot")
        self.home = cloud.state_dir / "instances" / self.instance_id / "home"
        self.root = self.home / "centavo"
        self._place()

    def _place(self) -> None:
        root = self.root
        place_programs(root, Path(f"/tmp/centavo-{self.instance_id}"), self.home / ".config" / "centavo" / "start")
        for name in ("worker", "launcher"):
            (root / "services" / f"{name}.conf").write_text(SERVICE.format(name=name, root=root))

    def starts(self, service: str) -> int:
        path = self.root / f"{service}.starts"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def runs(self, service: str) -> bool:
        """Tells whether supervisor runs a service. How often it started it says less: it does so in a shutdown, too."""
        return "RUNNING" in self.cloud.ssh(self.address, f"{supervisor_ctl(self.root)} status {service}").stdout

    def reboot(self) -> None:
        boots = self.console().count("user data done")
        self.cloud.ec2.reboot_instances(InstanceIds=[self.instance_id])
        wait_until(lambda: self.console().count("user data done") > boots, "the next boot")
        self.cloud.ready(self.instance_id)

    def console(self) -> str:
        return (self.home.parent / "console.log").read_text()


def test_what_ran_before_a_reboot_runs_after_it_and_what_had_left_does_not(cloud: LocalCloud) -> None:
    node = Node(cloud)
    node.reboot()
    assert (node.starts("worker"), node.starts("launcher")) == (0, 0), "nothing was wanted before"
    (node.root / "wanted" / "worker").touch()
    assert cloud.ssh(node.address, ".config/centavo/start && centavo/bin/services").returncode == 0
    assert node.starts("worker") == 1
    node.reboot()
    wait_until(lambda: node.runs("worker"), "the worker after the reboot")
    assert node.starts("launcher") == 0
    (node.root / "wanted" / "worker").unlink()
    (node.root / "wanted" / "launcher").touch()
    node.reboot()
    wait_until(lambda: node.runs("launcher"), "the launcher after the reboot")
    assert not node.runs("worker")


def test_a_node_that_ansible_has_not_prepared_boots_all_the_same(cloud: LocalCloud) -> None:
    instance_id = cloud.run(UserData=user_data(terraform("every_boot.sh.tftpl", login_user="")))
    cloud.ready(instance_id)
    wait_until(lambda: cloud.host(instance_id)["user_data"] == "done", "the boot")
    assert (cloud.state_dir / "instances" / instance_id / "home" / "facts.d").is_dir()
