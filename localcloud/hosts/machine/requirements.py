"""What machines need of this machine, checked before anything is made."""

from __future__ import annotations

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from localcloud.hosts.machine.tools import MachineError, run, succeeds

PROGRAMS: Mapping[str, str] = {
    "ip": "iproute2",
    "mkfs.ext4": "e2fsprogs",
    "mmdebstrap": "mmdebstrap",
    "mount": "mount",
    "nft": "nftables",
    "systemd-nspawn": "systemd-container",
}
"""The programs by Debian's packages."""

PLAIN_PATH = re.compile(r"[\w./+@-]+")


def check(state_dir: Path) -> None:
    """Checks that machines can be made here.

    Raises:
        MachineError: something is missing. The message says what, and what to do.
    """
    if not sys.platform.startswith("linux"):
        raise MachineError("machines need Linux; use `--hosts loopback` here")
    if os.geteuid() != 0:
        raise MachineError(
            "machines need root rights, for their network and their file systems: start localcloud as root "
            "(`sudo`), or use `--hosts loopback`"
        )
    missing = missing_packages()
    if missing:
        raise MachineError(f"programs are missing; install them with: apt-get install {' '.join(missing)}")
    if not PLAIN_PATH.fullmatch(str(state_dir)):
        raise MachineError(
            f"the path {state_dir} has characters that mounts do not take; give a --state-dir of letters, digits "
            "and `._+@-`"
        )
    _check_overlay(state_dir)
    if not succeeds("nft", "list", "tables"):
        raise MachineError("the kernel has no nftables (`nft list tables` fails); use a kernel with nf_tables")


def missing_packages() -> list[str]:
    """Returns the packages to install."""
    paths = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    return sorted({package for program, package in PROGRAMS.items() if shutil.which(program, path=paths) is None})


def _check_overlay(state_dir: Path) -> None:
    """Mounts a small overlay over a loop device, as each machine has one."""
    try:
        state_dir.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix="probe-", dir=state_dir) as name:
            _probe(Path(name))
    except OSError as error:
        raise MachineError(f"{state_dir} cannot be written: {error}; give another --state-dir") from None


def _probe(folder: Path) -> None:
    for name in ("lower", "volume", "root"):
        (folder / name).mkdir()
    file = folder / "volume.ext4"
    with file.open("wb") as volume:
        volume.truncate(8 * 1024**2)
    try:
        run("mkfs.ext4", "-q", "-F", str(file))
        run("mount", "-o", "loop", str(file), str(folder / "volume"))
        for name in ("upper", "work"):
            (folder / "volume" / name).mkdir()
        layers = f"lowerdir={folder}/lower,upperdir={folder}/volume/upper,workdir={folder}/volume/work"
        run("mount", "-t", "overlay", "overlay", "-o", layers, str(folder / "root"))
    except MachineError as error:
        raise MachineError(
            f"machines need overlayfs and loop devices, and a trial failed: {error}. Within a container, give it the "
            "rights of a privileged one"
        ) from None
    finally:
        for name in ("root", "volume"):
            if (folder / name).is_mount():
                run("umount", str(folder / name))
