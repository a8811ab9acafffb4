"""One EC2 instance of the cluster."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Instance:
    """One EC2 instance of the cluster, as EC2 says it is."""

    instance_id: str
    flavor: str
    role: str
    """`head` or `worker`."""
    state: str
    """EC2's word: pending, running, shutting-down, ..."""
    private_ip: str | None = None
    public_ip: str | None = None
    launched_at: float | None = None
    image_id: str | None = None
    volumes: tuple[str, ...] = ()
    """The ids of its volumes."""
    run: str = ""
    """The run that its tags name; empty where they name none."""
    rank_name: str = ""
    """The rank that its tags name, such as `centavo-RUN-3`."""
    zone: str | None = None
    """The availability zone."""

    @property
    def is_running(self) -> bool:
        return self.state == "running" and self.private_ip is not None
