"""Removing everything that a cloud with machines made on this machine, however it ended."""

from __future__ import annotations

import json
import shutil
import time
from pathlib import Path

from localcloud.hosts.machine import record
from localcloud.hosts.machine.boot.cgroups import clouds_groups, remove_trees
from localcloud.hosts.machine.disk.volume import volumes_in
from localcloud.hosts.machine.names import Names
from localcloud.hosts.machine.network import ranges
from localcloud.hosts.machine.network.bridges import KERNEL
from localcloud.hosts.machine.network.namespace import NAMESPACES, is_folder_mounted
from localcloud.hosts.machine.tools import MachineError, run, succeeds
from localcloud.link.image import images_in
from localcloud.link.instance_dir import instances_in
from localcloud.support.processes import STATE_MARKER, end_marked

LOCK_LIMIT_S = 30.0
POLL_S = 0.1


def remove_leftovers(state_dir: Path) -> None:
    """Removes what is left of the machines of a state folder. Waits for a process that is still at it.

    Raises:
        MachineError: something cannot be removed.
    """
    if record.read(state_dir) is None:
        _unmount_below(state_dir)  # a check of this machine that was killed may have left its trial
        return
    limit = time.monotonic() + LOCK_LIMIT_S
    while (lock := record.hold(state_dir)) is None:
        if time.monotonic() > limit:
            raise MachineError(f"another process still uses the machines of {state_dir}; end it, then run `down` again")
        time.sleep(POLL_S)
    with lock:
        remove_everything(state_dir)


def remove_everything(state_dir: Path) -> None:
    """Removes processes, mounts, namespaces, links, the firewall, control groups, disks, and last the blackholes.

    Raises:
        MachineError: something cannot be removed. The blackholes stay then.
    """
    made = record.read(state_dir)
    if made is None:
        return
    names = Names.of(state_dir)
    end_marked(STATE_MARKER, str(state_dir))
    for folder in _folders(state_dir):
        _unmount_below(folder)
    _remove_network(names)
    remove_trees(clouds_groups(names.cgroup))
    if not made.namespaces_mounted:
        _unmount_namespaces()
    if made.uplink and not made.uplink_forwarded:
        _set_forwarding(made.uplink, "0")
    for volume in volumes_in(state_dir):
        volume.unlink()
    shutil.rmtree(images_in(state_dir), ignore_errors=True)
    left = leftovers(state_dir)
    if left:
        raise MachineError(f"cannot be removed: {', '.join(left)}. Remove it by hand, then run `down` again")
    ranges.release([made.private_cidr, made.public_cidr])
    record.forget(state_dir)


def leftovers(state_dir: Path) -> list[str]:
    """Returns what a cloud's machines still have on this machine, apart from the blackholes, in words."""
    names = Names.of(state_dir)
    found = [f"mount {path}" for folder in _folders(state_dir) for path in _mounts_below(folder)]
    found += [f"network namespace {name}" for name in _namespaces(names)]
    found += [f"link {name}" for name in _links(names)]
    if succeeds("nft", "list", "table", "ip", names.table):
        found.append(f"nftables table {names.table}")
    found += [f"control group {path}" for path in clouds_groups(names.cgroup)]
    return found


def _folders(state_dir: Path) -> tuple[Path, Path]:
    """Returns the folders with mounts, those first that are mounted over others."""
    return instances_in(state_dir), images_in(state_dir)


def _remove_network(names: Names) -> None:
    for namespace in _namespaces(names):
        succeeds("ip", "netns", "del", namespace)
    for link in _links(names):
        succeeds("ip", "link", "del", link)
    # Last of the network: the table keeps packets for the cloud from leaving.
    succeeds("nft", "delete", "table", "ip", names.table)


def _namespaces(names: Names) -> list[str]:
    return sorted(path.name for path in NAMESPACES.glob(f"{names.prefix}-*"))


def _unmount_namespaces() -> None:
    """Unmounts the folder of network namespaces, unless another program has made one meanwhile."""
    if is_folder_mounted() and not any(NAMESPACES.iterdir()):
        succeeds("umount", str(NAMESPACES))


def _links(names: Names) -> list[str]:
    return sorted(
        link["ifname"] for link in json.loads(run("ip", "-j", "link")) if link["ifname"].startswith(names.prefix)
    )


def _unmount_below(folder: Path) -> None:
    for path in reversed(_mounts_below(folder)):
        for _ in range(50):  # a process that was killed lets go of its files a moment later
            if succeeds("umount", path):
                break
            time.sleep(POLL_S)
    if _mounts_below(folder):
        raise MachineError(
            f"cannot be unmounted: {', '.join(_mounts_below(folder))}; end what uses it, run `down` again"
        )


def _mounts_below(folder: Path) -> list[str]:
    """Returns the mount points below a folder, in the order in which they were mounted (proc(5), `mountinfo`)."""
    points = [line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()]
    return [point for point in points if point.startswith(f"{folder}/")]


def _set_forwarding(interface: str, value: str) -> None:
    file = KERNEL / f"ipv4/conf/{interface}/forwarding"
    if file.exists():
        file.write_text(value)
