"""What the image consists of, and its digest. Another recipe gives another digest, and so another image."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass

SUITE = "bookworm"
PACKAGES = (
    "ca-certificates",
    "cloud-init",
    "dbus",
    "iproute2",
    "openssh-server",
    "procps",
    "python3",
    "python3-venv",
    "sudo",
    "systemd-sysv",
)
"""What Debian's image for EC2 has, as far as nodes use it."""

HYPERVISOR = "/etc/localcloud-hypervisor"

CUSTOMIZE = f"""set -eu
root="$1"
# cloud-init asks by IMDSv2 only where it recognizes EC2. Within a container it cannot read DMI, so it reads this file.
echo ec2localcloud >"$root{HYPERVISOR}"
source="$root/usr/lib/python3/dist-packages/cloudinit/sources/DataSourceEc2.py"
sed -i 's,"/sys/hypervisor/uuid","{HYPERVISOR}",' "$source"
grep -q '"{HYPERVISOR}"' "$source"
# Each machine makes its own host keys and its own id.
rm -f "$root"/etc/ssh/ssh_host_* "$root/var/lib/dbus/machine-id"
: >"$root/etc/machine-id"
chroot "$root" update-ca-certificates >/dev/null 2>&1
# Nobody logs in at a console, and timers would change the system while nodes are measured.
for unit in console-getty.service apt-daily.timer apt-daily-upgrade.timer; do
  ln -sf /dev/null "$root/etc/systemd/system/$unit"
done
"""
"""A script that mmdebstrap runs at the end, with the root file system as its argument."""


@dataclass(frozen=True)
class Recipe:
    """Everything that decides what the image is.

    Attributes:
        sources: the contents of apt's sources; empty for Debian's own.
        files: further files by their paths in the image, such as pip's configuration.
        suite: Debian's release.
        packages: the packages.
        customize: the script that runs at the end.
    """

    sources: str
    files: dict[str, str]
    suite: str = SUITE
    packages: tuple[str, ...] = PACKAGES
    customize: str = CUSTOMIZE

    @property
    def digest(self) -> str:
        """The name of the image in the cache."""
        return hashlib.sha256(json.dumps(asdict(self), sort_keys=True).encode()).hexdigest()[:16]
