"""One cloud of machines for each module: a head and a worker."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest

from tests.support.machine_cloud import MachineCloud

HEAD_DATA = '#!/bin/bash\necho "hello from $(id -un)" >/var/tmp/hello\n'


@dataclass(frozen=True)
class Cluster:
    """A cloud with a head that SSH reaches from outside, and a worker that only the head reaches."""

    cloud: MachineCloud
    head: str
    worker: str
    worker_address: str

    def on_worker(self, command: str) -> str:
        """Runs a command on the worker, through the head, and returns what it printed."""
        done = self.cloud.through(self.head, self.worker_address, command)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A cluster whose machines have booted."""
    with MachineCloud(tmp_path_factory.mktemp("cloud")) as cloud:
        head, worker = cloud.launch("head", UserData=HEAD_DATA), cloud.launch("worker", UserData="#!/bin/sh\ntrue\n")
        assert cloud.finished(head) == "done"
        assert cloud.finished(worker) == "done"
        yield Cluster(cloud, head, worker, cloud.address(worker))
